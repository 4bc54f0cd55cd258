// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/strips/column_transform.cuh"
#include "kernels/epic/corr/cuda/strips/depth.cuh"
#include "kernels/epic/corr/cuda/strips/entry.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kListed = 256;             ///< entries that a block has in shared memory at a time
constexpr float kShares = 2048;          ///< of the largest of a list
constexpr float kMostShares = 1u << 31;  ///< of all

struct Listed {
  StripEntry entry;
  float2 value;
};
struct DepthList {
  Listed listed[kListed];
  std::uint32_t largest, shares;
};

template <int kTerms>
struct DepthPairs {
  const DepthColumnTask& task;
  std::size_t first_pair;    // of the image
  std::uint32_t begin, end;  // entries
  int product;

  __device__ __forceinline__ std::size_t pair(const StripEntry& entry) const {
    return first_pair + PairCode{entry.code}.pair();
  }
  __device__ __forceinline__ float2 value(const StripEntry& entry) const {
    return __ldg(task.values + pair(entry) * 4 + product);
  }
  /// What no cell can get more of by the entry.
  __device__ __forceinline__ float most(const StripEntry& entry) const {
    const float2 of = value(entry);
    return __ldg(task.peaks + pair(entry)) * sqrtf(fmaf(of.x, of.x, of.y * of.y));
  }
};

/// By what values are multiplied so that no sum of integers runs over: the sum of all entries is bounded in
/// whole shares of the largest, which do not depend on the order of the list. 0 without pairs, NaN with a
/// value that is not finite.
template <int kTerms>
__device__ __forceinline__ float scale_of(const DepthPairs<kTerms>& pairs, DepthList& list) {
  const int lane = threadIdx.x % 32;
  const std::uint32_t at = pairs.begin + threadIdx.x;
  const float first = at < pairs.end ? pairs.most(pairs.task.entries[at]) : 0;
  // floats that are not negative have the order of their bits, and what is no number is above them
  std::uint32_t most = __float_as_uint(first);
  for (std::uint32_t i = at + blockDim.x; i < pairs.end; i += blockDim.x)
    most = max(most, __float_as_uint(pairs.most(pairs.task.entries[i])));
  most = __reduce_max_sync(~0u, most);
  if (lane == 0) atomicMax(&list.largest, most);
  __syncthreads();
  constexpr float kNothing = 1e-29f;  // of which shares would be beyond float32
  const float largest = __uint_as_float(list.largest);
  if (!isfinite(largest)) return nanf("");
  if (largest < kNothing) return 0;
  const float per_share = fminf(kShares, kMostShares / static_cast<float>(pairs.end - pairs.begin)) / largest;
  auto shares = static_cast<std::uint32_t>(ceilf(first * per_share));
  for (std::uint32_t i = at + blockDim.x; i < pairs.end; i += blockDim.x)
    shares += static_cast<std::uint32_t>(ceilf(pairs.most(pairs.task.entries[i]) * per_share));
  shares = __reduce_add_sync(~0u, shares);
  if (lane == 0) atomicAdd(&list.shares, shares);
  __syncthreads();
  constexpr float kRoom = 1u << 30;
  return kRoom / static_cast<float>(list.shares) * per_share;
}

/// A lane adds to one column, to the real or to the imaginary part, and to every second row.
template <int kTerms>
struct Visit {
  float2 along_x[kTerms];
  float4 along_y[kTerms][2];
  float2 value;
  int row, step;  // of the first, and from one to the next
  bool reaches, mirrored;

  __device__ __forceinline__ Visit() {}
  __device__ __forceinline__ Visit(const DepthPairs<kTerms>& pairs, const Listed& listed) {
    const int lane = threadIdx.x % 32, column = lane / 2 % kStripColumns, half = lane / 16;
    const StripEntry entry = listed.entry;
    mirrored = PairCode{entry.code}.sign() != 0;
    const int x = column + entry.column;
    reaches = static_cast<unsigned>(x) < unsigned{kPairTaps};
    const float2* taps = pairs.task.taps + pairs.pair(entry) * depth_taps(kTerms);
    const int at = reaches ? (mirrored ? kPairTaps - 1 - x : x) : 0;
    const int side = mirrored ? 1 - half : half;  // (b, a) is turned over
#pragma unroll
    for (int term = 0; term < kTerms; ++term) {
      const float2* of = taps + term * 2 * kPairTaps;
      along_x[term] = __ldg(of + at);
      const auto* quads = reinterpret_cast<const float4*>(of + kPairTaps) + 2 * side;
      along_y[term][0] = __ldg(quads);
      along_y[term][1] = __ldg(quads + 1);
    }
    value = listed.value;
    row = entry.row + half + (mirrored ? kPairTaps - 2 : 0);
    step = mirrored ? -2 : 2;
  }

