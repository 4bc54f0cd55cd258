// SPDX-License-Identifier: GPL-3.0-or-later
// Antennas that `fft` leaves out of its grid (EpicPlan::off_grid). With E = G + O, the fields of the antennas
// on the grid and of the few others,
//   |E|^2 = |G|^2 + [ 2 Re G* O + |O|^2 ],
// and the bracket is a sum over the pairs of which at least one antenna is off the grid. Those are correlated
// over the accumulation and imaged directly, once: adding O to G for each spectrum would cost every pixel a
// product for each of them, and the transform of a small grid has too few pixels for fringes of long
// baselines.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

/// The most that leave a grid.
inline constexpr std::size_t kMaxOffGrid = 16;

/// Sets EpicPlan::off_grid to that for which `seconds` of the plan are least; to none where all antennas on
/// one grid take no more than 4/3 of that. At most an eighth of the antennas stand off the grid. Only plans
/// whose grid can be transformed are asked for.
void choose_off_grid(EpicPlan& plan, const EpicGeometry& geometry, const std::function<double()>& seconds);

/// Antennas in the order in which pairs are imaged: those off the grid, then those on it.
struct OffGridOrder {
  std::vector<std::size_t> antennas;
  std::size_t n_off = 0;
};
OffGridOrder off_grid_order(const EpicPlan& plan);

/// Seconds of one core: of a spectrum of all channels, and of an accumulation of all channels.
double off_grid_spectrum_s(const EpicPlan& plan);
double off_grid_image_s(const EpicPlan& plan);

}  // namespace apsyn
