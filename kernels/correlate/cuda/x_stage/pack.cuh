// SPDX-License-Identifier: GPL-3.0-or-later
// Puts raw samples of a voltage stream on the device into the X stage's layout, for streams whose samples
// need no transform.
#pragma once

#include <cuda_runtime.h>

#include "kernels/correlate/cuda/x_stage/kernels.cuh"

namespace apsyn::x_stage {

/// Format of a sample in the stream: int8 (re, im); 4+4 bits, real in the high nibble; 5+5 bits in a 16-bit
/// word, real in bits 9..5 (apsyn-voltage(5)).
enum class RawFormat { int8, int4, pack5x5_little, pack5x5_big };

/// [time][chan][ant][pol] -> layout. Spectra beyond n_time in the last block, and rows beyond the inputs,
/// become 0.
struct PackTask {
  const std::uint8_t* in = nullptr;
  std::int8_t* out = nullptr;
  RawFormat format = RawFormat::int8;
  bool offset_binary = false;
  bool conjugate = false;  ///< SIDEBAND_CONJ; -128 becomes 127. 8-bit layout only: 8 has no place in 4 bits
  int n_time = 0;
  Layout layout;  ///< 4 bits from int4, or from int8 in -8..7
  /// [row][ant]: 0 = the samples are missing and become 0; null = none is. Row of time t: (first_offset + t)
  /// / samples_per_row.
  const std::uint8_t* valid = nullptr;
  int n_pol = 1, samples_per_row = 1, first_offset = 0;
};
void launch_pack(const PackTask& task, cudaStream_t stream);

}  // namespace apsyn::x_stage
