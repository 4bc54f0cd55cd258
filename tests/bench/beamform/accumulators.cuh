// SPDX-License-Identifier: GPL-3.0-or-later
// Beams as Magro, Zarb Adami & Hickish (2014), algorithm 1, form them: a thread owns one spectrum and keeps
// the sums of a few beams in registers; weights pass through shared memory, four antennas at a time, and four
// antennas of a spectrum are one word of 4-bit samples.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace apsyn::bench {

struct AccumulatorTask {
  int n_channel = 0, n_ant = 0, n_beam = 0, n_spectra = 0;  ///< multiples of 4 antennas
  const std::uint32_t* samples = nullptr;  ///< [channel][ant / 4][spectrum], re in high nibbles
  const float2* weights = nullptr;         ///< [channel][beam][ant]
  float* power = nullptr;                  ///< [channel][beam][spectrum]
};

/// Beams of a thread: 1, 2, 4, 8, 16 or 32. std::logic_error otherwise. False where registers do not suffice
/// for so many threads.
bool launch_accumulators(const AccumulatorTask& task, int n_accumulator, int n_thread, cudaStream_t stream);

}  // namespace apsyn::bench
