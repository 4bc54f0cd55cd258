// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs onto a grid of fine cells, as a GPU does it: what it needs of an image's geometry. With place (x, y)
// of a pair on a grid of n_x by n_y cells, spread there by a kernel phi of `kernel`, and pixels
// n = n_middle + n_half t,
//   exp(-2 pi i (u l + v m + w n)) = exp(-2 pi i (u l + v m + w n_middle)) sum_k (-i)^k c_k J_k(z) T_k(t),
//   z = 2 pi w n_half, c_0 = 1, c_k = 2 (Jacobi and Anger),
// so that a pair has a real factor of each order k on the one side, a pixel on the other, and the image of an
// order is real. A pair takes part in as many orders as its own w needs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/spread_kernel.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/pair_depth.h"

namespace apsyn {

/// Of grids of a plan.
struct PairCells {
  std::size_t n_x = 0, n_y = 0;
  std::size_t n_order = 1;  ///< that the mean pair needs at the highest frequency
};
/// Not for lists of directions.
PairCells pair_cells(const EpicPlan& plan, const EpicGeometry& geometry, const PairDepth& depth);

struct PairOrders {
  static constexpr std::size_t kTaps = 8;  ///< of the kernel, zeros behind its last
  static constexpr double kError = 4e-6;   ///< of the kernel, and of what the orders leave out

  SpreadKernel kernel;
  PairDepth depth;
  PairCells shape;
  std::vector<float> taps;            ///< [power][tap]: SpreadKernel::coefficients()
  std::vector<float> factors;         ///< [order][pixel] T_k(t) over the kernel's transform
  std::vector<std::uint32_t> index;   ///< [pixel] SkyPixels::index that this is for
  std::vector<std::uint32_t> places;  ///< [pixel] y n_x + x of the transformed grid
};

/// Whether they are good for another geometry of the same plan. n of a pixel is that of its place.
bool serves(const PairOrders& orders, const EpicGeometry& geometry, const SkyPixels& pixels);
/// Not for lists of directions.
PairOrders plan_pair_orders(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);

}  // namespace apsyn
