// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of sums over antennas that wgmma left in a warpgroup's registers.
#pragma once

#include "kernels/common/cuda/beams/products.cuh"

namespace apsyn::beam_products {

/// A lane's sums of one group and tile: re of column 8 j + 2 (lane % 4) + c in [4 j + c], im in
/// [4 j + 2 + c]; Y's columns are the upper half.
using Sums = int[kTileColumns / 2];

template <Product kProduct, int kPols>
constexpr int kValues = kProduct == Product::voltage     ? 1
                        : kProduct == Product::power     ? kPols
                        : kProduct == Product::quadratic ? 2
                                                         : 4;

template <Product kProduct>
constexpr bool kIsDetected = kProduct == Product::power || kProduct == Product::coherence;

/// Of samples as they are multiplied.
__device__ __forceinline__ float sample_unit(const Task& task) {
  return task.source.layout == Source::SampleLayout::int4 ? 1.0f / 16 : 1.0f;
}

/// Where a beam's values of a row go, and its scale of samples' units.
struct Target {
  float* out;  ///< null: a beam that only fills up
  int n_segments;
  float scale[2];
  const short2* coefficients;
  __device__ const Target& get() const { return *this; }
};

template <Product kProduct, int kPols>
__device__ __forceinline__ Target target_of(const Task& task, int row, int beam) {
  const int n_beam = task.layout.n_beam, n_section = task.sections.count();
  const int section = row % n_section, segment = task.segment;
  Target target{nullptr, (task.sections.size(section) + segment - 1) / segment, {0, 0}, nullptr};
  if (beam >= n_beam) return target;
  if constexpr (kProduct == Product::quadratic) {
    const std::size_t at = std::size_t(row) * n_beam + beam;
    target.out = task.out + at * kMatrices * target.n_segments;
    target.coefficients = task.coefficients + at * task.n_coefficient;
  } else {
#pragma unroll
    for (int pol = 0; pol < kPols; ++pol)
      target.scale[pol] = task.scale == nullptr
                              ? 1.0f
                              : task.scale[(std::size_t(row / n_section) * kPols + pol) * n_beam + beam];
    if constexpr (kProduct == Product::voltage)
      target.out = task.out + (std::size_t(row) * n_beam + beam) * kPols * task.sections.stride * 2;
    else if (task.joined)
      target.out = task.out + row / n_section * task.row_stride + beam * task.beam_stride +
                   task.sections.begin(section) / segment * task.segment_stride;
    else
      target.out = task.out + row * task.row_stride + beam * task.beam_stride;
  }
  return target;
}

/// Products of column c of the pair j, in units of the sums.
template <Product kProduct, int kPols>
__device__ __forceinline__ void add_products(const Sums& sums, int j, int c,
                                             float (&to)[kValues<kProduct, kPols>]) {
  const float xr = sums[4 * j + c], xi = sums[4 * j + 2 + c];
  to[0] = fmaf(xr, xr, fmaf(xi, xi, to[0]));
  if constexpr (kPols == 2) {
    const float yr = sums[16 + 4 * j + c], yi = sums[16 + 4 * j + 2 + c];
    to[1] = fmaf(yr, yr, fmaf(yi, yi, to[1]));
    if constexpr (kProduct == Product::coherence) {
      to[2] = fmaf(xr, yr, fmaf(xi, yi, to[2]));
      to[3] = fmaf(xi, yr, fmaf(-xr, yi, to[3]));
    }
  }
}

/// Scales products, and makes of them what is wanted.
template <Product kProduct, int kPols, class Target>
__device__ __forceinline__ void finish_products(const Task& task, const Target& target,
                                                float (&v)[kValues<kProduct, kPols>]) {
  const float x = target.scale[0], y = target.scale[1];
  v[0] *= x * x * task.factor;
  if constexpr (kPols == 2) {
    v[1] *= y * y * task.factor;
    if constexpr (kProduct == Product::power) {
      if (task.values == Values::total) v[0] = 0.5f * (v[0] + v[1]);
    } else {
      v[2] *= x * y * task.factor;
      v[3] *= x * y * task.factor;
      const float total = 0.5f * (v[0] + v[1]), difference = 0.5f * (v[0] - v[1]);
      if (task.values == Values::linear_iquv) {
        v[0] = total, v[1] = difference;
      } else if (task.values == Values::circular_iquv) {
        v[0] = total, v[1] = v[2], v[2] = v[3], v[3] = difference;
      }
    }
  }
}

/// Stores one segment that a lane has alone.
template <Product kProduct, int kPols, class Target>
__device__ __forceinline__ void store_alone(const Task& task, const Target& target, int segment,
                                            float (&v)[kValues<kProduct, kPols>]) {
  if (target.out == nullptr || segment >= target.n_segments) return;
  finish_products<kProduct, kPols>(task, target, v);
  const int n = kProduct == Product::power && task.values == Values::total ? 1 : kValues<kProduct, kPols>;
#pragma unroll
  for (int value = 0; value < kValues<kProduct, kPols>; ++value)
    if (value < n) target.out[value * task.value_stride + segment * task.segment_stride] = v[value];
}

/// Stores one segment that four lanes have parts of.
template <Product kProduct, int kPols, class Target>
__device__ __forceinline__ void store_joint(const Task& task, const Target& target, int segment, int lane,
                                            float (&part)[kValues<kProduct, kPols>]) {
  constexpr int kCount = kValues<kProduct, kPols>;
  float joint[kCount];
#pragma unroll
  for (int value = 0; value < kCount; ++value) joint[value] = part[value], part[value] = 0;
#pragma unroll
  for (int step = 1; step <= 2; ++step)
#pragma unroll
    for (int value = 0; value < kCount; ++value) joint[value] += __shfl_xor_sync(~0u, joint[value], step);
  const int n = kProduct == Product::power && task.values == Values::total ? 1 : kCount;
  finish_products<kProduct, kPols>(task, target, joint);
  float mine = joint[0];
#pragma unroll
  for (int value = 1; value < kCount; ++value) mine = lane % 4 == value ? joint[value] : mine;
  if (target.out != nullptr && segment < target.n_segments && lane % 4 < n)
    target.out[lane % 4 * task.value_stride + segment * task.segment_stride] = mine;
}

/// Columns x 2^8 + y times coefficients; lanes l and l ^ 2 hold other antennas of the same matrices.
template <class Target>
__device__ __forceinline__ void add_quadratic(const Target& target, int tile, int lane, const Sums& sums,
                                              float (&part)[2]) {
  constexpr int kPerTile = kTileSpectra / (kTileColumns / 2);
  const int place = tile % kPerTile;
  if (target.out != nullptr) {
    const int4 four = *reinterpret_cast<const int4*>(
        target.coefficients + tile / kPerTile * kTileColumnAntennas + lane % 4 / 2 * 16 + 4 * place);
    const int words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float re = static_cast<short>(words[j] & 0xFFFF), im = static_cast<short>(words[j] >> 16);
#pragma unroll
      for (int c = 0; c < 2; ++c)
        part[c] += (256.0f * sums[4 * j + c] + sums[16 + 4 * j + c]) * re +
                   (256.0f * sums[4 * j + 2 + c] + sums[16 + 4 * j + 2 + c]) * im;
    }
  }
  if (place != kPerTile - 1) return;
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    part[c] += __shfl_xor_sync(~0u, part[c], 2);
    if (target.out != nullptr && lane % 4 < 2)
      target.out[(2 * (lane % 4) + c) * target.n_segments + tile / kPerTile] = part[c];
    part[c] = 0;
  }
}