  __device__ __forceinline__ void add(float scale, int n_y, int* cells) const {
    if (!reaches) return;
    const bool imaginary = threadIdx.x % 2 != 0;
    float re[kTerms], im[kTerms];  // what the parts of a tap along y give
    const float sign = imaginary && mirrored ? -scale : scale;
#pragma unroll
    for (int term = 0; term < kTerms; ++term) {
      const float2 x = along_x[term];
      const float of_re = sign * fmaf(value.x, x.x, -value.y * x.y);
      const float of_im = sign * fmaf(value.x, x.y, value.y * x.x);
      re[term] = imaginary ? of_im : of_re;
      im[term] = imaginary ? of_re : -of_im;
    }
    int* to = cells + threadIdx.x % 16;
#pragma unroll
    for (int i = 0; i < kPairTaps / 2; ++i) {
      float sum = 0;
#pragma unroll
      for (int term = 0; term < kTerms; ++term) {
        const float4 y = along_y[term][i / 2];
        sum = i % 2 == 0 ? fmaf(re[term], y.x, fmaf(im[term], y.y, sum))
                         : fmaf(re[term], y.z, fmaf(im[term], y.w, sum));
      }
      atomicAdd(to + wrapped(row + i * step, n_y) * (2 * kStripColumns), __float2int_rn(sum));
    }
  }
};

template <int kTerms>
__device__ __forceinline__ void add_pairs(const DepthPairs<kTerms>& pairs, float scale, DepthList& list,
                                          int* cells) {
  const int warp = threadIdx.x / 32, n_warp = blockDim.x / 32, n_y = pairs.task.cells.n_y;
  for (std::uint32_t first = pairs.begin; first < pairs.end; first += kListed) {
    const int n = static_cast<int>(min(pairs.end - first, std::uint32_t{kListed}));
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      const StripEntry entry = pairs.task.entries[first + i];
      list.listed[i] = {entry, pairs.value(entry)};
    }
    __syncthreads();
    if (warp >= n) continue;
    Visit<kTerms> visit(pairs, list.listed[warp]);
    for (int i = warp + n_warp; i < n; i += n_warp) {
      const Visit<kTerms> now = visit;
      visit = Visit<kTerms>(pairs, list.listed[i]);  // is on its way while this one is added
      now.add(scale, n_y, cells);
    }
    visit.add(scale, n_y, cells);
  }
}

/// A block for each strip, product and image.
template <int kTerms, class Known>
__global__ __launch_bounds__(kMaxColumnThreads,
                             1) void depth_columns(const __grid_constant__ DepthColumnTask task) {
  extern __shared__ __align__(16) char shared[];
  const CellShape& shape = task.cells;
  auto* cells = reinterpret_cast<float2*>(shared);
  auto& list = *reinterpret_cast<DepthList*>(cells + shape.n_y * kStripColumns);
  const int strip = blockIdx.x, product = blockIdx.y, image = blockIdx.z;
  const std::uint32_t* begins = task.begins + (task.first_image + image) * (shape.n_strip() + 1) + strip;
  const DepthPairs<kTerms> pairs{task, (task.first_image + image) * shape.n_grid_pair(), begins[0], begins[1],
                                 product};
  if (threadIdx.x == 0) list.largest = list.shares = 0;
  for (int i = threadIdx.x; i < shape.n_y * kStripColumns / 2; i += blockDim.x)
    reinterpret_cast<float4*>(cells)[i] = float4{};
  __syncthreads();
  const float scale = scale_of(pairs, list);
  if (scale > 0) add_pairs(pairs, scale, list, reinterpret_cast<int*>(cells));
  __syncthreads();
  const float back = scale > 0 ? 1 / scale : scale;
  const std::size_t pitch = std::size_t(shape.n_strip()) * kStripColumns;
  const ColumnTransform transform{
      shape,
      task.shape,
      task.turns,
      task.row_of_place,
      cells,
      task.columns + (std::size_t(image) * shape.n_product + product) * pitch * task.shape.n_row +
          strip * kStripColumns};
  transform.run(Known{}, [back](float2 cell) {
    return make_float2(back * static_cast<float>(__float_as_int(cell.y)),
                       back * static_cast<float>(__float_as_int(cell.x)));
  });
}

template <class Known>
auto kernel_for(int n_term) {
  return n_term == 2 ? depth_columns<2, Known> : depth_columns<3, Known>;
}

}  // namespace

std::size_t depth_list_bytes() {
  return sizeof(DepthList);
}

void launch_depth_columns(const DepthColumnTask& task, cudaStream_t stream) {
  const int n_pass = task.shape.n_pass_y;
  const TransformPass* passes = task.shape.pass_y;
  const auto kernel = Passes1536::are(n_pass, passes)   ? kernel_for<Passes1536>(task.n_term)
                      : Passes1728::are(n_pass, passes) ? kernel_for<Passes1728>(task.n_term)
                                                        : kernel_for<Passes<>>(task.n_term);
  const int bytes = task.shape.column_bytes + static_cast<int>(sizeof(DepthList));
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "transforming strips: shared memory");
  const dim3 grid(static_cast<unsigned>(task.cells.n_strip()), static_cast<unsigned>(task.cells.n_product),
                  static_cast<unsigned>(task.n_image));
  kernel<<<grid, static_cast<unsigned>(task.shape.n_column_threads), static_cast<std::size_t>(bytes),
           stream>>>(task);
  launched("transforming strips");
}

}  // namespace apsyn::epic_cuda
