// SPDX-License-Identifier: GPL-3.0-or-later
// How a block of cuda/grid/tensor/kernel.cu divides its work, and what a stage of 64 slots takes in shared
// memory.
#pragma once

#include <cstdint>

#include "kernels/idg/cuda/grid/tensor/task.cuh"

namespace apsyn::idg_cuda {

constexpr int kStageSlots = 64;
constexpr int kQuads = kStageSlots / 4;
constexpr int kGroupBytes = kStageSlots * 16;  ///< eight columns of B

/// Planes that a launch sums: n_groups times the number that a block sums together, or fewer if there are not
/// that many.
struct PlaneGroups {
  int first, n_groups;
};

/// Column blocks of B in the order in which they stand, each a term's hi or lo. What stands together is
/// multiplied together.
template <int kTerms>
struct ColumnBlocks;
template <>
struct ColumnBlocks<4> {
  static constexpr int kHi0 = 0, kHi1 = 1, kHi2 = 2, kHi3 = 3, kLo0 = 4, kLo1 = 5, kCount = 6;
};
template <>
struct ColumnBlocks<3> {
  static constexpr int kLo0 = 0, kHi0 = 1, kHi1 = 2, kHi2 = 3, kCount = 4;
};

/// kX x kY pixels of the positive quarter; kTiles operands A of 64 rows for each of kConsumers warpgroups,
/// over the planes one after the other. kShare: one plane, whose slots two consumers divide by groups of 16.
template <int kX_, int kY_, int kConsumers_, int kTiles_, bool kShare_, int kTerms_>
struct TensorShape {
  static constexpr int kX = kX_, kY = kY_, kConsumers = kConsumers_, kTiles = kTiles_, kTerms = kTerms_;
  static constexpr bool kShare = kShare_;
  static constexpr int kPhasorRows = 2 * kY;  ///< cosines, sines
  static constexpr int kPlanes = kShare ? 1 : 32 * kConsumers * kTiles / kPhasorRows;
  static_assert(kShare ? kPhasorRows == 32 && kTiles == 1 && kConsumers == 2
                       : kPlanes * kPhasorRows == 32 * kConsumers * kTiles);
  static_assert(kTiles == 1 || kPhasorRows == 32, "a thread's tiles share their phasors");

  // 512 threads and 65536 registers in all.
  static constexpr int kProducers = 4 - kConsumers;
  static constexpr int kConsumerThreads = 128 * kConsumers, kProducerThreads = 128 * kProducers;
  static constexpr int kThreads = kConsumerThreads + kProducerThreads;
  static constexpr int kConsumerRegisters = kConsumers == 3 ? 144 : kX == 16 && kTiles == 1 ? 184 : 192;
  static constexpr int kProducerRegisters = (512 - kConsumers * kConsumerRegisters) / kProducers;
  /// Operands A of a consumer whose products may be under way, as registers allow: of many columns, or
  /// of three consumers, one keeps the tensor cores busy while the next is made.
  static constexpr int kInFlight = kConsumers == 3 || (kX == 32 && kTerms == 4) ? 1 : 2;

  using Blocks = ColumnBlocks<kTerms>;
  static constexpr int kBlockBytes = 2 * kX / 8 * kGroupBytes;  ///< one term's cos_x, sin_x
  // Per four slots 16 B of hi and lo for each row. Strides without bank conflicts.
  static constexpr int kPhasorQuadBytes = kPhasorRows * 16 + 32, kValueQuadBytes = kPlanes * 32 + 16;
  static constexpr int kPhasorsAt = Blocks::kCount * kBlockBytes;
  static constexpr int kValuesAt = kPhasorsAt + kQuads * kPhasorQuadBytes;
  static constexpr int kStageBytes = kValuesAt + kQuads * kValueQuadBytes;
  static constexpr int kStages = kTerms == 4 && kX > 16 ? 3 : 4;
  /// Number of slots after which accumulators are added to sums in float32. With four terms three products go
  /// to the same accumulators, and tensor cores truncate each.
  static constexpr int kSlotsAtOnce = kTerms == 4 ? 256 : 512;
  /// Complex sums of a thread.
  static constexpr int kTotals = kTiles * kX / 2;
  static constexpr int kSharedBytes = kStages * kStageBytes + kTotals * kConsumerThreads * 8 + 128;
};

}  // namespace apsyn::idg_cuda
