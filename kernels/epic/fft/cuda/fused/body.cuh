// SPDX-License-Identifier: GPL-3.0-or-later
// The steps of fft/cuda/fused/fused.cuh, each for one thread of a block; a barrier stands between any two.
#pragma once

#include "kernels/common/cuda/radix.cuh"
#include "kernels/epic/fft/cuda/fused/fused.cuh"

namespace apsyn::epic_fft {

/// n, which the compiler takes for another number: addresses are computed again instead of kept in registers.
__device__ __forceinline__ int anew(int n) {
  asm volatile("" : "+r"(n));
  return n;
}
/// Loads that follow are not brought forward, where their results would wait in registers.
__device__ __forceinline__ void in_order() {
  asm volatile("" ::: "memory");
}
__device__ __forceinline__ float2 add_product(float2 sum, float2 a, float2 b) {
  return make_float2(fmaf(a.x, b.x, fmaf(-a.y, b.y, sum.x)), fmaf(a.x, b.y, fmaf(a.y, b.x, sum.y)));
}
/// Weight (re, im) times both of a pair.
__device__ __forceinline__ radix::HalfPair add_product(radix::HalfPair sum, __half2 weight,
                                                       radix::HalfPair b) {
  const __half2 re = __low2half2(weight), im = __high2half2(weight);
  return {__hfma2(re, b.x, __hfma2(-im, b.y, sum.x)), __hfma2(re, b.y, __hfma2(im, b.x, sum.y))};
}

/// float2: each polarisation by itself; radix::HalfPair: both together.
template <int kLast, int kValues, class Value>
struct FusedBody {
  static constexpr bool kHalf = std::is_same_v<Value, radix::HalfPair>;
  static constexpr int kPol = kValues == 1 ? 1 : 2;
  static constexpr int kLayers = kHalf ? 1 : kPol;  ///< planes of values
  static_assert(!kHalf || kPol == 2);
  static constexpr int kItems = items_per_thread(kLast, kValues);

  const FusedTask& task;
  const FusedShape& shape;
  char* shared;
  int thread, channel, which;  ///< channel of the launch; class

  __device__ __forceinline__ Value* plane() const { return reinterpret_cast<Value*>(shared); }
  __device__ __forceinline__ Value* cells(int spectrum) const {
    return reinterpret_cast<Value*>(shared + shape.cells_at[spectrum]);
  }
  /// Samples of the antennas' polarisations.
  __device__ __forceinline__ Value* samples() const {
    return reinterpret_cast<Value*>(shared + shape.samples_at);
  }
  __device__ __forceinline__ Value* turns() const {
    return reinterpret_cast<Value*>(shared + shape.turns_at);
  }
  __device__ __forceinline__ std::uint16_t* places() const {
    return reinterpret_cast<std::uint16_t*>(shared + shape.places_at);
  }

  __device__ __forceinline__ void load_tables() const {
    for (int i = thread; i < shape.n_turns; i += kFusedThreads)
      turns()[i] = radix::turn_of<Value>(task.turns[i]);
    for (int i = thread; i < shape.length_x; i += kFusedThreads)
      places()[i] = task.columns[which * shape.length_x + i];
  }

  /// samples() [spectrum][ant][layer]; 0 after the last spectrum.
  __device__ __forceinline__ void load_samples(int first) const {
    const int n = shape.n_ant * kLayers, n_there = (task.n_spectra - first) * n;
    const float2* from =
        task.samples + channel * task.channel_stride + std::size_t(first) * shape.n_ant * kPol;
    for (int i = thread; i < shape.at_once * n; i += kFusedThreads) {
      Value value{};
      if (i < n_there) {
        if constexpr (kHalf) {
          const float4 both = reinterpret_cast<const float4*>(from)[i];
          value = {__floats2half2_rn(task.scale * both.x, task.scale * both.z),
                   __floats2half2_rn(task.scale * both.y, task.scale * both.w)};
        } else {
          value = from[i];
        }
      }
      samples()[i] = value;
    }
  }

  /// Two cells of all layers, and an antenna's part in them.
  struct CellPair {
    Value sum[2][kLayers] = {};

