// SPDX-License-Identifier: GPL-3.0-or-later
// What corr/cuda/transform.cuh needs, made on the host. For host code with CUDA only.
#pragma once

#include <optional>
#include <vector>

#include "kernels/epic/corr/cuda/transform.cuh"
#include "kernels/epic/corr/pair_orders.h"
#include "kernels/epic/fft/cuda/fused/plan.h"

namespace apsyn::epic_cuda {

/// Appends the passes of a plan to `passes`, which has room for kMaxTransformPasses, and what they turn by to
/// `turns`. Returns their number.
int append_passes(const epic_fft::RadixPlan& radices, std::size_t length, TransformPass* passes,
                  std::vector<float2>& turns);

struct TransformPlan {
  TransformShape shape;
  std::vector<float2> turns;
  std::vector<std::uint16_t> row_of_place;
  std::vector<std::uint32_t> pixels;  ///< [slot]
  std::vector<float> factors;         ///< [order][slot]
};

/// None for grids of no length that passes reach, images that a block's registers do not hold or columns that
/// its shared memory does not.
std::optional<TransformPlan> plan_transform(const EpicPlan& plan, const PairOrders& orders,
                                            const SkyPixels& pixels, std::size_t shared_bytes);

}  // namespace apsyn::epic_cuda
