// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/corr/cuda/order_target.cuh"
#include "kernels/epic/corr/cuda/strips/strips.cuh"

namespace apsyn::epic_cuda {
namespace {

/// Two rows as one transform: A + i B, whose parts are exchanged. Value v stands at v + kRowPad (v / span of
/// the first pass) of shared memory, so that parts do not meet in a bank.
struct RowTransform {
  const StripRowTask& task;
  float2* halves;  // spectra of two rows, one after the other, as they stand in memory
  float2* values;

  /// Two rows on their way to `halves`.
  __device__ __forceinline__ void fetch(const float2* rows) const {
    const int n = task.cells.n_strip() * kStripColumns;  // float4 of both
    const std::uint32_t to = ptx::shared_address(halves);
    for (int i = threadIdx.x; i < n; i += blockDim.x) ptx::copy_16(to + 16 * i, rows + 2 * i);
    ptx::commit_copies();
  }

  /// Value x of A + i B from the half spectra of A and B; beyond the columns that exist it is 0.
  __device__ __forceinline__ float2 combined(int x) const {
    const int n_x = task.cells.n_x, back = n_x - x;
    const float2 *a = halves, *b = halves + task.cells.n_strip() * kStripColumns;
    if (x < task.cells.n_column) {
      const float2 of_a = a[x], of_b = b[x];
      return make_float2(of_a.x + of_b.y, of_a.y - of_b.x);
    }
    if (back >= task.cells.n_column || 2 * back >= n_x) return {};
    const float2 of_a = a[back], of_b = b[back];
    return make_float2(of_b.y - of_a.x, of_a.y + of_b.x);
  }

  template <int kRadix>
  __device__ __forceinline__ void turn(const TransformPass& pass, int k, float2* x) const {
    const float2* turns = task.turns + pass.turns + k;
    const int span = static_cast<int>(pass.span.divisor);
#pragma unroll
    for (int q = 1; q < kRadix; ++q) x[q] = radix::multiply(x[q], __ldg(turns + (q - 1) * span));
  }

  template <int kRadix>
  __device__ __forceinline__ void first() const {
    const TransformPass& pass = task.shape.pass_x[0];
    const int span = static_cast<int>(pass.span.divisor);
    for (int k = threadIdx.x; k < span; k += blockDim.x) {
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = combined(k + q * span);
      radix::Transform<kRadix>::run(x);
      turn<kRadix>(pass, k, x);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) values[k + q * (span + kRowPad)] = x[q];
    }
  }

  template <int kRadix>
  __device__ __forceinline__ void next(const TransformPass& pass) const {
    const int span = static_cast<int>(pass.span.divisor);
    for (int item = threadIdx.x; item < task.cells.n_x / kRadix; item += blockDim.x) {
      int k = item;
      const int base = divide(k, pass.span) * pass.part + k;
      float2* at = values + base + kRowPad * quotient(base, task.shape.pass_x[0].span);
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = at[q * span];
      radix::Transform<kRadix>::run(x);
      turn<kRadix>(pass, k, x);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) at[q * span] = x[q];
    }
  }

  /// Values of bins thread + q n_x / 8.
  __device__ __forceinline__ void last(float2* x) const {
    const float2* at = values + __ldg(task.first_of_bin + threadIdx.x);
#pragma unroll
    for (int q = 0; q < kLastRowRadix; ++q) x[q] = at[q];
    radix::Transform<kLastRowRadix>::run(x);
  }
};

/// Two rows of an image of sites, (below, above) of each bin.
__device__ __forceinline__ void store(const StripRowTask& task, std::size_t plane, int pair,
                                      const float2* x) {
  const CellShape& cells = task.cells;
  const int row = (task.first_bin_y + 2 * pair) % cells.n_y, below = (row + 1) % cells.n_y;
  const int n_bin = cells.n_x / kLastRowRadix;
  float* to = task.images + plane * cells.n_y * cells.n_x + threadIdx.x;
#pragma unroll
  for (int q = 0; q < kLastRowRadix; ++q) {
    to[std::size_t(row) * cells.n_x + q * n_bin] = x[q].y;
    to[std::size_t(below) * cells.n_x + q * n_bin] = x[q].x;
  }
}

