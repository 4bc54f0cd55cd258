// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/corr/cuda/order_target.cuh"
#include "kernels/epic/corr/cuda/strips/depth.cuh"
#include "kernels/epic/corr/cuda/strips/entry.cuh"
#include "kernels/epic/corr/cuda/strips/known_passes.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kRowThreads = 96;  ///< for so many butterflies of 16 values in rows of 1536

/// Columns 0 .. n_x / 2 of a row, and those of whole strips.
__host__ __device__ constexpr int half_row(int n_x, int n_strip) {
  const int half = n_x / 2 + 2, strips = n_strip * kStripColumns;
  return (half > strips ? half : strips) / 2 * 2;
}

/// Two rows as one transform: A + i B, whose parts are exchanged, as RowTransform of rows.cu.
template <int kLength>
struct DepthRows {
  const DepthRowTask& task;
  float2* halves;  // spectra of two rows, one after the other
  float2* values;

  __device__ __forceinline__ int n_x() const { return kLength > 0 ? kLength : task.cells.n_x; }
  __device__ __forceinline__ int n_half() const { return half_row(n_x(), task.cells.n_strip()); }

  __device__ __forceinline__ void fetch(const float2* rows) const {
    const int n = task.cells.n_strip() * kStripColumns, pitch = n_half();
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float2* to = halves + row * pitch;
      const std::uint32_t address = ptx::shared_address(to);
      for (int i = threadIdx.x; 2 * i < n; i += blockDim.x)
        ptx::copy_16(address + 16 * i, rows + row * n + 2 * i);
      for (int i = n + static_cast<int>(threadIdx.x); i < pitch; i += blockDim.x) to[i] = {};
    }
    ptx::commit_copies();
    ptx::wait_for_copies<0>();
    __syncthreads();
  }

  /// Value x of A + i B from the half spectra of A and B.
  __device__ __forceinline__ float2 combined(int x, bool ahead) const {
    const int at = ahead ? x : n_x() - x;
    const float2 of_a = halves[at], of_b = halves[n_half() + at];
    return ahead ? make_float2(of_a.x + of_b.y, of_a.y - of_b.x)
                 : make_float2(of_b.y - of_a.x, of_a.y + of_b.x);
  }
  /// Of a place in the first pass, whose parts are kRowPad apart.
  __device__ __forceinline__ float2* at(int place, int first_span) const {
    return values + place + kRowPad * (place / first_span);
  }

  template <int kRadix, int kPart>
  __device__ __forceinline__ void first() const {
    const PassAt<kRadix, kPart> pass{task.shape.pass_x[0]};
    for (int k = threadIdx.x; k < pass.span(); k += blockDim.x) {
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) {
        const int at = k + q * pass.span();
        x[q] = combined(at, kRadix % 2 != 0 || 2 * q == kRadix ? 2 * at <= n_x() : 2 * q < kRadix);
      }
      radix::Transform<kRadix>::run(x);
      pass.turn(task.turns, k, x);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) values[k + q * (pass.span() + kRowPad)] = x[q];
    }
    __syncthreads();
  }

  template <int kRadix, int kPart>
  __device__ __forceinline__ void next(int i, int first_span) const {
    const PassAt<kRadix, kPart> pass{task.shape.pass_x[i]};
    for (int item = threadIdx.x; item < n_x() / kRadix; item += blockDim.x) {
      int k = item;
      const int base = pass.part_of(k) * pass.part() + k;
      float2* from = at(base, first_span);
      float2 x[kRadix];
#pragma unroll
      for (int q = 0; q < kRadix; ++q) x[q] = from[q * pass.span()];
      radix::Transform<kRadix>::run(x);
      pass.turn(task.turns, k, x);
#pragma unroll
      for (int q = 0; q < kRadix; ++q) from[q * pass.span()] = x[q];
    }
    __syncthreads();
  }

  /// All passes but the last.
  __device__ __forceinline__ void run(Passes<>) const {
    const StripShape& shape = task.shape;
    with_pass_radix(shape.pass_x[0].radix, [&]<int kRadix>() { this->template first<kRadix, 0>(); });
    for (int i = 1; i + 1 < shape.n_pass_x; ++i)
      with_pass_radix(shape.pass_x[i].radix, [&]<int kRadix>() {
        this->template next<kRadix, 0>(i, static_cast<int>(shape.pass_x[0].span.divisor));
      });
  }
  template <int kFirst, int kSecond, int kLast>
  __device__ __forceinline__ void run(Passes<kFirst, kSecond, kLast>) const {
    static_assert(kLast == kLastRowRadix);
    first<kFirst, kLength>();
    next<kSecond, kLength / kFirst>(1, kLength / kFirst);
  }
};

