// SPDX-License-Identifier: GPL-3.0-or-later
// How a block of the F stage of long spectra shares its work (cuda/long/long.cuh).
#pragma once

namespace apsyn::f_stage {

/// Whether devices that code is made for have shared memory for as many whole tiles as registers for blocks.
__host__ __device__ constexpr bool has_whole_tiles(int cuda_arch) {
  return cuda_arch >= 900 && cuda_arch < 1200;
}

/// kSmall: for the other devices.
template <int kLength_, bool kReal_, bool kSmall_ = false>
struct LongShape {
  static constexpr int kLength = kLength_;
  static constexpr bool kReal = kReal_, kSmall = kSmall_;
  static constexpr int kElements = 32;              // values of a transform in each thread
  static constexpr int kPer = kLength / kElements;  // threads of a transform
  static constexpr int kThreads = kLength >= 16384 || (kLength >= 2048 && !kSmall) ? 512 : 256;
  static constexpr int kMinBlocks = 512 / kThreads;    // with 128 registers
  static constexpr int kTransforms = kThreads / kPer;  // that are made at the same time
  /// Spectra of a block, as many as its tile of integers has room for beside the exchange; those below 64
  /// share rows of the X stage's layout with the blocks beside.
  static constexpr int kWholeSpan = kLength <= 2048 ? 32 : kLength <= 4096 ? 16 : kLength <= 8192 ? 8 : 4;
  static constexpr int kSmallSpan = kLength <= 1024 ? 16 : kLength <= 2048 ? 8 : 4;
  static constexpr int kSpan = kSmall ? kSmallSpan : kWholeSpan;
  static constexpr bool kHasSmall = kLength >= 1024 && kLength <= 8192;
  static constexpr int kInputs = kReal ? 2 : 1;  // of a block: one stream
  static constexpr int kFine = kLength / kInputs;
  /// Whether real and imaginary parts go through the exchange one after the other, in half the memory.
  static constexpr bool kSplit = kLength >= 512;
  // The exchange, a row for each transform: a value is left out after every 32.
  static constexpr int kRow = kLength + kLength / 32;
  static constexpr int kExchangeBytes = kTransforms * kRow * (kSplit ? 4 : 8);
  // The tile of integers, [spectrum][input][bin]: pairs of bytes.
  static constexpr int kTileRow = kFine + 2;
  static constexpr int kTileBytes = kSpan * kInputs * kTileRow * 2;
  static constexpr int kPlaces = kSpan * kInputs;  // spectra of an input
  static constexpr int kTurns = kElements / kInputs;
  static constexpr int kPlaceBytes = kPlaces * (16 + 8 * kTurns + 4);
  static constexpr int kSharedBytes = (kExchangeBytes + kTileBytes + 15) / 16 * 16 + kPlaceBytes;
};

}  // namespace apsyn::f_stage