enum class RowsTo { pixels, each_order, even_and_odd };

/// A block for two rows of a product of an image, images first: they share the factors of their rows.
template <RowsTo kTo>
__global__ __launch_bounds__(kMaxRowThreads, 1) void strip_rows(const __grid_constant__ StripRowTask task) {
  extern __shared__ __align__(16) char shared[];
  const CellShape& cells = task.cells;
  const int image = blockIdx.x, pair = blockIdx.y, product = blockIdx.z;
  const int n_bin = cells.n_x / kLastRowRadix, bin = threadIdx.x;
  const std::size_t pitch = std::size_t(cells.n_strip()) * kStripColumns;
  const std::size_t at = (std::size_t(pair) * kLastRowRadix) * n_bin + bin;
  const std::size_t of_order = std::size_t(task.shape.n_row / 2) * cells.n_x;
  const int n_order = cells.n_order, n_even = (n_order + 1) / 2;
  const auto nth_order = [&](int i) {
    if (kTo != RowsTo::even_and_odd) return i;
    return i < n_even ? 2 * i : 2 * (i - n_even) + 1;
  };
  const auto rows = [&](int order) {
    const std::size_t plane = (std::size_t(image) * n_order + order) * cells.n_product + product;
    return task.columns + (plane * task.shape.n_row + 2 * pair) * pitch;
  };
  auto* halves = reinterpret_cast<float2*>(shared);
  const RowTransform transform{task, halves, halves + 2 * pitch};
  transform.fetch(rows(0));
  float2 sums[kLastRowRadix] = {};  // of the row below, of the row
  for (int i = 0; i < n_order; ++i) {
    const int order = nth_order(i);
    ptx::wait_for_copies<0>();
    __syncthreads();
    with_pass_radix(task.shape.pass_x[0].radix, [&]<int kRadix>() { transform.template first<kRadix>(); });
    __syncthreads();
    if (i + 1 < n_order) transform.fetch(rows(nth_order(i + 1)));
    for (int pass = 1; pass + 1 < task.shape.n_pass_x; ++pass) {
      with_pass_radix(task.shape.pass_x[pass].radix,
                      [&]<int kRadix>() { transform.template next<kRadix>(task.shape.pass_x[pass]); });
      if (pass + 2 < task.shape.n_pass_x) __syncthreads();
    }
    float2 factors[kLastRowRadix];
    if constexpr (kTo != RowsTo::each_order) {
      const float2* from = task.factors + order * of_order + at;
#pragma unroll
      for (int q = 0; q < kLastRowRadix; ++q) factors[q] = bin < n_bin ? __ldg(from + q * n_bin) : float2{};
    }
    __syncthreads();
    if (bin >= n_bin) continue;
    float2 x[kLastRowRadix];
    transform.last(x);
    if constexpr (kTo == RowsTo::each_order) {
      store(task, (std::size_t(image) * n_order + order) * cells.n_product + product, pair, x);
    } else {
#pragma unroll
      for (int q = 0; q < kLastRowRadix; ++q)
        sums[q] = make_float2(fmaf(factors[q].y, x[q].x, sums[q].x), fmaf(factors[q].x, x[q].y, sums[q].y));
      if (kTo == RowsTo::even_and_odd && (i + 1 == n_even || i + 1 == n_order)) {
        const int n_plane = min(n_order, 2), odd = i + 1 == n_even ? 0 : 1;
        store(task, (std::size_t(image) * n_plane + odd) * cells.n_product + product, pair, sums);
#pragma unroll
        for (float2& sum : sums) sum = {};
      }
    }
  }
  if constexpr (kTo == RowsTo::pixels) {
    if (bin >= n_bin) return;
    uint2 pixels[kLastRowRadix];  // all of them before the first is stored
#pragma unroll
    for (int q = 0; q < kLastRowRadix; ++q) pixels[q] = __ldg(task.pixels + at + q * n_bin);
    const ProductTarget target(task.target, image, product);
#pragma unroll
    for (int q = 0; q < kLastRowRadix; ++q) {
      if (pixels[q].x != kNoPixel) target.put_at(pixels[q].x, sums[q].y);
      if (pixels[q].y != kNoPixel) target.put_at(pixels[q].y, sums[q].x);
    }
  }
}

