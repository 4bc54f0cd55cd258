// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/strips/depth.cuh"
#include "kernels/epic/corr/cuda/strips/entry.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kAxisTaps = DepthAxis::kTaps, kNodes = DepthAxis::kNodes;
constexpr double kTurn = 6.283185307179586;
static_assert(kAxisTaps == kPairTaps);

/// Pairs a < b, row-major.
__device__ __forceinline__ int2 antennas_of(int n_ant, std::size_t pair) {
  const double twice = 2.0 * n_ant - 1;
  int a = static_cast<int>((twice - sqrt(twice * twice - 8.0 * static_cast<double>(pair))) / 2);
  while (pair_row(n_ant, a) > pair) --a;
  while (pair_row(n_ant, a + 1) <= pair) ++a;
  return make_int2(a, a + 1 + static_cast<int>(pair - pair_row(n_ant, a)));
}

/// A pair along an axis.
struct AlongAxis {
  int first;        // cell
  float along;      // from the middle of its cells
  double per_site;  // turns from site to site
  __device__ __forceinline__ AlongAxis(double turns, int n) : per_site(turns) {
    const double place = turns * n, left = place - n * floor(place / n) - 0.5 * kAxisTaps;
    const double cell = ceil(left);
    along = static_cast<float>(left - cell + 0.5);
    first = wrapped(static_cast<int>(cell) + n, n);
  }
};

/// 1 over the transform of what interpolates pixels, of the fringe at a node: what the height does to the
/// fringe is in it.
__device__ __forceinline__ float inverse_at(const DepthPairTask& task, double per_site, double bent) {
  if (task.inverse == nullptr) return 1;
  const double frequency = per_site + bent, square = frequency * frequency * task.inverse_scale;
  double value = 0;
  for (int power = task.n_inverse; power-- > 0;) value = fma(value, square, task.inverse[power]);
  return static_cast<float>(value);
}

/// Where a thread stores what it has of a pair, a multiple of 32 bytes. Two neighbours store 32 bytes of one
/// of their pairs, and then of the other's, as memory is written by so many.
struct PairStore {
  float2* to;        // of the thread's own pair
  std::size_t step;  // from a pair to the next
  bool own, both;    // the first of the two pairs exists, and both do
  __device__ __forceinline__ void put(int at, float4 one, float4 other) const {
    const bool odd = threadIdx.x % 2 != 0;
    const float4 away = odd ? one : other;
    const auto swap = [](float value) { return __shfl_xor_sync(~0u, value, 1); };
    const float4 came = make_float4(swap(away.x), swap(away.y), swap(away.z), swap(away.w));
    if (own) *reinterpret_cast<float4*>(odd ? to - step + at + 2 : to + at) = odd ? came : one;
    if (both) *reinterpret_cast<float4*>(odd ? to + at + 2 : to + step + at) = odd ? other : came;
  }
};