/// Adds the products of a lane's columns of a tile, in units of the sums.
template <Product kProduct, int kPols>
__device__ __forceinline__ void sum_products(const Sums& sums, float (&to)[kValues<kProduct, kPols>]) {
  constexpr int kCount = kValues<kProduct, kPols>;
  constexpr int kSums = 4 / kCount;  // in all four additions that need not wait for each other
  float sum[kSums][kCount] = {};
#pragma unroll
  for (int value = 0; value < kCount; ++value) sum[0][value] = to[value];
#pragma unroll
  for (int j = 0; j < 8 / kPols; ++j)
#pragma unroll
    for (int c = 0; c < 2; ++c) add_products<kProduct, kPols>(sums, j, c, sum[(2 * j + c) % kSums]);
#pragma unroll
  for (int value = 0; value < kCount; ++value) {
    to[value] = sum[0][value];
#pragma unroll
    for (int k = 1; k < kSums; ++k) to[value] += sum[k][value];
  }
}

/// Finishes the segments of a tile that holds several of them.
template <Product kProduct, int kPols, class Target>
__device__ __forceinline__ void finish_short_segments(const Task& task, const Target& target_at, int first,
                                                      int lane, const Sums& sums,
                                                      float (&part)[kValues<kProduct, kPols>]) {
  constexpr int kCount = kValues<kProduct, kPols>;
  const int segment = task.segment, log_segment = 31 - __clz(segment);
  const auto& target = target_at.get();
#pragma unroll
  for (float& value : part) value = 0;
#pragma unroll
  for (int j = 0; j < 8 / kPols; ++j) {
    if (segment == 1) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float alone[kCount] = {};
        add_products<kProduct, kPols>(sums, j, c, alone);
        store_alone<kProduct, kPols>(task, target, first + 8 * j + 2 * (lane % 4) + c, alone);
      }
    } else {
#pragma unroll
      for (int c = 0; c < 2; ++c) add_products<kProduct, kPols>(sums, j, c, part);
      const int end = first + 8 * (j + 1);
      if ((end & (segment - 1)) == 0)
        store_joint<kProduct, kPols>(task, target, (end >> log_segment) - 1, lane, part);
    }
  }
}

