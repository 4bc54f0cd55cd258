// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/transform.cuh"

#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"

namespace apsyn::epic_cuda {
namespace {

struct Transformer {
  const TransformTask& task;
  const TransformShape& shape;
  const CellShape& cells_shape;
  float2 *turns, *chunk, *rows;
  std::uint16_t* row_of_place;
  int thread;

  template <int kRadix>
  __device__ __forceinline__ void turn(float2* x, const TransformPass& pass, int k) const {
    const float2* by = turns + pass.turns + k * (kRadix - 1);
#pragma unroll
    for (int q = 1; q < kRadix; ++q) x[q] = radix::multiply(x[q], by[q - 1]);
  }

  /// Where value x of a pair of rows is: first row 0 .. n_x / 2, then the second one backwards; when the two
  /// are one transform, its first half and then the rest.
  __device__ __forceinline__ int slot(int x) const {
    return x + (2 * x > cells_shape.n_x ? 1 : 0);
  }

  /// Columns of a grid on their way to chunk [row][column]; all of them are as they stand there. Zeros in
  /// rows that no pair reaches.
  __device__ __forceinline__ void fetch(const float2* grid, int first_column, const Divider& columns) const {
    const int n_column = static_cast<int>(columns.divisor);
    const std::uint32_t to = ptx::shared_address(chunk);
    if (n_column == cells_shape.n_column) {
      const int n_chunk = cells_shape.n_y * n_column / 2;
      const int low = cells_shape.n_row * n_column / 2, high = n_chunk - low;
      for (int i = thread; i < n_chunk; i += kTransformThreads) {
        if (i < low || i >= high)
          ptx::copy_16(to + 16 * i, grid + 2 * i);
        else
          reinterpret_cast<float4*>(chunk)[i] = float4{};
      }
      return ptx::commit_copies();
    }
    for (int item = thread; item < cells_shape.n_y * n_column; item += kTransformThreads) {
      int column = item;
      const int row = divide(column, columns);
      const float2* from = grid + row * cells_shape.n_column + first_column + column;
      if (cells_shape.reaches(row))
        ptx::copy_8(to + 8 * item, from);
      else
        chunk[item] = float2{};
    }
    ptx::commit_copies();
  }
  __device__ __forceinline__ static void wait() {
    ptx::wait_for_copies<0>();
    __syncthreads();
  }

  /// chunk [row][column] in place, or to the rows that are wanted.
  template <int kRadix>
  __device__ __forceinline__ void column_pass(int i, int first_column, const Divider& columns) const {
    const TransformPass& pass = shape.pass_y[i];
    const bool first = i == 0, last = i + 1 == shape.n_pass_y;
    const int span = static_cast<int>(pass.span.divisor), n_column = static_cast<int>(columns.divisor);
    const int n_item = cells_shape.n_y / kRadix * n_column;
    for (int item = thread; item < n_item; item += kTransformThreads) {
      int column = item;
      int k = divide(column, columns);
      const int part = divide(k, pass.span), row = part * pass.part + k;
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) {
        const float2 value = chunk[(row + q * span) * n_column + column];
        x[q] = first ? make_float2(value.y, value.x) : value;
      }
      radix::Transform<kRadix>::run(x);
      if (!last) {
        turn<kRadix>(x, pass, k);
#pragma unroll
        for (int q = 0; q < kRadix; ++q) chunk[(row + q * span) * n_column + column] = x[q];
        continue;
      }
      const int at = first_column + column;
#pragma unroll
      for (int q = 0; q < kRadix; ++q) {
        const int to = row_of_place[row + q];  // span 1
        if (to != kNotWanted)
          rows[(to % 2 == 0 ? at : cells_shape.n_x + 1 - at) * shape.pitch() + to / 2] = x[q];
      }
    }
  }

  /// Combines the half spectra of two rows A and B into the spectrum of A + i B, with zeros beyond the
  /// existing columns.
  __device__ __forceinline__ void combine() const {
    const int n_x = cells_shape.n_x, n_item = (n_x / 2 + 1) * shape.n_pair;
    for (int item = thread; item < n_item; item += kTransformThreads) {
      int pair = item;
      const int x = divide(pair, shape.pair);
      float2 *front = rows + x * shape.pitch() + pair, *back = rows + (n_x + 1 - x) * shape.pitch() + pair;
      if (x >= cells_shape.n_column) {
        *front = *back = float2{};
        continue;
      }
      const float2 a = *front, b = *back;
      *front = make_float2(a.x + b.y, a.y - b.x);
      if (x > 0 && 2 * x < n_x) *back = make_float2(b.y - a.x, a.y + b.x);
    }
  }

  template <int kRadix>
  __device__ __forceinline__ void row_pass(const TransformPass& pass) const {
    const int span = static_cast<int>(pass.span.divisor), n_item = cells_shape.n_x / kRadix * shape.n_pair;
    for (int item = thread; item < n_item; item += kTransformThreads) {
      int pair = item;
      int k = divide(pair, shape.pair);
      const int part = divide(k, pass.span), column = part * pass.part + k;
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = rows[slot(column + q * span) * shape.pitch() + pair];
      radix::Transform<kRadix>::run(x);
      turn<kRadix>(x, pass, k);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) rows[slot(column + q * span) * shape.pitch() + pair] = x[q];
    }
  }

