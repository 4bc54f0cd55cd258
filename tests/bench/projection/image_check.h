// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels of the dirty image and visibilities of point sources by their definitions, and the same by way of a
// grid, in float64.
#pragma once

#include <vector>

#include "kernels/idg/plan/taper.h"
#include "tests/bench/projection/workload.h"

namespace apsyn::projection {

struct Direction {
  double l, m;
};
/// Random pixels of an image of n_pixels a side.
std::vector<Direction> choose_directions(std::size_t n, std::size_t n_pixels, double cell_rad);

/// sum V exp(-2 pi i (u l + v m + w (n - 1))) of polarisation 0, times A_p conj(A_q) of its interval.
std::vector<std::complex<double>> sums_by_definition(const Workload& workload,
                                                     const std::vector<Direction>& at, bool with_aterms,
                                                     unsigned n_threads);
/// The grid's transform at the directions, divided by the taper.
std::vector<std::complex<double>> sums_from_grid(View<const std::complex<float>, 3> grid, double cell_rad,
                                                 const Taper& taper, const std::vector<Direction>& at,
                                                 unsigned n_threads);

/// The grid [v][pol][u] that predicts sources of 1 Jy in all polarisations.
Buffer<std::complex<float>, 3> grid_of_sources(std::size_t n_grid, double cell_rad, const Taper& taper,
                                               const std::vector<Direction>& sources, unsigned n_threads);
/// sum exp(+2 pi i (u l + v m + w (n - 1))) times A_q conj(A_p), [row][chan].
Buffer<std::complex<double>, 2> visibilities_by_definition(const Workload& workload,
                                                           const std::vector<Direction>& sources,
                                                           bool with_aterms, unsigned n_threads);

/// RMS of the difference over the RMS of `want`; of the real parts, which make the image.
double image_error(const std::vector<std::complex<double>>& got,
                   const std::vector<std::complex<double>>& want);
/// The same of visibilities [row][chan][pol] and [row][chan].
double visibility_error(View<const std::complex<float>, 3> got, View<const std::complex<double>, 2> want);

}  // namespace apsyn::projection