    __device__ __forceinline__ void add(float4 weight, const float2* from) {
      float2 value[kLayers];
      if constexpr (kLayers == 2) {
        const float4 both = *reinterpret_cast<const float4*>(from);
        value[0] = make_float2(both.x, both.y);
        value[1] = make_float2(both.z, both.w);
      } else {
        value[0] = from[0];
      }
#pragma unroll
      for (int layer = 0; layer < kLayers; ++layer) {
        sum[0][layer] = add_product(sum[0][layer], make_float2(weight.x, weight.y), value[layer]);
        sum[1][layer] = add_product(sum[1][layer], make_float2(weight.z, weight.w), value[layer]);
      }
    }
    __device__ __forceinline__ void add(HalfWeights weight, const radix::HalfPair* from) {
      const radix::HalfPair value = *from;
      sum[0][0] = add_product(sum[0][0], weight.first, value);
      sum[1][0] = add_product(sum[1][0], weight.second, value);
    }
    __device__ __forceinline__ void store(Value* to, int layer_stride) const {
#pragma unroll
      for (int layer = 0; layer < kLayers; ++layer)
        *reinterpret_cast<ValuePair*>(to + layer * layer_stride) = {sum[0][layer], sum[1][layer]};
    }
    struct __align__(16) ValuePair {
      Value first, second;
    };
  };

  /// cells() [layer][column][row] of kAtOnce spectra.
  template <int kAtOnce>
  __device__ __forceinline__ void gather() const {
    using Weights = std::conditional_t<kHalf, HalfWeights, float4>;
    const int lane = thread % 32, n = shape.n_ant * kLayers;
    const std::size_t list = std::size_t(task.first_channel + channel) * shape.n_class + which;
    const std::uint32_t* begins = task.slices + list * (shape.n_slice + 1);
    const std::uint16_t* positions = task.positions + list * shape.n_slice * 32;
    const Weights* weights = static_cast<const Weights*>(task.weights);
    for (int slice = thread / 32; slice < shape.n_slice; slice += kFusedThreads / 32) {
      CellPair pairs[kAtOnce];
      const std::uint32_t end = begins[slice + 1];
#pragma unroll 4
      for (std::uint32_t entry = begins[slice]; entry < end; ++entry) {
        const std::size_t at = std::size_t(entry) * 32 + lane;
        const Weights weight = weights[at];
        const Value* from = samples() + task.antennas[at] * kLayers;
#pragma unroll
        for (int t = 0; t < kAtOnce; ++t) pairs[t].add(weight, from + t * n);
      }
      const int position = positions[slice * 32 + lane];
      if (position == kNowhere) continue;
#pragma unroll
      for (int t = 0; t < kAtOnce; ++t) pairs[t].store(cells(t) + position, shape.length_x * shape.n_row);
    }
  }

  /// Turned values to at[0], at[step], ...
  template <int kRadix>
  __device__ __forceinline__ void store_turned(const Value* x, const Pass& pass, int k, Value* at,
                                               int step) const {
    const Value* by = turns() + pass.turns + k * (kRadix - 1);
    const int again = anew(step);
    at[0] = x[0];
#pragma unroll
    for (int q = 1; q < kRadix; ++q) {
      if (q % 4 == 0) in_order();
      at[q * again] = radix::multiply(x[q], by[q - 1]);
    }
  }

  /// A pass along the rows of cells(spectrum); the last one writes to the plane.
  template <int kRadix>
  __device__ __forceinline__ void row_pass(int spectrum, const Pass& pass, bool last) const {
    const int n_item = kLayers * static_cast<int>(pass.items.divisor) * shape.n_row;
    const int step = static_cast<int>(pass.span.divisor) * shape.n_row;
#pragma unroll 1
    for (int item = thread; item < n_item; item += kFusedThreads) {
      int row = item;
      int k = divide(row, shape.row_divider);
      const int layer = kLayers == 1 ? 0 : divide(k, pass.items);
      const int part = divide(k, pass.span) * pass.part;
      Value* at = cells(spectrum) + (layer * shape.length_x + part + k) * shape.n_row + row;
      Value x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = at[q * step];
      radix::Transform<kRadix>::run(x);
      if (last) {
        Value* to = plane() + row * shape.row_pitch + layer * shape.column_stride;
#pragma unroll
        for (int q = 0; q < kRadix; ++q) {
          const int column = places()[part + q];
          if (column != kNowhere) to[column] = x[q];
        }
      } else {
        store_turned<kRadix>(x, pass, k, at, step);
      }
    }
  }