/// Stores the taps of each term, and multiplies `bounds` by a bound of their sizes. `sign`: of a site's
/// direction cosine along rising frequencies.
template <int kTerms, bool kEvenFirst>
__device__ __forceinline__ void put_taps(const DepthPairTask& task, const DepthAxis& axis,
                                         const AlongAxis& pair, float z, double height, double sign,
                                         const PairStore& store, float* bounds) {
  float2 taps[kTerms][kAxisTaps] = {};
#pragma unroll
  for (int node = 0; node < kNodes; ++node) {
    float2 at[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float turn = (side == 0 ? 1.0f : -1.0f) * axis.node[node] * pair.along;
      // in the range of angles for which these err by less than 1e-6
      __sincosf(static_cast<float>(kTurn) * turn - z * axis.depth[side][node], &at[side].y, &at[side].x);
      const float scale = inverse_at(task, pair.per_site, sign * height * axis.bend[side][node]);
      at[side] = make_float2(scale * at[side].x, scale * at[side].y);
    }
#pragma unroll
    for (int term = 0; term < kTerms; ++term) {
      const float a = term == 0 ? 1.0f : axis.term[term > 0 ? term - 1 : 0][0][node];
      const float b = term == 0 ? 1.0f : axis.term[term > 0 ? term - 1 : 0][1][node];
      const float2 sum = make_float2(fmaf(a, at[0].x, b * at[1].x), fmaf(a, at[0].y, b * at[1].y));
      // -i times the difference
      const float2 difference = make_float2(fmaf(a, at[0].y, -b * at[1].y), fmaf(-a, at[0].x, b * at[1].x));
#pragma unroll
      for (int tap = 0; tap < kAxisTaps; ++tap) {
        float2& of = taps[term][tap];
        of.x = fmaf(axis.even[node][tap], sum.x, fmaf(axis.odd[node][tap], difference.x, of.x));
        of.y = fmaf(axis.even[node][tap], sum.y, fmaf(axis.odd[node][tap], difference.y, of.y));
      }
    }
  }
#pragma unroll
  for (int term = 0; term < kTerms; ++term) {
    float most = 0;
#pragma unroll
    for (int tap = 0; tap < kAxisTaps; ++tap) {
      float2& of = taps[term][tap];
      if (!kEvenFirst && term > 0) of = make_float2(z * of.y, -z * of.x);
      most = fmaxf(most, fmaf(of.x, of.x, of.y * of.y));
    }
    bounds[term] *= sqrtf(most);
#pragma unroll
    for (int i = 0; i < kAxisTaps; i += 4) {
      const auto two = [&](int at) {
        const int of = kEvenFirst ? 2 * at % kAxisTaps + 2 * at / kAxisTaps : at;
        const float2 one = taps[term][of], other = taps[term][kEvenFirst ? of + 2 : of + 1];
        return make_float4(one.x, one.y, other.x, other.y);
      };
      store.put((2 * term + (kEvenFirst ? 1 : 0)) * kPairTaps + i, two(i), two(i + 2));
    }
  }
}

/// A thread for each pair.
template <int kTerms>
__global__ void depth_pairs(const __grid_constant__ DepthPairTask task) {
  extern __shared__ std::uint32_t counts[];
  const CellShape& shape = task.shape;
  const std::size_t of_channel = this_thread(), channel = blockIdx.y;
  for (int strip = threadIdx.x; strip < shape.n_strip(); strip += blockDim.x) counts[strip] = 0;
  __syncthreads();
  const bool exists = of_channel < shape.n_pair();
  const std::size_t pair = channel * shape.n_pair() + of_channel;
  const int2 antennas = antennas_of(shape.n_ant, min(of_channel, shape.n_pair() - 1));
  const double hz = task.hz[channel];
  const double *of_a = task.uvw_s + 3 * antennas.x, *of_b = task.uvw_s + 3 * antennas.y;
  // l falls with x, m rises with y
  const AlongAxis along_x(hz * (of_a[0] - of_b[0]) * task.cell, shape.n_x);
  const AlongAxis along_y(-hz * (of_a[1] - of_b[1]) * task.cell, shape.n_y);
  const double height = hz * (of_a[2] - of_b[2]);
  const auto z = static_cast<float>(kTurn * height);
  float bounds[kTerms];
#pragma unroll
  for (float& bound : bounds) bound = 1;
  const std::size_t even = of_channel / 2 * 2, step = depth_taps(kTerms);
  const PairStore store{task.taps + pair * step, step, even < shape.n_pair(), even + 1 < shape.n_pair()};
  put_taps<kTerms, false>(task, task.x, along_x, z, height * task.cell, 1, store, bounds);
  put_taps<kTerms, true>(task, task.y, along_y, z, height * task.cell, -1, store, bounds);
  if (exists) {
    float peak = 0;
#pragma unroll
    for (const float bound : bounds) peak += bound;
    task.peaks[pair] = peak;
    PairPlace place{};
    place.x = static_cast<std::uint16_t>(along_x.first);
    place.y = static_cast<std::uint16_t>(along_y.first);
    place.n_order = task.outlier_antennas[antennas.x] != 0 || task.outlier_antennas[antennas.y] != 0 ? 0 : 1;
    task.places[pair] = place;
    for_each_strip(shape, place, [&](int strip, int, bool) { atomicAdd(counts + strip, 1u); });
  }
  __syncthreads();
  std::uint32_t* to = task.counts + channel / shape.n_average * shape.n_strip();
  for (int strip = threadIdx.x; strip < shape.n_strip(); strip += blockDim.x)
    if (counts[strip] != 0) atomicAdd(to + strip, counts[strip]);
}

