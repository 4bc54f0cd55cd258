// SPDX-License-Identifier: GPL-3.0-or-later
// The integers of long spectra, from a tile in shared memory into the X stage's layout.
#pragma once

#include "kernels/channelise/cuda/device.cuh"
#include "kernels/channelise/cuda/fused/integers.cuh"
#include "kernels/channelise/cuda/long/shape.cuh"

namespace apsyn::f_stage {

/// Spectra as bytes in a row of the layout, kWords words of four.
template <int kWords>
__device__ __forceinline__ void store_words(std::int8_t* to, const unsigned (&word)[kWords]) {
  if constexpr (kWords == 4)
    *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  else if constexpr (kWords == 2)
    *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
  else
    *reinterpret_cast<unsigned*>(to) = word[0];
}

/// An item is one component of two bins of an input in up to 16 spectra. Neighbouring threads write both
/// components of a bin, and then other channels, which lie megabytes apart.
template <class S>
__device__ __forceinline__ void write_long_tile(const Task& task, const IntegerOutput& out, int chan,
                                                int first_input, int first_spectrum,
                                                const unsigned short* tile) {
  constexpr int kPart = S::kSpan < 16 ? S::kSpan : 16, kParts = S::kSpan / kPart, kWords = kPart / 4;
  constexpr int kPairs = S::kFine / 2, kRowWords = S::kTileRow / 2;
  const Grid grid(task);
  const std::size_t chan_bytes = out.layout.chan_bytes();
  const int block = first_spectrum / kBlockSpectra;
  const unsigned select = threadIdx.x % 2 == 0 ? 0x6240 : 0x7351;
#pragma unroll 1
  for (int item = threadIdx.x; item < 2 * kPairs * kParts * S::kInputs; item += S::kThreads) {
    const int component = item % 2, part = item / 2 % kParts, pair = item / (2 * kParts) % kPairs,
              in_block = item / (2 * kParts * kPairs);
    const int input = first_input + in_block;
    if (input >= task.samples.n_input) continue;
    const int first = first_spectrum + part * kPart, used = task.n_spectra - first;
    const unsigned* from =
        reinterpret_cast<const unsigned*>(tile) + (part * kPart * S::kInputs + in_block) * kRowWords + pair;
    unsigned even[kWords], odd[kWords];
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      unsigned value[4];
#pragma unroll
      for (int u = 0; u < 4; ++u)
        value[u] = 4 * word + u < used ? from[(4 * word + u) * S::kInputs * kRowWords] : 0;
      const unsigned a = __byte_perm(value[0], value[1], select), b = __byte_perm(value[2], value[3], select);
      even[word] = __byte_perm(a, b, 0x5410);
      odd[word] = __byte_perm(a, b, 0x7632);
    }
    std::int8_t* row = out.data + out.layout.row(chan * task.n_fine, block, input) +
                       x_layout::offset_8bit(input, component, first % kBlockSpectra);
    store_words(row + grid.fine(2 * pair) * chan_bytes, even);
    store_words(row + grid.fine(2 * pair + 1) * chan_bytes, odd);
  }
}

}  // namespace apsyn::f_stage
