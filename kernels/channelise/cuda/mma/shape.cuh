// SPDX-License-Identifier: GPL-3.0-or-later
// How a block of the F stage on tensor cores shares its work (cuda/mma/mma.cuh).
#pragma once

namespace apsyn::f_stage {

/// kRuns: 4 make the 32 bytes that a sector of memory holds of one input's bin; 2 where shared memory is
/// short.
template <int kLength_, int kTaps_, bool kReal_, int kRuns_>
struct MmaShape {
  static constexpr int kLength = kLength_, kTaps = kTaps_;
  static constexpr bool kReal = kReal_;
  static constexpr int kRadix = kReal ? 16 : 8;     // of the first pass: 16 real numbers in and out
  static constexpr int kBehind = kLength / kRadix;  // of the second
  static constexpr int kFine = 8 * kBehind;         // bins of an input
  static constexpr int kWarps = kBehind, kThreads = 32 * kWarps;  // each keeps its set of weights
  static constexpr int kMinBlocks = kThreads == 256 ? 2 : 1;
  /// Whether blocks go on to further items, whose places they look up beside their work: a block that has a
  /// multiprocessor for itself.
  static constexpr bool kStays = kMinBlocks == 1;
  static constexpr int kInputs = 16;              // of a block: the columns of two products
  static constexpr int kRun = 8, kRuns = kRuns_;  // spectra of a block, 8 in a word of the tile's rows
  static constexpr int kSpan = kRun * kRuns;
  static constexpr int kPhase = 4;               // spectra that pass through the exchange together
  static constexpr int kUnits = 2 * 8 / kWarps;  // of a warp's second pass: columns of a product, first bin
  // The tile of integers, [run][odd input or even][spectrum of the run][pair of inputs][bin]: pairs of bytes.
  // Rows and what holds them are set apart so that threads of a warp meet different banks, those that write
  // spectra and pairs of inputs and those that read runs and inputs.
  static constexpr int kTileRow = kFine + 2;
  static constexpr int kTileSpectrum = kInputs / 2 * kTileRow;
  static constexpr int kTileOdd = kRun * kTileSpectrum + 8;
  static constexpr int kTileRun = 2 * kTileOdd;
  /// Where an input's rows start.
  __host__ __device__ static constexpr int tile_input(int input) {
    return input % 2 * kTileOdd + input / 2 * kTileRow;
  }
  // The exchange, [spectrum of the phase][set of weights][product][first bin][column], spectra set apart by
  // 16 banks.
  static constexpr int kExchangeSet = 128, kExchangeSpectrum = kBehind * kExchangeSet + 8;  // float2
  static constexpr int kExchangeBytes = kPhase * kExchangeSpectrum * 8;
  static constexpr int kTileBytes = kRuns * kTileRun * 2;
  static constexpr int kPlaces = kSpan * kInputs;  // of an input's spectra
  static constexpr int kPlaceBytes = kPlaces * (16 + 8 + 4);
  static constexpr int kSharedBytes = kExchangeBytes + kTileBytes + (kStays ? 2 : 1) * kPlaceBytes;
};

}  // namespace apsyn::f_stage