/// A thread for each bin of two rows. A site at l', m' has dn where l = l' - a dn, m = m' - b dn and
/// n = n_middle + dn lie on the sphere.
__global__ void site_factors(SiteFactorTask task) {
  const CellShape& cells = task.cells;
  const std::size_t at = this_thread(), n_bin = std::size_t(task.shape.n_row / 2) * cells.n_x;
  if (at >= n_bin) return;
  const int bin = static_cast<int>(at % cells.n_x), column = (bin + task.n_site_x / 2) % cells.n_x;
  float scale[2] = {}, t[2] = {};
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * static_cast<int>(at / cells.n_x) + half;
    if (column >= task.n_site_x || row >= task.n_site_y) continue;
    scale[half] = task.of_column[bin] * task.of_row[(task.first_bin_y + row) % cells.n_y];
    const double l = (task.n_site_x / 2 - column) * task.pitch, m = (row - task.n_site_y / 2) * task.pitch;
    const double a = 1 + task.slope_u * task.slope_u + task.slope_v * task.slope_v;
    const double b = task.n_middle - task.slope_u * l - task.slope_v * m;
    const double c = l * l + m * m + task.n_middle * task.n_middle - 1;
    const double dn = (sqrt(fmax(0.0, b * b - a * c)) - b) / a;
    t[half] = task.n_half > 0 ? static_cast<float>(fmin(1.0, fmax(-1.0, dn / task.n_half))) : 0.0f;
  }
  // T_(k + 2) = 2 T_2 T_k - T_(k - 2), with T_-2 = T_2 and, over t, T_-1 = T_1
  for (int half = 0; half < 2; ++half) {
    const float twice = 2 * (2 * t[half] * t[half] - 1);
    float before[2] = {twice / 2, 1}, now[2] = {1, 1};
    for (int order = 0; order < cells.n_order; ++order) {
      float2& factor = task.factors[order * n_bin + at];
      (half == 0 ? factor.x : factor.y) = now[order % 2] * scale[half];
      const float next = twice * now[order % 2] - before[order % 2];
      before[order % 2] = now[order % 2];
      now[order % 2] = next;
    }
  }
}

}  // namespace

void launch_strip_rows(const StripRowTask& task, cudaStream_t stream) {
  const auto kernel = task.images == nullptr    ? strip_rows<RowsTo::pixels>
                      : task.factors == nullptr ? strip_rows<RowsTo::each_order>
                                                : strip_rows<RowsTo::even_and_odd>;
  const int n_value =
      task.cells.n_x + kRowPad * task.shape.pass_x[0].radix + 2 * task.cells.n_strip() * kStripColumns;
  const std::size_t bytes = static_cast<std::size_t>(n_value) * sizeof(float2);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "transforming rows: shared memory");
  const dim3 grid(static_cast<unsigned>(task.n_image), static_cast<unsigned>(task.shape.n_row / 2),
                  static_cast<unsigned>(task.cells.n_product));
  const auto n_thread = static_cast<unsigned>((task.cells.n_x / kLastRowRadix + 31) / 32 * 32);
  kernel<<<grid, n_thread, bytes, stream>>>(task);
  launched("transforming rows");
}

void launch_site_factors(const SiteFactorTask& task, cudaStream_t stream) {
  const std::size_t n =
      static_cast<std::size_t>(task.shape.n_row / 2) * static_cast<std::size_t>(task.cells.n_x);
  site_factors<<<blocks_of(n), kThreads, 0, stream>>>(task);
  launched("weighing sites");
}

}  // namespace apsyn::epic_cuda
