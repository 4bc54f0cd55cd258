// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of int8 or 4-bit samples and int8 weights on tensor cores, and what is detected of them:
//
//   B_b(f, t) = scale_b(f) sum_i w_bi(f) x_i(f, t),   re = wr.xr - wi.xi,  im = wi.xr + wr.xi
//
// Integer sums are exact up to 66051 antennas (2 * 127 * 128 each); detection is float32. Weights of two
// limbs are w = 2^shift w_0 + w_1, for twice the work; sums are exact while antennas times |w| |x| stay below
// 2^31.
//
// A row is a section of a channel: weights stay the same within it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/spectra/spectrum_sections.h"

namespace apsyn::beam_products {

constexpr int kBlockAntennas = 64, kGroupBeams = 32, kTileColumns = 64;
constexpr int kGroupBytes = 2 * kGroupBeams * kBlockAntennas;
constexpr int kTileSpectra = 128, kRowBytes = 2 * kBlockAntennas, kTileBytes = kTileSpectra * kRowBytes;
/// (polarisation, limb, block of antennas) whose weights registers hold; those of more come with the samples.
constexpr int kMaxSlots = 8;

/// Weights: [row][weight polarisation][group of 32 beams][limb][block of 64 antennas][4096 B], in the order
/// in which threads hold them. Antennas and beams that only fill up have weight 0.
struct WeightLayout {
  int n_row = 0, n_pol = 1;  ///< one polarisation: both have the same weights
  int n_ant = 0, n_beam = 0, n_limb = 1;

  APSYN_HOST_DEVICE int n_blocks() const { return (n_ant + kBlockAntennas - 1) / kBlockAntennas; }
  /// Filled up to what a block of threads takes.
  APSYN_HOST_DEVICE int n_groups() const {
    const int n = (n_beam + kGroupBeams - 1) / kGroupBeams;
    return n <= 2 && n_slots() <= kMaxSlots ? n : (n + 3) / 4 * 4;
  }
  APSYN_HOST_DEVICE int n_slots() const { return n_pol * n_limb * n_blocks(); }
  APSYN_HOST_DEVICE std::size_t bytes() const { return group(n_row, 0, 0, 0); }
  /// block = limb * n_blocks() + block of antennas
  APSYN_HOST_DEVICE std::size_t group(int row, int pol, int group, int block) const {
    return (((std::size_t(row) * n_pol + pol) * n_groups() + group) * n_limb * n_blocks() + block) *
           kGroupBytes;
  }
};
/// Byte of a group's block: beam 0..31, part 0 (re) or 1 (im), antenna 0..63.
APSYN_HOST_DEVICE int weight_offset(int beam, int part, int antenna) {
  return beam / 8 * 1024 + part * 512 + (beam % 8 * 4 + antenna % 16 / 4) * 16 + antenna / 16 * 4 +
         antenna % 4;
}

/// Of a part of a weight, in its units.
APSYN_HOST_DEVICE int largest_weight(int shift) {
  return 127 << shift;
}
/// Bits of the second of two limbs, such that int32 holds sums of any samples of 8 bits; at most 8.
inline int second_limb_bits(std::size_t n_ant) {
  constexpr double kLargestSample = 182;  // 128 sqrt(2)
  int shift = 8;
  while (shift > 0 && kLargestSample * largest_weight(shift) * static_cast<double>(n_ant) >= 0x1p31) --shift;
  return shift;
}
/// value = 2^shift high + low, low of either sign and at most half a unit of high; but low is never -128,
/// whose negative int8 does not hold: with a shift of 8 one value in 256 becomes larger by 1.
struct Limbs {
  std::int8_t high, low;
  APSYN_HOST_DEVICE Limbs(int value, int shift) {
    const int top = (value + (1 << shift >> 1)) >> shift, rest = value - top * (1 << shift);
    high = static_cast<std::int8_t>(top);
    low = static_cast<std::int8_t>(rest < -127 ? -127 : rest);
  }
};

/// Samples as rows of 64 antennas, [re 64 B | im 64 B]: [row][pol][block of 64 antennas][spectrum, padded to
/// kTileSpectra][128 B]. Chunks of 16 B are swizzled as wgmma reads them (chunk ^ spectrum % 8).
struct RowLayout {
  int n_row = 0, n_pol = 1, n_ant = 0, n_spectra = 0;

