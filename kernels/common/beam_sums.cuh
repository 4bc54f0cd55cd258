// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over antennas on tensor cores, of int8 samples and int8 weights, with detection in the epilogue:
//
//   B_b(f, t) = scale_b(f) sum_i w_bi(f) x_i(f, t),   re = wr.xr - wi.xi,  im = wi.xr + wr.xi
//
// as one real product of [2 beams][2 antennas] by [2 antennas][spectra]. Integer sums are exact up to 66051
// antennas (2 * 127 * 128 each), and exact as float32 up to 516 antennas; detection is float32.
//
// Samples are rows of 64 antennas, [re 64 B | im 64 B], that stand as
//   [chan][pol][block of 64 antennas][spectrum, padded to kTileSpectra][128 B]
// and weights are rows of a beam's real or imaginary part,
//   [chan][weight pol][group of 32 beams][limb][block of 64 antennas][64 rows][128 B]
// of which row 16 (b / 8) + b % 8 is [wr 64 B | -wi 64 B] of beam b and the row 8 further [wi | wr]: both
// parts of a beam then meet in one thread. Chunks of 16 B are swizzled as wgmma reads them (chunk ^ row % 8),
// so that flat bulk copies bring whole tiles. Antennas and beams that only fill up have weight 0.
//
// Weights of two limbs are w = 2^shift w_0 + w_1, up to 16 bits for twice the work; sums are exact while
// antennas times |w| |x| stay below 2^31.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace apsyn::beam_sums {

constexpr int kBlockAntennas = 64, kGroupBeams = 32, kTileSpectra = 128, kRowBytes = 128;
constexpr int kGroupBytes = 2 * kGroupBeams * kRowBytes, kTileBytes = kTileSpectra * kRowBytes;

struct Layout {
  int n_chan = 0, n_pol = 1, n_ant = 0, n_beam = 0, n_spectra = 0;
  int n_weight_pol = 0;  ///< n_pol, or 1: both polarisations have the same weights
  int n_limb = 1;        ///< of a weight: 1 or 2

  APSYN_HOST_DEVICE int n_ant_blocks() const { return (n_ant + kBlockAntennas - 1) / kBlockAntennas; }
  APSYN_HOST_DEVICE int n_weight_blocks() const { return n_limb * n_ant_blocks(); }
  APSYN_HOST_DEVICE int n_tiles() const { return (n_spectra + kTileSpectra - 1) / kTileSpectra; }
  /// Of 32 beams, filled up to whole blocks of threads.
  APSYN_HOST_DEVICE int n_groups() const { return (n_beam + 4 * kGroupBeams - 1) / (4 * kGroupBeams) * 4; }
  APSYN_HOST_DEVICE std::size_t sample_bytes() const {
    return std::size_t(n_chan) * n_pol * n_ant_blocks() * n_tiles() * kTileBytes;
  }
  APSYN_HOST_DEVICE std::size_t weight_bytes() const {
    return std::size_t(n_chan) * n_weight_pol * n_groups() * n_weight_blocks() * kGroupBytes;
  }
  APSYN_HOST_DEVICE std::size_t tile(int chan, int pol, int block, int tile) const {
    return ((std::size_t(chan * n_pol + pol) * n_ant_blocks() + block) * n_tiles() + tile) * kTileBytes;
  }
  /// block = limb * n_ant_blocks() + block of antennas
  APSYN_HOST_DEVICE std::size_t group(int chan, int pol, int group, int block) const {
    return ((std::size_t(chan * n_weight_pol + (n_weight_pol == 1 ? 0 : pol)) * n_groups() + group) *
                n_weight_blocks() +
            block) *
           kGroupBytes;
  }
};

/// Byte of a row of samples or weights: half 0 or 1, antenna of the block 0..63.
APSYN_HOST_DEVICE int row_offset(int row, int half, int antenna) {
  return (((4 * half + antenna / 16) ^ (row & 7)) << 4) + antenna % 16;
}
/// Row of a group that holds the real part of beam 0..31; the imaginary part's is 8 further.
APSYN_HOST_DEVICE int beam_row(int beam) {
  return beam / 8 * 16 + beam % 8;
}

enum class Product {
  voltage,    ///< out [chan][beam][pol][spectrum][re, im]
  power,      ///< of the only polarisation: out [chan][beam][segment]
  coherence,  ///< of both: out [chan][beam][XX, YY, Re XY*, Im XY*][segment]
  /// Quadratic forms of four matrices X: polarisations are the limbs of X = 2^8 X_0 + X_1, and a tile of
  /// spectra are columns b of all matrices m (quadratic_column). out [chan][beam][m][tile] = sum_b Re B_bm
  /// conj(c_b) over the tile's antennas, c the coefficients, without scale.
  quadratic,
};

constexpr int kTileColumnAntennas = 32, kMatrices = 4;
/// Place in its tile of the column of antenna 0..31 of the tile: runs of antennas for each thread.
APSYN_HOST_DEVICE int quadratic_column(int antenna, int matrix) {
  return 8 * (antenna % 16) + 4 * (antenna / 16) + matrix;
}

struct Task {
  Layout layout;
  const std::int8_t *samples = nullptr, *weights = nullptr;
  const float* scale = nullptr;  ///< [chan][pol][beam]; null: 1
  /// Products are summed over segments of so many spectra: 1, 8, 32 or 128. Spectra beyond n_spectra must be
  /// 0.
  int segment = kTileSpectra;
  float* out = nullptr;
  int shift = 0;  ///< of the first of two limbs
  /// Of quadratic forms: [chan][beam][antenna, padded to n_coefficient, whole tiles][re, im]
  const short2* coefficients = nullptr;
  int n_coefficient = 0;

  int n_segments() const { return layout.n_tiles() * (kTileSpectra / segment); }
};

/// Queues the sums on `stream`. For Hopper. std::logic_error for a segment that is none of the four.
void launch_wgmma(const Task& task, Product product, int n_sm, cudaStream_t stream);

}  // namespace apsyn::beam_sums