  /// A pass along the columns of the plane (any but the last). Rows from n_read on are taken as 0, whatever
  /// they hold.
  template <int kRadix>
  __device__ __forceinline__ void column_pass(const Pass& pass, int n_read) const {
    const Divider& columns = shape.column_divider[which];
    const int n_item = kLayers * static_cast<int>(pass.items.divisor) * static_cast<int>(columns.divisor);
    const int span = static_cast<int>(pass.span.divisor), step = span * shape.row_pitch;
#pragma unroll 1
    for (int item = thread; item < n_item; item += kFusedThreads) {
      int column = item;
      int k = divide(column, columns);
      const int layer = kLayers == 1 ? 0 : divide(k, pass.items);
      const int part = divide(k, pass.span) * pass.part;
      Value* at = plane() + (part + k) * shape.row_pitch + layer * shape.column_stride + column;
      Value x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = part + k + q * span < n_read ? at[q * step] : Value{};
      radix::Transform<kRadix>::run(x);
      store_turned<kRadix>(x, pass, k, at, step);
    }
  }

  /// The last pass along the columns, and the products of what it makes.
  __device__ __forceinline__ void multiply(float* sums) const {
    const Divider& columns = shape.column_divider[which];
    const int n_item = shape.length_y / kLast * static_cast<int>(columns.divisor), step = shape.row_pitch;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      int column = i * kFusedThreads + thread;
      if (column >= n_item) break;
      const int part = divide(column, columns) * kLast;
      const Value* at = plane() + part * step + column;
      Value x[kLast], y[kLast];
#pragma unroll
      for (int q = 0; q < kLast; ++q) x[q] = at[q * step];
      radix::Transform<kLast>::run(x);
      if constexpr (kLayers == 2) {
#pragma unroll
        for (int q = 0; q < kLast; ++q) y[q] = at[q * step + shape.column_stride];
        radix::Transform<kLast>::run(y);
      }
#pragma unroll
      for (int q = 0; q < kLast; ++q) {
        if constexpr (kHalf) {
          const float2 re = __half22float2(x[q].x), im = __half22float2(x[q].y);
          add_products(sums + (i * kLast + q) * kValues, {re.x, im.x}, {re.y, im.y});
        } else {
          add_products(sums + (i * kLast + q) * kValues, x[q], y[q]);
        }
      }
    }
  }

  __device__ __forceinline__ void add_products(float* to, float2 x, float2 y) const {
    to[0] = fmaf(x.x, x.x, fmaf(x.y, x.y, to[0]));
    if constexpr (kValues > 1) to[1] = fmaf(y.x, y.x, fmaf(y.y, y.y, to[1]));
    if constexpr (kValues > 2) {
      to[2] = fmaf(x.x, y.x, fmaf(x.y, y.y, to[2]));
      to[3] = fmaf(x.y, y.x, fmaf(-x.x, y.y, to[3]));
    }
  }

  __device__ __forceinline__ void flush(float* sums, int part) const {
    const std::size_t slice =
        (std::size_t(task.first_channel + channel) * shape.n_class + which) * shape.n_part + part;
    double* to = task.sums + slice * (kItems * kLast * kValues) * kFusedThreads + thread;
    const double factor = kHalf ? 1 / (static_cast<double>(task.scale) * task.scale) : 1;
#pragma unroll
    for (int i = 0; i < kItems * kLast * kValues; ++i) {
      to[std::size_t(i) * kFusedThreads] += factor * static_cast<double>(sums[i]);
      sums[i] = 0;
    }
  }
};

}  // namespace apsyn::epic_fft
