// SPDX-License-Identifier: GPL-3.0-or-later
// What a warpgroup of cuda/degrid/tensor.cu does with 64 visibilities and a tile of the subgrid.
#pragma once

#include "kernels/common/cuda/sm90/wgmma.cuh"
#include "kernels/idg/cuda/degrid/tensor_operands.cuh"

namespace apsyn::idg_degrid {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/// One visibility's partial sums for a pair of planes, which remain to be summed over the lanes of a row.
struct Sums {
  float w, u, r, i;  // see add_set
};

/// The sums over y of a, b and c with E_y = cosine + i sine: re = w + u - r, im = u - w + i.
template <int kSet>
__device__ __forceinline__ void add_set(Sums& sums, float value, float cosine, float sine) {
  if constexpr (kSet == 0) {
    sums.w = fmaf(cosine, value, sums.w);
    sums.u = fmaf(sine, value, sums.u);
  } else if constexpr (kSet == 1) {
    sums.u = fmaf(-cosine, value, sums.u);
    sums.w = fmaf(sine, value, sums.w);
  } else {
    sums.r = fmaf(sine, value, sums.r);
    sums.i = fmaf(cosine, value, sums.i);
  }
}

template <int kPlanes, int kRows, bool kFirstOrder>
struct Warpgroup {
  using L = Layout<kPlanes, kRows, kFirstOrder>;
  static constexpr int kGroups = kRows / 8;
  static constexpr int kPlanesAtOnce = kPlanes == 1 ? 1 : 2, kPairs = kPlanes / kPlanesAtOnce;
  static constexpr int kTile = kPlanesAtOnce * kRows;

  // Fragments of A [set][16 x][register], and E_y of rows r and r + 8: y = 8 j + 2 (lane % 4) + e.
  std::uint32_t high[kSets][2][4], low[kSets][2][4], first[kSets][2][4];
  float cosine[2][kGroups][2], sine[2][kGroups][2];
  float product[kSets][kTile / 2];
  Sums sums[2][kPlanesAtOnce];

  __device__ __forceinline__ void make_x(const Prepared<float> (&p)[2], const float* n_of_x, int first_x,
                                         int side) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t u = p[h].u;
      const std::uint32_t base = u * std::uint32_t(2 * first_x - side + 1);
      const __half2 dw = __float2half2_rn(p[h].w);
#pragma unroll
      for (int s = 0; s < 2; ++s)
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const int x = 16 * s + 8 * k;
          const float2 n = *reinterpret_cast<const float2*>(n_of_x + x);
          const std::uint32_t phase = base + u * std::uint32_t(2 * x);
          const float a = fmaf(p[h].w, n.x, kFixed * float(std::int32_t(phase)));
          const float b = fmaf(p[h].w, n.y, kFixed * float(std::int32_t(phase + 2 * u)));
          const float re[2] = {__cosf(a), __cosf(b)}, im[2] = {__sinf(a), __sinf(b)};
          const int reg = 2 * k + h;
          split(re[0], re[1], high[0][s][reg], low[0][s][reg]);
          split(im[0], im[1], high[1][s][reg], low[1][s][reg]);
          split(re[0] + im[0], re[1] + im[1], high[2][s][reg], low[2][s][reg]);
          if constexpr (kFirstOrder)
#pragma unroll
            for (int set = 0; set < kSets; ++set)
              first[set][s][reg] = bits(__hmul2(*reinterpret_cast<__half2*>(&high[set][s][reg]), dw));
        }
    }
  }

  __device__ __forceinline__ void make_y(const Prepared<float> (&p)[2], const float* n_of_y, int first_y,
                                         int side) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t v = p[h].v;
      const std::uint32_t base = v * std::uint32_t(2 * first_y - side + 1) + std::uint32_t(p[h].turn & ~1);