/// Where the pixels of a row are; sites stand in the order of their bins.
struct RowPixels {
  float *here, *below;  // null: no such row
  int first, width;     // column of bin 0, and columns
};

template <bool kSites>
__device__ __forceinline__ RowPixels row_pixels(const DepthRowTask& task, float* plane, int pair) {
  const int row = 2 * pair;
  if constexpr (kSites) {
    const int n_x = task.cells.n_x, n_y = task.cells.n_y, at = (task.first_bin_y + row) % n_y;
    return {plane + std::size_t(at) * n_x, plane + std::size_t((at + 1) % n_y) * n_x, 0, n_x};
  } else {
    float* here = plane + std::size_t(row) * task.nx;
    return {here, row + 1 < task.ny ? here + task.nx : nullptr, task.nx / 2, task.nx};
  }
}

/// A block for two rows of a product of an image.
template <bool kSites, class Known>
__global__ __launch_bounds__(kRowThreads, 8) void depth_rows(const __grid_constant__ DepthRowTask task) {
  extern __shared__ __align__(16) char shared[];
  const CellShape& cells = task.cells;
  const int pair = blockIdx.y, product = blockIdx.z;
  const std::size_t image = blockIdx.x, at = image * cells.n_product + product;
  const std::size_t pitch = std::size_t(cells.n_strip()) * kStripColumns;
  auto* halves = reinterpret_cast<float2*>(shared);
  const DepthRows<Known::kLength> rows{task, halves, halves + 2 * half_row(cells.n_x, cells.n_strip())};
  rows.fetch(task.columns + (at * task.shape.n_row + 2 * pair) * pitch);
  rows.run(Known{});

  float* plane = nullptr;
  float scale = 1, offset = 0;
  if constexpr (kSites) {
    plane = task.images + at * cells.n_y * cells.n_x;
  } else {
    const ProductTarget target(task.target, image, product);
    plane = target.plane();
    if (plane == nullptr) return;
    scale = target.scale();
    offset = target.offset();
  }
  const RowPixels to = row_pixels<kSites>(task, plane, pair);
  const float of_here = scale * __ldg(task.of_row + 2 * pair),
              of_below = scale * __ldg(task.of_row + 2 * pair + 1);
  const int n_x = rows.n_x(), n_bin = n_x / kLastRowRadix;
  for (int bin = threadIdx.x; bin < n_bin; bin += blockDim.x) {
    const float2* from = rows.values + __ldg(task.first_of_bin + bin);
    float2 x[kLastRowRadix];
#pragma unroll
    for (int q = 0; q < kLastRowRadix; ++q) x[q] = from[q];
    radix::Transform<kLastRowRadix>::run(x);
#pragma unroll
    for (int q = 0; q < kLastRowRadix; ++q) {
      const int column = wrapped(bin + q * n_bin + to.first, n_x);
      if (column >= to.width) continue;
      const float of_column = __ldg(task.of_column + bin + q * n_bin);
      to.here[column] = fmaf(of_column * of_here, x[q].y, offset);
      if (to.below != nullptr) to.below[column] = fmaf(of_column * of_below, x[q].x, offset);
    }
  }
}

template <class Known>
auto kernel_for(bool sites) {
  return sites ? depth_rows<true, Known> : depth_rows<false, Known>;
}

}  // namespace

void launch_depth_rows(const DepthRowTask& task, cudaStream_t stream) {
  const bool sites = task.images != nullptr;
  const auto kernel = Passes1536::are(task.shape.n_pass_x, task.shape.pass_x) ? kernel_for<Passes1536>(sites)
                                                                              : kernel_for<Passes<>>(sites);
  const int n_value = task.cells.n_x + kRowPad * task.shape.pass_x[0].radix +
                      2 * half_row(task.cells.n_x, task.cells.n_strip());
  const std::size_t bytes = static_cast<std::size_t>(n_value) * sizeof(float2);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "transforming rows: shared memory");
  const dim3 grid(static_cast<unsigned>(task.n_image), static_cast<unsigned>(task.shape.n_row / 2),
                  static_cast<unsigned>(task.cells.n_product));
  kernel<<<grid, kRowThreads, bytes, stream>>>(task);
  launched("transforming rows");
}

}  // namespace apsyn::epic_cuda