/// A warp for each image.
__global__ void depth_begins(const __grid_constant__ DepthPairTask task) {
  const int n_strip = task.shape.n_strip(), lane = threadIdx.x;
  const std::size_t image = blockIdx.x;
  std::uint32_t before = static_cast<std::uint32_t>(image * kDepthEntries * task.shape.n_grid_pair());
  for (int first = 0; first < n_strip; first += 32) {
    const int strip = first + lane;
    const std::uint32_t count = strip < n_strip ? task.counts[image * n_strip + strip] : 0;
    std::uint32_t sum = count;
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    if (strip < n_strip) {
      task.begins[image * task.n_begin() + strip] = before + sum - count;
      task.next[image * n_strip + strip] = before + sum - count;
    }
    before += __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0) task.begins[image * task.n_begin() + n_strip] = before;
}

/// A thread for each pair. Entries of a block are counted in shared memory, so that the block asks once for
/// each strip.
__global__ void depth_entries(const __grid_constant__ DepthPairTask task) {
  extern __shared__ std::uint32_t places[];
  const CellShape& shape = task.shape;
  const int n_strip = shape.n_strip();
  const std::size_t pair = this_thread(), image = blockIdx.y;
  for (int strip = threadIdx.x; strip < n_strip; strip += blockDim.x) places[strip] = 0;
  __syncthreads();
  PairPlace place{};
  if (pair < shape.n_grid_pair()) place = task.places[image * shape.n_grid_pair() + pair];
  std::uint32_t ranks[kDepthEntries] = {};
  int n = 0;
  for_each_strip(shape, place, [&](int strip, int, bool) {
    const std::uint32_t rank = atomicAdd(places + strip, 1u);
#pragma unroll
    for (int i = 0; i < kDepthEntries; ++i)
      if (i == n) ranks[i] = rank;
    ++n;
  });
  __syncthreads();
  for (int strip = threadIdx.x; strip < n_strip; strip += blockDim.x)
    if (places[strip] != 0) places[strip] = atomicAdd(task.next + image * n_strip + strip, places[strip]);
  __syncthreads();
  n = 0;
  for_each_strip(shape, place, [&](int strip, int, bool mirrored) {
    std::uint32_t rank = 0;
#pragma unroll
    for (int i = 0; i < kDepthEntries; ++i)
      if (i == n) rank = ranks[i];
    ++n;
    const int x = mirrored ? mirrored_cell(place.x, shape.width, shape.n_x) : place.x;
    const int y = mirrored ? mirrored_cell(place.y, shape.width, shape.n_y) : place.y;
    task.entries[places[strip] + rank] =
        strip_entry(shape, PairCode::of(static_cast<std::uint32_t>(pair), mirrored, 1), strip, x, y);
  });
}

template <int kTerms>
void launch(const DepthPairTask& task, std::size_t bytes, cudaStream_t stream) {
  const dim3 grid(blocks_of(task.shape.n_pair()), static_cast<unsigned>(task.n_channel));
  depth_pairs<kTerms><<<grid, kThreads, bytes, stream>>>(task);
}

}  // namespace

void launch_depth_pairs(const DepthPairTask& task, cudaStream_t stream) {
  const auto n_image = static_cast<unsigned>(task.n_channel / task.shape.n_average);
  const std::size_t bytes = static_cast<std::size_t>(task.shape.n_strip()) * sizeof(std::uint32_t);
  cuda_check(cudaMemsetAsync(task.counts, 0, n_image * bytes, stream), "clearing");
  (task.n_term == 1 ? launch<1> : task.n_term == 2 ? launch<2> : launch<3>)(task, bytes, stream);
  launched("placing pairs");
  depth_begins<<<n_image, 32, 0, stream>>>(task);
  launched("counting pairs of strips");
  const dim3 grid(blocks_of(task.shape.n_grid_pair()), n_image);
  depth_entries<<<grid, kThreads, bytes, stream>>>(task);
  launched("listing pairs of strips");
}

}  // namespace apsyn::epic_cuda
