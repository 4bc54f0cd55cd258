// SPDX-License-Identifier: GPL-3.0-or-later
// Antennas that `fft` leaves out of its grid (EpicPlan::off_grid). With E = G + O, the fields of the antennas
// on the grid and of the few others,
//   |E|^2 = |G|^2 + [ 2 Re G* O + |O|^2 ],
// where the bracket is a sum over pairs with at least one antenna off the grid. These pairs are correlated
// over the accumulation and then imaged directly: adding O to G for each spectrum would cost every pixel a
// product for each of them, and the transform of a small grid has too few pixels for fringes of long
// baselines.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

/// Upper limit on the number of antennas off the grid.
inline constexpr std::size_t kMaxOffGrid = 16;

/// Sets EpicPlan::off_grid to the choice with the smallest `seconds`, or to none if gridding all antennas
/// takes no more than 4/3 of that. At most an eighth of the antennas are left off the grid. `seconds` is only
/// called for plans whose grid can be transformed.
void choose_off_grid(EpicPlan& plan, const EpicGeometry& geometry, const std::function<double()>& seconds);

/// Antennas in the order in which pairs are imaged: those off the grid, then those on it.
struct OffGridOrder {
  std::vector<std::size_t> antennas;
  std::size_t n_off = 0;
};
OffGridOrder off_grid_order(const EpicPlan& plan);

/// Seconds of one core: for a spectrum, and for an accumulation, of all channels.
double off_grid_spectrum_s(const EpicPlan& plan);
double off_grid_image_s(const EpicPlan& plan);

}  // namespace apsyn
