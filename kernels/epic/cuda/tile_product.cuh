// SPDX-License-Identifier: GPL-3.0-or-later
// Products of weights and columns in float32, and quadratic forms of them, for `dft` and `corr` on any
// device:
//
//   Y_c(s) = sum_a w_a(s) X_ac,    w_a(s) = exp(-2 pi i nu tau_a(s)) [conj(a_a(s))] (epic.h)
//
//   spectra  columns c are spectra of one or both polarisations; sum_t Y Y* is detected
//   pairs    columns c are antennas b of one or four matrices; Re sum_b Y_b w_b* is formed, so that
//            X = the upper triangle gives what pair_products.h asks for. Rows a stop where X_ab ends.
//
// A block of threads owns 64 pixels of a channel through all columns: each thread 4 pixels by 8 columns, that
// is 128 fused multiply-adds for 10 reads of shared memory. Y lives in registers, and so do the sums of its
// products: nothing but sums leaves the chip. Weights are read again for each tile of columns, from the
// second-level cache mostly: at 128 columns a tile that is 0.5 TB/s.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace apsyn::epic_cuda {

constexpr int kTilePixels = 64, kTileColumns = 128, kStepAnts = 8;

enum class ColumnKind {
  power,      ///< column = spectrum
  coherence,  ///< column = 2 spectrum + polarisation
  pairs_1,    ///< column = antenna
  pairs_4,    ///< column = 4 antenna + matrix
};
/// Spectra or antennas of a tile.
APSYN_HOST_DEVICE constexpr int tile_length(ColumnKind kind) {
  return kind == ColumnKind::coherence ? kTileColumns / 2
         : kind == ColumnKind::pairs_4 ? kTileColumns / 4
                                       : kTileColumns;
}
APSYN_HOST_DEVICE constexpr int padded_ants(int n_ant) {
  return (n_ant + kStepAnts - 1) / kStepAnts * kStepAnts;
}

struct TileProduct {
  const float* columns = nullptr;  ///< [channel][tile][ant, padded][re | im][column]
  const float* weights = nullptr;  ///< [channel][pixel tile][ant, padded][re | im][pixel]
  int n_channel = 0, n_pixel_tiles = 0, n_tiles = 0;
  int n_ant = 0;  ///< padded to whole steps, with zeros
  /// [channel][pixel, padded to n_stride][XX, YY, Re XY, Im XY, or those matrices] +=; at the first pixel.
  double* sums = nullptr;
  std::size_t n_stride = 0;
};
void launch_tile_product(const TileProduct& product, ColumnKind kind, cudaStream_t stream);

/// Weights of n_pixel_tiles tiles from first_tile on, of channels `hz`.
struct WeightTask {
  const double* seconds = nullptr;  ///< [east, north, up, delay][ant]
  const double* unit = nullptr;     ///< [pixel][east, north, up]
  const double* hz = nullptr;       ///< [channel]
  int n_ant = 0, n_pixel = 0, n_channel = 0;
  int first_tile = 0, n_pixel_tiles = 0;
  /// With apertures: what antennas hear, [channel][kind][pixel] a; weights are those times conj(a).
  const float2* heard = nullptr;
  const std::uint32_t* kinds = nullptr;  ///< [ant]
  int n_kind = 0;
};
/// [channel][pixel tile][ant, padded][re | im][pixel]; what fills up is 0.
void launch_weights(const WeightTask& task, float* weights, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
