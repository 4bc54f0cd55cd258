// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of sums over antennas that wgmma left in a warpgroup's registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/beam_sums.cuh"

namespace apsyn::beam_sums {

/// A lane's sums of one group: re of column 8 j + 2 (lane % 4) + c in [4 j + c], im in [4 j + 2 + c].
using Sums = int[64];

/// Sums value(j, c) over the segments of a tile; the first lane of each four stores, none where `out` is
/// null.
template <int kSegment, class Value>
__device__ __forceinline__ void store_segments(float* out, float scale, int lane, Value value) {
  constexpr int kPerSegment = kSegment / 8;
#pragma unroll
  for (int s = 0; s < 16 / kPerSegment; ++s) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kPerSegment; ++k)
      sum += value(s * kPerSegment + k, 0) + value(s * kPerSegment + k, 1);
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (out != nullptr && lane % 4 == 0) out[s] = sum * scale;
  }
}
template <class Value>
__device__ __forceinline__ void store_spectra(float* out, float scale, int lane, Value value) {
  if (out == nullptr) return;
#pragma unroll
  for (int j = 0; j < 16; ++j)
    reinterpret_cast<float2*>(out)[4 * j + lane % 4] = make_float2(value(j, 0) * scale, value(j, 1) * scale);
}
template <int kSegment, class Value>
__device__ __forceinline__ void store_products(float* out, float scale, int lane, Value value) {
  if constexpr (kSegment == 1)
    store_spectra(out, scale, lane, value);
  else
    store_segments<kSegment>(out, scale, lane, value);
}

/// XX, YY, Re XY*, Im XY* of column c of a pair; sums of antennas are converted once.
__device__ __forceinline__ void add_coherence(const Sums& x, const Sums& y, int j, int c, float (&to)[4]) {
  const float xr = x[4 * j + c], xi = x[4 * j + 2 + c], yr = y[4 * j + c], yi = y[4 * j + 2 + c];
  to[0] += xr * xr + xi * xi;
  to[1] += yr * yr + yi * yi;
  to[2] += xr * yr + xi * yi;
  to[3] += xi * yr - xr * yi;
}
/// Coherences over the segments of a tile, `stride` apart; the first lane of each four stores, none where
/// `out` is null.
template <int kSegment>
__device__ __forceinline__ void store_coherences(float* out, unsigned stride, float scale_x, float scale_y,
                                                 int lane, const Sums& x, const Sums& y) {
  constexpr int kPerSegment = kSegment == 1 ? 1 : kSegment / 8;  // pairs of columns
#pragma unroll
  for (int s = 0; s < 16 / kPerSegment; ++s) {
    float even[4] = {}, odd[4] = {};
#pragma unroll
    for (int k = 0; k < kPerSegment; ++k) {
      add_coherence(x, y, s * kPerSegment + k, 0, even);
      add_coherence(x, y, s * kPerSegment + k, 1, odd);
    }
#pragma unroll
    for (int value = 0; value < 4; ++value) {
      const float scale = (value == 1 ? scale_y : scale_x) * (value == 0 ? scale_x : scale_y);
      float* const to = out + value * stride;
      if constexpr (kSegment == 1) {
        if (out != nullptr)
          reinterpret_cast<float2*>(to)[4 * s + lane % 4] =
              make_float2(even[value] * scale, odd[value] * scale);
      } else {
        float sum = even[value] + odd[value];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (out != nullptr && lane % 4 == 0) to[s] = sum * scale;
      }
    }
  }
}

/// Sums of columns x 2^8 + y times coefficients; lanes l and l ^ 2 hold other antennas of the same matrices.
__device__ __forceinline__ void store_quadratic(const Task& task, std::size_t row, bool wanted, int tile,
                                                int lane, const Sums& x, const Sums& y) {
  float sums[2] = {};
  if (wanted) {
    const auto* from = reinterpret_cast<const int4*>(task.coefficients + row * task.n_coefficient +
                                                     tile * kTileColumnAntennas + lane % 4 / 2 * 16);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int4 four = from[k];
      const int words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float re = static_cast<short>(words[i] & 0xFFFF), im = static_cast<short>(words[i] >> 16);
        const int j = 4 * (4 * k + i);
#pragma unroll
        for (int c = 0; c < 2; ++c)
          sums[c] += (256.0f * x[j + c] + y[j + c]) * re + (256.0f * x[j + 2 + c] + y[j + 2 + c]) * im;
      }
    }
  }
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    sums[c] += __shfl_xor_sync(~0u, sums[c], 2);
    if (wanted && lane % 4 < 2)
      task.out[(row * kMatrices + 2 * (lane % 4) + c) * task.layout.n_tiles() + tile] = sums[c];
  }
}

/// Detects and stores one tile; `beam` is this lane's.
template <Product kProduct, int kSegment>
__device__ __forceinline__ void finish_tile(const Task& task, int chan, int pol, int tile, int beam, int lane,
                                            const Sums& x, const Sums& y) {
  const Layout& layout = task.layout;
  const auto scale_of = [&](int of_pol) {
    if (beam >= layout.n_beam) return 0.0f;
    return task.scale == nullptr ? 1.0f : task.scale[(chan * layout.n_pol + of_pol) * layout.n_beam + beam];
  };
  const std::size_t row = std::size_t(chan) * layout.n_beam + beam;
  const bool wanted = beam < layout.n_beam;
  if constexpr (kProduct == Product::voltage) {
    if (!wanted) return;
    const float scale = scale_of(pol);
    auto* out = reinterpret_cast<float4*>(task.out) +
                ((row * layout.n_pol + pol) * layout.n_tiles() + tile) * (kTileSpectra / 2);
#pragma unroll
    for (int j = 0; j < 16; ++j)
      out[4 * j + lane % 4] =
          make_float4(x[4 * j] * scale, x[4 * j + 2] * scale, x[4 * j + 1] * scale, x[4 * j + 3] * scale);
  } else if constexpr (kProduct == Product::quadratic) {
    store_quadratic(task, row, wanted, tile, lane, x, y);
  } else {
    constexpr int kPerTile = kTileSpectra / kSegment;
    const std::size_t n_segments = std::size_t(layout.n_tiles()) * kPerTile;
    const float scale_x = scale_of(pol);
    const auto square = [](const Sums& sums, int j, int c) {
      const float re = sums[4 * j + c], im = sums[4 * j + 2 + c];
      return re * re + im * im;
    };
    // lanes of beams that only fill up take part in the shuffles
    const auto place = [&](int value, int n_value) {
      return wanted ? task.out + (row * n_value + value) * n_segments + std::size_t(tile) * kPerTile
                    : nullptr;
    };
    if constexpr (kProduct == Product::power) {
      store_products<kSegment>(place(0, 1), scale_x * scale_x, lane,
                               [&](int j, int c) { return square(x, j, c); });
    } else {
      store_coherences<kSegment>(place(0, 4), static_cast<unsigned>(n_segments), scale_x, scale_of(1), lane,
                                 x, y);
    }
  }
}

}  // namespace apsyn::beam_sums