  APSYN_HOST_DEVICE int n_blocks() const { return (n_ant + kBlockAntennas - 1) / kBlockAntennas; }
  APSYN_HOST_DEVICE int n_tiles() const { return (n_spectra + kTileSpectra - 1) / kTileSpectra; }
  APSYN_HOST_DEVICE std::size_t bytes() const { return tile(n_row, 0, 0, 0); }
  APSYN_HOST_DEVICE std::size_t tile(int row, int pol, int block, int tile) const {
    return (((std::size_t(row) * n_pol + pol) * n_blocks() + block) * n_tiles() + tile) * kTileBytes;
  }
};
/// Byte of a spectrum's row: half 0 or 1, antenna of the block 0..63.
APSYN_HOST_DEVICE int row_offset(int spectrum, int half, int antenna) {
  return (((4 * half + antenna / 16) ^ (spectrum & 7)) << 4) + antenna % 16;
}

struct Source {
  enum class SampleLayout {
    rows,  ///< RowLayout: 0 behind a section's end
    int8,  ///< as they come, re, im; antennas in eights
    int4,  ///< as they come, a byte, re in the high nibble; antennas in sixteens
  };
  SampleLayout layout = SampleLayout::rows;
  const void* data = nullptr;  ///< at a multiple of 16 bytes
  /// Of samples as they come, [..][ant][pol], in bytes: multiples of 16.
  std::size_t spectrum_stride = 0, channel_stride = 0;
  /// [channel / n_fine][ant], 0 or 1: with 0 samples as they come are taken for 0; null: all count
  const std::uint8_t* valid = nullptr;
  int n_valid_row = 1, n_fine = 1, first_channel = 0;
};
/// Antennas of samples as they come must be a multiple.
APSYN_HOST_DEVICE constexpr int unit_antennas(Source::SampleLayout layout) {
  return layout == Source::SampleLayout::int4 ? 16 : 8;
}

enum class Product {
  voltage,    ///< [row][beam][pol][spectrum of the section's room][re, im]
  power,      ///< XX, of both polarisations XX and YY
  coherence,  ///< XX, YY, Re XY*, Im XY*
  /// Quadratic forms of four matrices X, of rows: polarisations are the limbs of X = 2^8 X_0 + X_1, and a
  /// tile of spectra are columns b of all matrices m (quadratic_column). out [row][beam][m][tile] = sum_b Re
  /// B_bm conj(c_b) over the tile's antennas, c the coefficients, without scale.
  quadratic,
};

constexpr int kTileColumnAntennas = 32, kMatrices = 4;
/// Place in its tile of the column of antenna 0..31 of the tile: runs of antennas for each thread.
APSYN_HOST_DEVICE int quadratic_column(int antenna, int matrix) {
  return 8 * (antenna % 16) + 4 * (antenna / 16) + matrix;
}

enum class Values { products, total, linear_iquv, circular_iquv };

struct Task {
  int n_channel = 0, n_pol = 1;
  /// Of each channel; room: a multiple of 128. All but the last hold whole segments.
  Sections sections;
  WeightLayout layout;
  const std::int8_t* weights = nullptr;
  const float* scale = nullptr;  ///< [channel][pol][beam]; null: 1
  int shift = 0;                 ///< of the first of two limbs
  Source source;
  Product product = Product::power;
  /// Products are summed over segments of so many spectra: 1, 8, 32 or 128.
  int segment = 128;
  Values values = Values::products;
  float factor = 1;  ///< of products
  /// Value of a beam and segment: out + row * row_stride + beam * beam_stride + value * value_stride +
  /// segment * segment_stride. `joined`: rows are channels, and segments those of the whole batch, which
  /// sections do not cut.
  float* out = nullptr;
  std::size_t row_stride = 0, beam_stride = 0, value_stride = 0, segment_stride = 1;
  bool joined = false;
  /// Of quadratic forms: [row][beam][antenna, padded to n_coefficient, whole tiles][re, im]
  const short2* coefficients = nullptr;
  int n_coefficient = 0;
};

/// Whether the device has such tensor cores.
bool supported(int device_index);
/// Queues the work on `stream`, on Hopper by wgmma, on other devices from Ampere on by mma.sync.
void launch(const Task& task, int n_sm, cudaStream_t stream);
void launch_mma(const Task& task, int n_sm, cudaStream_t stream);

}  // namespace apsyn::beam_products
