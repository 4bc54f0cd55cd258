// SPDX-License-Identifier: GPL-3.0-or-later
// How a block of the fused F stage shares its work.
#pragma once

namespace apsyn::f_stage {

constexpr int kElements = 16;  // values of a transform in each thread
constexpr int kChunk = 4;      // streams whose samples a thread folds

template <int kLength, bool kReal>
struct Shape {
  static constexpr int kRun = 8;  // spectra that follow each other in a row of the exchange
  /// Rows of the exchange: transforms that are made at the same time.
  static constexpr int kRows = 32;
  /// Runs of spectra side by side. Four make the 32 bytes that a sector of memory holds of one input's bin.
  static constexpr int kRuns = 4;
  static constexpr int kSpan = kRuns * kRun;  // spectra of a block
  static constexpr int kStreams = kRows / kRuns;
  static constexpr int kPerStream = kLength / kElements;  // threads
  static constexpr int kThreads = kPerStream * kRows;
  static constexpr int kStreamChunks = kStreams / kChunk;
  static constexpr int kChunks = kRows / kChunk;               // [run][chunk of streams]
  static constexpr int kItems = kLength * kChunks / kThreads;  // folded by a thread
  static constexpr int kPad = kPerStream;
  static constexpr int kRow = kLength + kPad;  // of the exchange, float2
  static constexpr int kInputs = kReal ? 2 * kStreams : kStreams;
  static constexpr int kFine = kReal ? kLength / 2 : kLength;
  // The tile of integers, [run][spectrum of it][input][bin]: pairs of bytes. Rows and runs are set apart so
  // that the threads of a warp, which read neighbouring runs and then inputs, meet different banks.
  static constexpr int kReadInputs = kInputs < 32 / kRuns ? kInputs : 32 / kRuns;
  static constexpr int kTileRow = kFine + 2 * (32 / kReadInputs);
  static constexpr int kTileRun = kRun * kInputs * kTileRow + 2 * (32 / kReadInputs / kRuns);
  static constexpr int kTileSpectrum = kInputs * kTileRow;
  __host__ __device__ static constexpr int tile_input(int input) { return input * kTileRow; }
  static constexpr int kExchangeBytes = kRows * kRow * 8;
  static constexpr int kSharedBytes = kExchangeBytes + kRuns * kTileRun * 2;
  static constexpr int kMinBlocks = kThreads >= 512      ? 1
                                    : kThreads >= 256    ? 2
                                    : 512 / kThreads < 8 ? 512 / kThreads
                                                         : 8;
};

}  // namespace apsyn::f_stage