/// A group's sums of a tile. `part` is what an open segment holds, with sum_products() of this tile. kShort:
/// a tile may hold several segments.
template <Product kProduct, int kPols, bool kShort, class Target>
__device__ __forceinline__ void finish_tile(const Task& task, const Target& target_at, int tile, int lane,
                                            const Sums& sums, float (&part)[kValues<kProduct, kPols>]) {
  constexpr int kColumns = kTileColumns / kPols;
  const int first = tile * kColumns;
  if constexpr (kIsDetected<kProduct>) {
    const int segment = task.segment, log_segment = 31 - __clz(segment);
    if (!kShort || segment >= kColumns) {
      const int end = first + kColumns;
      if ((end & (segment - 1)) == 0)
        store_joint<kProduct, kPols>(task, target_at.get(), (end >> log_segment) - 1, lane, part);
    } else {
      finish_short_segments<kProduct, kPols>(task, target_at, first, lane, sums, part);
    }
  } else if constexpr (kProduct == Product::quadratic) {
    add_quadratic(target_at.get(), tile, lane, sums, part);
  } else {
    const auto& target = target_at.get();
    if (target.out == nullptr) return;
#pragma unroll
    for (int pol = 0; pol < kPols; ++pol) {
      auto* out = reinterpret_cast<float4*>(target.out + std::size_t(pol) * task.sections.stride * 2) +
                  first / 2 + lane % 4;
      const float scale = target.scale[pol];
#pragma unroll
      for (int j = 0; j < 8 / kPols; ++j) {
        const int* at = sums + pol * 16 + 4 * j;
        out[4 * j] = make_float4(at[0] * scale, at[2] * scale, at[1] * scale, at[3] * scale);
      }
    }
  }
}

}  // namespace apsyn::beam_products
