// SPDX-License-Identifier: GPL-3.0-or-later
// Images correlated pairs, with errors up to 3e-5 of the peak over a whole hemisphere: by direct sums for any
// pixels, or by a grid for the pixels of an image.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/spectra/pair_sums.h"
#include "kernels/epic/aperture.h"
#include "kernels/epic/corr/pair_weights.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/sky_pixels.h"
#include "libcore/base/view.h"

namespace apsyn {

class PairImager {
 public:
  virtual ~PairImager() = default;
  /// sums [image channel][pixel][XX, YY, Re XY, Im XY] += those of the plan's products of pairs a < b and b >
  /// a, times their weights.
  virtual void image(const PairSums& pairs, const PairWeights& weights, View<double, 3> sums) = 0;
};

/// All arguments must outlive the imager.
///
/// sum_a w_a (sum_b M_ab w_b*) for each pixel: half of A^2 complex products of each matrix (dft/cpu/tile.h).
std::unique_ptr<PairImager> make_direct_pair_imager(const EpicPlan& plan, const EpicGeometry& geometry,
                                                    const SkyPixels& pixels,
                                                    const ApertureWeights& apertures);

/// Pairs onto a grid of fine cells, and a transform. The pixels are a lattice in l and m, so that places on
/// the grid may wrap; what w adds to the phase, -2 pi w n, is interpolated in n between Chebyshev nodes n_k:
///   exp(-2 pi i w n) = sum_k L_k(n) exp(-2 pi i w n_k),
/// so that a node becomes a phase of each antenna and a real factor of each pixel, and all images stay real:
/// two of them share one complex transform. Arrays that the image sees aslant would need many nodes: where
/// that is cheaper, only their heights above a plane do (pair_lattice.h). Not for lists of directions, nor
/// for apertures.
std::unique_ptr<PairImager> make_grid_pair_imager(const EpicPlan& plan, const EpicGeometry& geometry,
                                                  const SkyPixels& pixels);

enum class CorrMethod { cheapest, direct, grid };
/// make_corr_imager() with one of the two; `grid` not for lists of directions.
std::unique_ptr<DirectImager> make_corr_imager(EpicPlan plan, CorrMethod method);

/// The grid that these pixels need, and its cost.
struct PairGridShape {
  std::size_t n_node = 1;
  std::size_t cells_x = 0, cells_y = 0, width = 0;  ///< of the grid; of the kernel
  std::size_t n_interpolated = 0;  ///< pixels that are between the sites of a lattice (pair_lattice.h)
};
/// Measured seconds of one core for one image channel.
double direct_pairs_s(const EpicPlan& plan, std::size_t n_pixel);
double grid_pairs_s(const EpicPlan& plan, const PairGridShape& shape);
PairGridShape pair_grid_shape(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);

/// Memory in addition to the sums, for the channels that are imaged together.
std::uint64_t direct_pairs_bytes(const EpicPlan& plan);
std::uint64_t grid_pairs_bytes(const EpicPlan& plan, const PairGridShape& shape, std::size_t n_pixel);
inline constexpr std::size_t kPairBatchBytes = std::size_t{1} << 26;  ///< or one image channel

/// Where EpicPlan's planes stand among XX, YY, Re XY, Im XY.
std::vector<std::size_t> plane_values(const EpicPlan& plan);

}  // namespace apsyn