#pragma unroll
      for (int j = 0; j < kGroups; ++j) {
        const float2 n = *reinterpret_cast<const float2*>(n_of_y + 8 * j);
        const std::uint32_t phase = base + v * std::uint32_t(16 * j);
        const float a = fmaf(p[h].w, n.x, kFixed * float(std::int32_t(phase)));
        const float b = fmaf(p[h].w, n.y, kFixed * float(std::int32_t(phase + 2 * v)));
        cosine[h][j][0] = __cosf(a), sine[h][j][0] = __sinf(a);
        cosine[h][j][1] = __cosf(b), sine[h][j][1] = __sinf(b);
      }
    }
  }

  __device__ __forceinline__ static void multiply(float (&sum)[kTile / 2], const std::uint32_t (&a)[4],
                                                  std::uint64_t b, bool add) {
    ptx::wgmma_f16<kTile, ptx::Fastest::k>(sum, a, b, add);
  }

  /// Starts one product of a pair of planes.
  template <int kSet>
  __device__ __forceinline__ void start(std::uint32_t operands, int pair) {
    ptx::wgmma_fence();
    const std::uint32_t base = operands + kSet * L::kKinds * L::kOperandBytes + pair * kTile * 16;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const std::uint64_t b = ptx::plain_descriptor(base + 2 * s * L::kDepthStride, L::kDepthStride, 128);
      constexpr std::uint64_t kNext = L::kOperandBytes >> 4;
      multiply(product[kSet], high[kSet][s], b, s > 0);
      multiply(product[kSet], high[kSet][s], b + kLow * kNext, true);
      multiply(product[kSet], low[kSet][s], b, true);
      if constexpr (kFirstOrder) multiply(product[kSet], first[kSet][s], b + kFirst * kNext, true);
    }
    ptx::wgmma_commit();
  }

  template <int kSet, int kPending>
  __device__ __forceinline__ void finish() {
    ptx::wgmma_wait<kPending>();
    arrived(product[kSet]);
#pragma unroll
    for (int q = 0; q < kPlanesAtOnce; ++q)
#pragma unroll
      for (int j = 0; j < kGroups; ++j)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            add_set<kSet>(sums[h][q], product[kSet][(q * kGroups + j) * 4 + 2 * h + e], cosine[h][j][e],
                          sine[h][j][e]);
  }

  /// A pair's sums over the four lanes of a row: of row r + 8 (lane & 2) / 2; of two planes, plane lane & 1.
  /// (Choosing later between the results of two pairs made ptxas 13.0 take the one pair for the other.)
  __device__ __forceinline__ float2 collect(int lane) {
    const bool second_row = (lane & 2) != 0, second_plane = (lane & 1) != 0;
    float2 kept[kPlanesAtOnce];
#pragma unroll
    for (int q = 0; q < kPlanesAtOnce; ++q) {
      float re[2], im[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        re[h] = sums[h][q].w + sums[h][q].u - sums[h][q].r;
        im[h] = sums[h][q].u - sums[h][q].w + sums[h][q].i;
        sums[h][q] = {};
      }
      kept[q].x = (second_row ? re[1] : re[0]) + __shfl_xor_sync(~0u, second_row ? re[0] : re[1], 2);
      kept[q].y = (second_row ? im[1] : im[0]) + __shfl_xor_sync(~0u, second_row ? im[0] : im[1], 2);
    }
    if constexpr (kPlanesAtOnce == 1) {
      return {kept[0].x + __shfl_xor_sync(~0u, kept[0].x, 1), kept[0].y + __shfl_xor_sync(~0u, kept[0].y, 1)};
    } else {
      const float2 a = kept[0], b = kept[1];
      return {(second_plane ? b.x : a.x) + __shfl_xor_sync(~0u, second_plane ? a.x : b.x, 1),
              (second_plane ? b.y : a.y) + __shfl_xor_sync(~0u, second_plane ? a.y : b.y, 1)};
    }
  }

  /// All products of 64 visibilities with the tile. Three are in flight while the sums over y catch up;
  /// `meanwhile` runs beside the first of them.
  template <class Meanwhile>
  __device__ __forceinline__ void sum(std::uint32_t operands, int lane, float2 (&result)[kPairs],
                                      Meanwhile meanwhile) {
    start<0>(operands, 0);
    start<1>(operands, 0);
    start<2>(operands, 0);
    meanwhile();
#pragma unroll
    for (int pair = 0; pair + 1 < kPairs; ++pair) {
      finish<0, 2>();
      start<0>(operands, pair + 1);
      finish<1, 2>();
      start<1>(operands, pair + 1);
      finish<2, 2>();
      start<2>(operands, pair + 1);
      result[pair] = collect(lane);
    }
    finish<0, 2>();
    finish<1, 1>();
    finish<2, 0>();
    result[kPairs - 1] = collect(lane);
  }
};

#endif

}  // namespace apsyn::idg_degrid
