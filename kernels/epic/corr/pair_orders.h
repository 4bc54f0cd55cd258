// SPDX-License-Identifier: GPL-3.0-or-later
// Spreading pairs onto a grid of fine cells on a GPU: the tables that depend on an image's geometry. With
// place (x, y) of a pair on a grid of n_x by n_y cells, spread there by a kernel phi of `kernel`, and pixels
// n = n_middle + n_half t,
//   exp(-2 pi i (u l + v m + w n)) = exp(-2 pi i (u l + v m + w n_middle)) sum_k (-i)^k c_k J_k(z) T_k(t),
//   z = 2 pi w n_half, c_0 = 1, c_k = 2 (Jacobi and Anger),
// so that each order k has a real factor for the pair and one for the pixel, and the image of an order is
// real. A pair takes part in as many orders as its own w needs. A few antennas far above or below all others
// would need many orders: if summing their pairs directly is cheaper, those pairs are left out of the grid.
// Of arrays that the image sees aslant only heights have orders, where that is cheaper (pair_lattice.h).
// Large images of many antennas need no orders where the kernels hold w (depth_kernels.h).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/math/spread_kernel.h"
#include "kernels/epic/corr/depth_kernels.h"
#include "kernels/epic/corr/pair_depth.h"
#include "kernels/epic/corr/pair_lattice.h"
#include "kernels/epic/epic.h"

namespace apsyn {

/// Size of the grids of a plan.
struct PairCells {
  std::size_t n_x = 0, n_y = 0;
  std::size_t n_column = 0;                   ///< 0 .. n_column - 1 of half a plane, 0 .. n_x / 2, take part
  std::size_t n_row = 0;                      ///< at both ends of the rows take part; even
  std::size_t n_order = 1;                    ///< orders that the mean pair needs at the highest frequency
  std::vector<std::size_t> outlier_antennas;  ///< antennas whose pairs are summed directly
  double u_s = 0, v_s = 0;                    ///< the largest |u| and |v| of all other pairs
  double highest_hz = 0;
  /// Up to which largest |w| the orders have been found to suffice since they were planned; 0 = not looked
  /// at.
  double sufficient_w_s = 0;
  PairDepth depth;                     ///< w of all other pairs, or height
  std::optional<PairLattice> lattice;  ///< that pixels are interpolated from
  double pitch = 0;                    ///< of pixels, or of a lattice's sites
  double pixels_s = 0;                 ///< estimated seconds of an image, without spreading its pairs
  bool coarse = false;                 ///< by the kernel and the error of large images
  std::size_t n_outlier_pair() const;  ///< of n_ant antennas
  std::size_t n_ant = 0;
};
/// Not for lists of directions.
PairCells pair_cells(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);

// Measured on one H200 (bench_epic_cuda), for all products.
inline constexpr double kPairOrder_s = 1.7e-11;  ///< a cell of the grid of an order
inline constexpr double kPairPixel_s = 6.1e-13;  ///< a pair of an antenna that stands apart for a pixel
/// A pixel between sites, of an order: an estimate from the 49 sites that each reads.
inline constexpr double kPairSite_s = 5e-11;

struct PairOrders {
  static constexpr std::size_t kWidth = 7, kTaps = 8;  ///< of the kernel, and zeros behind its last
  static constexpr double kError = 4e-6;               ///< of what the orders leave out
  /// The same of large images of many antennas, whose time is that of transforms: errors of a thousand pairs
  /// average to less than those of few pairs with a finer grid and more orders.
  static constexpr double kCoarseError = 5e-5;
  /// What they may lose by being added up at the sites of a lattice, of a pair (loss_at_sites(), which bounds
  /// it at the worst pixel: MWA-128T 40 degrees from the zenith 2.2e-4, where images err by 4e-5 of their
  /// RMS).
  static constexpr double kCoarseSiteError = 3e-4;
  static constexpr std::size_t kCoarsePairs = 1000, kCoarsePixels = 24576;
  /// What kernels that hold w may leave out of a pair, RMS over pairs and pixels, to be taken instead of
  /// orders; in the corners of a field four to five times as much. MWA-128T at 150 MHz: 5e-5 at the zenith.
  static constexpr double kDepthError = 2e-4;

  SpreadKernel kernel;
  PairCells shape;
  std::vector<float> taps;            ///< [power][tap]: SpreadKernel::coefficients()
  std::vector<float> factors;         ///< [order][pixel] T_k(t) over the kernel's transform; not of a lattice
  std::vector<std::uint32_t> index;   ///< [pixel] SkyPixels::index that this is for
  std::vector<std::uint32_t> places;  ///< [pixel] y n_x + x of the transformed grid; not of a lattice
  /// Of a lattice, and with kernels that hold w: 1 over the kernel's transform at each column and row of the
  /// grid, 0 where no site is.
  std::vector<float> of_column, of_row;
  /// Of large images of many antennas: instead of orders, which shape counts nevertheless. Of a lattice they
  /// are for its slope.
  std::optional<DepthKernels> depth_kernels;
  /// The number of orders that are made.
  std::size_t n_order() const { return depth_kernels ? 1 : shape.n_order; }
};

/// Whether `orders` can be used for another geometry of the same plan; a lattice then for its own slope.
bool serves(PairOrders& orders, const EpicGeometry& geometry, const SkyPixels& pixels);
/// The same where the pixels are known to be those of the plan.
bool serves(PairOrders& orders, const EpicGeometry& geometry);
/// What takes in the phase of w: orders, or kernels that hold it where they can (depth_kernels.h).
enum class DepthBy { orders, kernels };
/// Not for lists of directions.
PairOrders plan_pair_orders(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                            DepthBy by = DepthBy::orders);
/// Kernels of a plan that has some, for a geometry that it serves.
DepthKernels depth_kernels(const PairOrders& orders, const EpicGeometry& geometry);

}  // namespace apsyn
