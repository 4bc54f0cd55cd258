// SPDX-License-Identifier: GPL-3.0-or-later
// How the F stage leaves spectra on the device for the X stage: shared by the kernels that write them (an F
// stage, or a packer of samples that need none) and those that multiply them.
//
//   [chan][block of 64 spectra][input, padded to whole tiles][row]
//
// A row holds one input's 64 spectra: at 8 bits 64 real parts and then 64 imaginary ones, int8 (128 B); at 4
// bits 64 bytes, real part in the high nibble, both in two's complement. Rows are cut into chunks of 16 B
// that stand in an order of their own, the shared memory swizzle that wgmma and ldmatrix read without bank
// conflicts, laid down in memory so that one flat bulk copy brings a tile. Spectra of no weight are 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace apsyn::x_layout {

constexpr int kBlockSpectra = 64, kChunkBytes = 16;

/// Bits of a component.
enum class Bits : int { four = 4, eight = 8 };

struct Layout {
  Bits bits = Bits::eight;
  int n_chan = 0;
  int n_blocks = 0;  ///< for each channel; not all need be used
  int n_input = 0;
  int n_input_padded = 0;  ///< rows beyond n_input may hold anything

  APSYN_HOST_DEVICE int row_bytes() const { return bits == Bits::eight ? 128 : 64; }
  /// Between a channel's blocks.
  APSYN_HOST_DEVICE std::size_t block_bytes() const { return std::size_t(n_input_padded) * row_bytes(); }
  APSYN_HOST_DEVICE std::size_t chan_bytes() const { return block_bytes() * n_blocks; }
  APSYN_HOST_DEVICE std::size_t bytes() const { return chan_bytes() * n_chan; }
  APSYN_HOST_DEVICE std::size_t row(int chan, int block, int input) const {
    return chan * chan_bytes() + block * block_bytes() + std::size_t(input) * row_bytes();
  }
};

/// Byte within a row of 8 bits of spectrum 0..63 of the block; component 0 = real, 1 = imaginary. Runs of 16
/// spectra that start at a multiple of 16 are contiguous.
APSYN_HOST_DEVICE int offset_8bit(int input, int component, int spectrum) {
  return ((component * 4 + spectrum / kChunkBytes) ^ (input & 7)) * kChunkBytes + spectrum % kChunkBytes;
}
/// The same for the byte (real << 4 | imaginary & 15) of a row of 4 bits.
APSYN_HOST_DEVICE int offset_4bit(int input, int spectrum) {
  return ((spectrum / kChunkBytes) ^ (input >> 1 & 3)) * kChunkBytes + spectrum % kChunkBytes;
}

}  // namespace apsyn::x_layout
