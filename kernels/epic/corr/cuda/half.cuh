// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging of sums of pairs on Hopper's tensor cores in halves, as quadratic forms
//
//   f(M) = sum_ab w_a M_ab conj(w_b),    M_aa = 0
//
// half:   M = V_XX + i V_YY gives XX + i YY because V_XX and V_YY are Hermitian, and V_XY gives XY. Roundings
//         of M and w to 11 bits are off by 3e-4 of the RMS image.
// single: M = H + L and w = v + d, H and v of halves. With f(M) = w M w*,
//           f = (v + d) H v* + v H d* + v L v* + what is left out, 1e-7 of the RMS image,
//         where the second is the conjugate of d H^+ v*. It and the third are 3e-4 of the first, so that
//         8-bit floats do for H^+, L and v there, at twice the rate; errors are 5e-6 of the RMS image.
//
// A warpgroup holds the weights of 64 pixels in registers, as wgmma's first operand and for the sum over a
// alike; tiles of 64 x 64 of the matrices come through shared memory, once for 128 pixels.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/common/host_device.h"
#include "kernels/epic/corr/cuda/columns.cuh"
#include "kernels/epic/cuda/tile_product.cuh"

namespace apsyn::epic_cuda {

constexpr int kHalfBlock = 64, kMaxHalfAnts = 4 * kHalfBlock;
constexpr int kFormPixels = 64;        ///< of a warpgroup
constexpr int kPairTileBytes = 16384;  ///< real parts, then imaginary parts

/// Sizes in bytes; padded antennas and pixels are 0.
struct HalfLayout {
  int n_channel = 0, n_ant = 0, n_pixel = 0;
  bool exact = false;

  /// Number of blocks of antennas, 2 or 4.
  APSYN_HOST_DEVICE int n_blocks() const { return n_ant <= 2 * kHalfBlock ? 2 : 4; }
  /// Even.
  APSYN_HOST_DEVICE int n_tiles() const { return (n_pixel + 2 * kFormPixels - 1) / (2 * kFormPixels) * 2; }
  /// [channel][two matrices][block of 64 a][block of 64 b][re, im][a][b] of halves, rows of 128 bytes as
  /// wgmma swizzles them, and for single [H^+ of both, L of both][block of 64 a][block of 128 b][re,
  /// im][a][b] of 8-bit floats, b in the order of eight_bit_place().
  APSYN_HOST_DEVICE std::size_t matrix_bytes() const {
    return std::size_t(n_blocks()) * n_blocks() * kPairTileBytes;
  }
  APSYN_HOST_DEVICE std::size_t channel_bytes() const { return (exact ? 4 : 2) * matrix_bytes(); }
  /// [channel][tile][v, d][step of 16 antennas][re, im][thread][16 B]: wgmma's fragments
  APSYN_HOST_DEVICE std::size_t limb_bytes() const { return std::size_t(n_blocks()) * kPairTileBytes; }
  APSYN_HOST_DEVICE std::size_t tile_bytes() const { return (exact ? 2 : 1) * limb_bytes(); }
  APSYN_HOST_DEVICE std::size_t weight_bytes() const {
    return std::size_t(n_channel) * n_tiles() * tile_bytes();
  }
};

/// What 8-bit floats hold over what they stand for: H is at most 2^15, and what halves round it by 2^4.
constexpr float kEightBitsOfWhole = 1.0f / 128, kEightBitsOfRest = 16;

/// Computes weights of the layout's pixels, from the sky's first_pixel on.
void launch_half_weights(const WeightTask& sky, int first_pixel, const HalfLayout& layout, void* weights,
                         cudaStream_t stream);

/// unit [channel]: a power of 2 that brings the largest power to 2^14 at most.
void launch_half_units(const PairTask& task, double* unit, cudaStream_t stream);
void launch_half_matrices(const PairTask& task, const double* unit, const HalfLayout& layout, void* matrices,
                          cudaStream_t stream);

struct HalfFormTask {
  HalfLayout layout;
  const void *matrices = nullptr, *weights = nullptr;
  const double* unit = nullptr;  ///< [channel]
  double* sums = nullptr;        ///< [channel][pixel, n_stride][XX, YY, Re XY, Im XY] +=; at the first pixel
  std::size_t n_stride = 0;
};
/// On devices of compute capability 9.0 only.
bool has_half_forms(int device_index);
void launch_half_forms(const HalfFormTask& task, int n_sm, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
