// SPDX-License-Identifier: GPL-3.0-or-later
// How a block of the F stage on tensor cores shares its work (channelise_mma.cuh).
#pragma once

namespace apsyn::f_stage {

template <int kLength_, int kTaps_, bool kReal_>
struct MmaShape {
  static constexpr int kLength = kLength_, kTaps = kTaps_;
  static constexpr bool kReal = kReal_;
  static constexpr int kRadix = kReal ? 16 : 8;     // of the first pass: 16 real numbers in and out
  static constexpr int kBehind = kLength / kRadix;  // of the second
  static constexpr int kFine = 8 * kBehind;         // bins of an input
  static constexpr int kWarps = 8, kThreads = 256;
  static constexpr int kInputs = 8;                  // of a block: the columns of a product
  static constexpr int kPerWarp = kBehind / kWarps;  // sets of weights that a warp keeps
  static constexpr int kRun = 8, kRuns = 4;          // spectra of a block, 8 in a word of the tile's rows
  static constexpr int kSpan = kRun * kRuns;
  static constexpr int kPhase = 4;  // spectra that pass through the exchange together
  // The tile of integers, [run][spectrum of it][input][bin]: pairs of bytes. Rows and runs are set apart so
  // that threads of a warp meet different banks, those that write inputs and spectra and those that read runs
  // and inputs.
  static constexpr int kTileRow = kFine + 2;
  static constexpr int kTileRun = kRun * kInputs * kTileRow + 16;
  // The exchange, [spectrum of the phase][set of weights][first bin][input], spectra set apart by 16 banks.
  static constexpr int kExchangeSpectrum = kBehind * 64 + 8;  // float2
  static constexpr int kExchangeBytes = kPhase * kExchangeSpectrum * 8;
  static constexpr int kSharedBytes = kExchangeBytes + kRuns * kTileRun * 2;
};

}  // namespace apsyn::f_stage