  /// The last pass, and what it adds to the image.
  template <int kLastRadix>
  __device__ __forceinline__ void add(const float4* factors, float* sums) const {
    const int n_item = cells_shape.n_x / kLastRadix * shape.n_pair;
#pragma unroll
    for (int i = 0; i < transform_items(kLastRadix); ++i) {
      const int item = i * kTransformThreads + thread;
      if (item >= n_item) break;
      int pair = item;
      const int column = divide(pair, shape.pair) * kLastRadix;
      float2 x[kLastRadix];
#pragma unroll
      for (int q = 0; q < kLastRadix; ++q) x[q] = rows[slot(column + q) * shape.pitch() + pair];
      radix::Transform<kLastRadix>::run(x);
#pragma unroll
      for (int q = 0; q < kLastRadix; q += 2) {
        const int sum = (i * kLastRadix + q) * 2;
        const float4 by = factors[sum / 4 * kTransformThreads + thread];
        sums[sum] = fmaf(by.x, x[q].y, sums[sum]);
        sums[sum + 1] = fmaf(by.y, x[q].x, sums[sum + 1]);
        sums[sum + 2] = fmaf(by.z, x[q + 1].y, sums[sum + 2]);
        sums[sum + 3] = fmaf(by.w, x[q + 1].x, sums[sum + 3]);
      }
    }
  }
};

template <int kLastRadix>
__global__ __launch_bounds__(kTransformThreads,
                             1) void transform_orders(const __grid_constant__ TransformTask task) {
  extern __shared__ __align__(16) char shared[];
  const TransformShape& shape = task.shape;
  const CellShape& cells_shape = task.cells_shape;
  const int product = blockIdx.x, image = blockIdx.y, n_column = cells_shape.n_column;
  Transformer to{task, shape, cells_shape};
  to.turns = reinterpret_cast<float2*>(shared);
  to.rows = to.turns + shape.n_turn;
  to.chunk = to.rows + (cells_shape.n_x + 2) * shape.pitch();
  to.row_of_place = reinterpret_cast<std::uint16_t*>(to.chunk + shape.n_chunk_column * cells_shape.n_y);
  to.thread = threadIdx.x;
  for (int i = threadIdx.x; i < cells_shape.n_y; i += kTransformThreads)
    to.row_of_place[i] = task.row_of_place[i];
  for (int i = threadIdx.x; i < shape.n_turn; i += kTransformThreads) to.turns[i] = task.turns[i];
  __syncthreads();
  float sums[kTransformSums] = {};
  const std::size_t plane = std::size_t(cells_shape.n_y) * n_column;
  const auto columns = [&](int first) -> const Divider& {
    return first + shape.n_chunk_column < n_column ? shape.chunk_column : shape.last_column;
  };
  const auto grid = [&](int order) {
    return task.cells +
           ((std::size_t(image) * cells_shape.n_order + order) * cells_shape.n_product + product) * plane;
  };
  to.fetch(grid(0), 0, columns(0));
  for (int order = 0; order < cells_shape.n_order; ++order) {
    for (int first = 0; first < n_column; first += shape.n_chunk_column) {
      if (first > 0) to.fetch(grid(order), first, columns(first));
      to.wait();
      for (int i = 0; i < shape.n_pass_y; ++i) {
        with_pass_radix(shape.pass_y[i].radix,
                        [&]<int kRadix>() { to.template column_pass<kRadix>(i, first, columns(first)); });
        __syncthreads();
      }
    }
    if (order + 1 < cells_shape.n_order) to.fetch(grid(order + 1), 0, columns(0));
    to.combine();
    __syncthreads();
    for (int i = 0; i + 1 < shape.n_pass_x; ++i) {
      with_pass_radix(shape.pass_x[i].radix,
                      [&]<int kRadix>() { to.template row_pass<kRadix>(shape.pass_x[i]); });
      __syncthreads();
    }
    to.template add<kLastRadix>(reinterpret_cast<const float4*>(task.factors) +
                                    std::size_t(order) * (kTransformSums / 4) * kTransformThreads,
                                sums);
  }
  // some at a time: what is stored is not known to be another than what is loaded next
  constexpr int kAtOnce = 16;
  double* pixels = task.sums + std::size_t(image) * task.n_stride * 4 + product;
#pragma unroll
  for (int first = 0; first < kTransformSums; first += kAtOnce) {
    std::uint32_t pixel[kAtOnce];
    double before[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) pixel[i] = task.pixels[transform_slot(first + i, threadIdx.x)];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      before[i] = pixel[i] == kNoPixel ? 0 : pixels[std::size_t(pixel[i]) * 4];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (pixel[i] != kNoPixel)
        pixels[std::size_t(pixel[i]) * 4] = before[i] + static_cast<double>(sums[first + i]);
  }
}

}  // namespace

void launch_transform(const TransformTask& task, cudaStream_t stream) {
  const auto kernel = task.shape.last_radix == 16 ? transform_orders<16> : transform_orders<8>;
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, task.shape.shared_bytes),
      "transforming: shared memory");
  const dim3 grid(static_cast<unsigned>(task.cells_shape.n_product), static_cast<unsigned>(task.n_image));
  kernel<<<grid, kTransformThreads, static_cast<std::size_t>(task.shape.shared_bytes), stream>>>(task);
  launched("transforming pairs");
}

}  // namespace apsyn::epic_cuda
