// SPDX-License-Identifier: GPL-3.0-or-later
// What strips/strips.cuh needs of a plan, made on the host. For host code with CUDA only.
#pragma once

#include <optional>
#include <vector>

#include "kernels/epic/corr/cuda/strips/strips.cuh"
#include "kernels/epic/corr/pair_orders.h"

namespace apsyn::epic_cuda {

struct StripPlan {
  StripShape shape;
  std::vector<float2> turns;
  std::vector<std::uint16_t> row_of_place, first_of_bin;
  int first_bin_y = 0;
  /// Factors and pixels as StripRowTask wants them; a lattice has none.
  std::vector<float2> factors;
  std::vector<uint2> pixels;
  /// Factors for DepthRowTask: at the sites of a lattice, or of an image that is sky
  /// everywhere.
  std::vector<float> of_column, of_row;
  int nx = 0, ny = 0;  ///< of that image
};

/// Images to planes, or to sums. None where pairs are so many that batches for tensor cores add them sooner,
/// for lengths that passes do not reach, and for columns that a block's shared memory does not hold.
std::optional<StripPlan> plan_strips(const EpicPlan& plan, const PairOrders& orders, const SkyPixels& pixels,
                                     const CellShape& cells, bool to_planes, std::size_t shared_bytes);

}  // namespace apsyn::epic_cuda
