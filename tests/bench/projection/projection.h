// SPDX-License-Identifier: GPL-3.0-or-later
// W-projection and AW-projection, gridding and degridding (Cornwell, Golap and Bhatnagar 2008; Bhatnagar et
// al. 2008), the rivals of image-domain gridding in section 7 of Veenboer and Romein 2020. For benchmarks
// only.
//
// A visibility at (u, v) uv cells from the grid's centre is rounded to eighths of a cell and added to N x N
// cells, each with its own weight K(g - u), that the image-domain function S (taper times
// exp(-2 pi i w (n - 1)) times, for AW-projection, the A-terms) gives:
//
//   K(x) = 1 / N^2 sum_p S(p) exp(+2 pi i x.p / N)     p = -N/2 .. N/2 - 1 on either axis: N x N coarse
//   pixels
//                                                      at l = p n_grid cell_rad / N
//
// so that sum_g grid(g) exp(-2 pi i g.l) is the dirty image of kernels/idg/idg.h times the taper.
// W-projection takes K from a table made beforehand, of the nearest of n_w_planes values of w. AW-projection
// makes K anew for each interval (rows of one baseline during which A-terms stand), for the interval's mean
// w; this is part of its work. A cell (u, v) of the grid lies at [v + n_grid / 2][..][u + n_grid / 2]; the
// grid is periodic.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/system/device.h"

namespace apsyn::projection {

constexpr std::size_t oversampling = 8, n_offsets = oversampling * oversampling, n_pol = 4;

struct Setup {
  std::size_t size = 0;       ///< N, a multiple of 8
  std::size_t n_grid = 0;     ///< cells per side, of 1 / (n_grid cell_rad) wavelengths
  double cell_rad = 0;        ///< of the image's pixels
  std::vector<double> taper;  ///< at the N coarse pixels of an axis
  std::size_t interval = 0;   ///< rows that belong together
  std::size_t n_w_planes = 0;
  double max_w_lambda = 0;                       ///< planes are spread over -max .. max
  std::size_t max_weight_bytes = 1'000'000'000;  ///< on the GPU, made at once
  /// [station][y][x] on the coarse pixels, l and m growing. Empty: W-projection.
  Buffer<std::complex<float>, 3> aterms;

  bool has_aterms() const { return aterms.size() > 0; }
  double w_step_lambda() const { return 2 * max_w_lambda / static_cast<double>(n_w_planes - 1); }
};

/// Interval i holds the rows from i * setup.interval on; the last may be shorter.
/// Degridding needs no data and no weight.
struct Visibilities {
  View<const double, 2> uvw_m;              ///< [row][u, v, w]
  View<const double, 1> wavenumber;         ///< [chan] 1 / wavelength, per metre
  View<const std::complex<float>, 3> data;  ///< [row][chan][pol]
  View<const float, 3> weight;              ///< [row][chan][pol]
  View<const std::uint32_t, 2> station;     ///< [interval][p, q]: S has the factor A_p conj(A_q)
};

/// Mean w of an interval, wavelengths.
double interval_w_lambda(const Setup& setup, const Visibilities& visibilities, std::size_t interval);

/// Seconds of the last grid() or degrid(), on the GPU without transfers from the host.
struct Seconds {
  double weights = 0;  ///< AW-projection's; on the GPU also of preparing visibilities
  double gridding = 0;
};

class Gridder {
 public:
  virtual ~Gridder() = default;
  /// Adds all visibilities to the grid.
  virtual void grid(const Visibilities& visibilities) = 0;
  /// Predicts all visibilities [row][chan][pol] from the grid.
  virtual void degrid(const Visibilities& where, View<std::complex<float>, 3> data) = 0;
  /// Replaces the grid, [v][pol][u]; it is empty at first.
  virtual void set_grid(View<const std::complex<float>, 3> grid) = 0;
  virtual Seconds seconds() const = 0;
  /// [v][pol][u]
  virtual Buffer<std::complex<float>, 3> grid_copy() const = 0;
};

/// On the CPU results do not depend on n_threads. On the GPU blocks add to the grid by atomic operations, as
/// published (Romein 2012), and to visibilities where kernels are larger than 32 cells, so that results
/// differ in their last bits from run to run.
std::unique_ptr<Gridder> make_gridder(const Device& device, const Setup& setup, unsigned n_threads);

}  // namespace apsyn::projection
