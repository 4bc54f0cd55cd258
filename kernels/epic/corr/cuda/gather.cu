// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/mma.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/corr/cuda/batches.cuh"

namespace apsyn::epic_cuda {
namespace {

/// Batches in shared memory: one that is added, two whose values are on their way, and those on their way.
constexpr int kStages = 8, kValuesAhead = 2;
constexpr int kBatchChunks = kBatchWords / 4;  ///< of 16 bytes
/// Behind a batch, in words: values [q][t][part] of its pairs.
constexpr int kValuesAt = kBatchWords, kStageWords = kBatchWords + kBatchPairs * 8;
constexpr int kWarpsOfSm = 8;  ///< with all registers that a thread can have
/// The largest value of a pair becomes this: halves of small ones keep their 22 bits.
constexpr float kLargestHalf = 256;

__device__ __forceinline__ std::uint32_t bits_of(__half2 halves) {
  return reinterpret_cast<const std::uint32_t&>(halves);
}
__device__ __forceinline__ __half2 as_halves(std::uint32_t bits) {
  return reinterpret_cast<const __half2&>(bits);
}

/// Values of pairs q = 0, 1 and q = 2, 3.
struct FourHalves {
  Halves front, back;
  __device__ __forceinline__ static FourHalves at(const std::uint32_t* words) {
    const uint4 four = *reinterpret_cast<const uint4*>(words);
    return {{as_halves(four.x), as_halves(four.z)}, {as_halves(four.y), as_halves(four.w)}};
  }
  __device__ __forceinline__ FourHalves operator*(const FourHalves& by) const {
    return {front * by.front, back * by.back};
  }
};

/// Lane 4 g + t has column g of the strip in its left operands, part g of the four products in its right
/// ones, and of the sums column g, product t.
struct Gather {
  const GatherTask& task;
  int strip, first_order, image;    // of those that are gathered together
  int first_row_pair, n_list;       // of the first window; lists in turn
  std::uint32_t ends;               // lane i: batches up to the end of list i
  std::uint32_t n_batch, n_before;  // in all; before rows begin anew
  const uint4 *before, *after;      // the lane's chunks of the first batch of each
  std::uint32_t* stages;
  const char* values;                  // the lane's half of the values of the image's first pair
  std::uint32_t copies, value_copies;  // where the lane's chunks go in the first stage
  int code_at;                         // of the pair whose values the lane copies
  float scale, unit;
  int lane, g, t;
  std::uint32_t next = 0;  // batch
  float sums[kWindowPairs][kOrderGroup][4] = {};

  __device__ __forceinline__ const std::uint32_t* stage(std::uint32_t batch) const {
    return stages + batch % kStages * kStageWords;
  }
  __device__ __forceinline__ static std::uint32_t stage_bytes(std::uint32_t batch) {
    return batch % kStages * (kStageWords * 4);
  }

  __device__ __forceinline__ void fetch(std::uint32_t batch) const {
    if (batch >= n_batch) return;
    const uint4* from = (batch < n_before ? before : after) + std::size_t(batch) * kBatchChunks;
    const std::uint32_t to = copies + stage_bytes(batch);
#pragma unroll
    for (int i = 0; i + 32 <= kBatchChunks; i += 32) ptx::copy_16(to + 16 * i, from + i);
    constexpr int kLast = kBatchChunks / 32 * 32;
    if (lane < kBatchChunks - kLast) ptx::copy_16(to + 16 * kLast, from + kLast);
  }

  /// Values of the pairs of a batch that has come.
  __device__ __forceinline__ void fetch_values(std::uint32_t batch) const {
    if (batch >= n_batch) return;
    const PairCode code{stage(batch)[code_at]};
    ptx::copy_16(value_copies + stage_bytes(batch), values + std::size_t(code.pair()) * (4 * sizeof(float2)));
  }

  /// The window begins with sums[kFirst].
  template <int kFirst>
  __device__ __forceinline__ void add() {
    // the values of this batch, and the codes of the one after the next
    ptx::wait_for_copies<1>();
    __syncwarp();
    fetch(next + kStages - 1);
    fetch_values(next + kValuesAhead);
    ptx::commit_copies();
    const std::uint32_t* batch = stage(next);
    const int n_order = PairCode{batch[kCodesAt]}.n_order();
    const uint4 codes = *reinterpret_cast<const uint4*>(batch + kCodesAt + t * 4);
    const std::uint32_t code[4] = {codes.x, codes.y, codes.z, codes.w};
    float scaled[4];
#pragma unroll
    for (int q = 0; q < 4; ++q)
      // (b, a) has the conjugate
      scaled[q] = scale * __uint_as_float(batch[kValuesAt + q * 32 + t * 8 + g] ^
                                          (g % 2 == 1 ? PairCode{code[q]}.sign() : 0u));
    const FourHalves of_pairs{Halves::of(scaled[0], scaled[1]), Halves::of(scaled[2], scaled[3])};
    const FourHalves along_x = FourHalves::at(batch + kAlongXAt + lane * 4);
    std::uint32_t high[kWindowPairs][4], low[kWindowPairs][4];
#pragma unroll
    for (int row = 0; row < kWindowRows; ++row) {
      const FourHalves weight = along_x * FourHalves::at(batch + kAlongYAt + (row * 4 + t) * 4);
      high[row / 2][row % 2] = bits_of(weight.front.high);
      high[row / 2][2 + row % 2] = bits_of(weight.back.high);
      low[row / 2][row % 2] = bits_of(weight.front.low);
      low[row / 2][2 + row % 2] = bits_of(weight.back.low);
    }
#pragma unroll
    for (int two = 0; two < kOrderGroup; two += 2) {
      if (two >= n_order) break;
      FourHalves of[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) of[k] = FourHalves::at(batch + kOrdersAt + ((two + k) * 4 + t) * 4);
#pragma unroll
      for (int k = 0; k < 2; ++k) of[k] = of_pairs * of[k];
      const auto multiply_add = [&](const std::uint32_t(&weights)[kWindowPairs][4], __half2 Halves::*part) {
#pragma unroll
        for (int k = 0; k < 2; ++k)
#pragma unroll
          for (int i = 0; i < kWindowPairs; ++i)
            ptx::mma_f16(sums[(kFirst + i) % kWindowPairs][two + k], weights[i], bits_of(of[k].front.*part),
                         bits_of(of[k].back.*part));
      };
      multiply_add(high, &Halves::high);
      multiply_add(low, &Halves::high);
      multiply_add(high, &Halves::low);
    }
    ++next;
  }

  /// The first two rows of the window are done: to the grid, and they become the last ones.
  __device__ __forceinline__ void store(int row_pair, float (&done)[kOrderGroup][4]) const {
    const CellShape& shape = task.shape;
    const int x = strip * kStripColumns + g;
    float2* to =
        task.cells + std::size_t(image) * shape.n_cell() +
        ((std::size_t(first_order) * shape.n_product + t) * shape.n_y + 2 * row_pair) * shape.n_column + x;
    const std::size_t plane = std::size_t(shape.n_product) * shape.n_y * shape.n_column;
    const bool stored = x < shape.n_column && t < shape.n_product && shape.reaches(2 * row_pair);
#pragma unroll
    for (int order = 0; order < kOrderGroup; ++order) {
      float(&sum)[4] = done[order];
      if (stored && first_order + order < shape.n_order) {
        to[0] = turned(unit * sum[0], unit * sum[1], order);
        to[shape.n_column] = turned(unit * sum[2], unit * sum[3], order);
      }
      to += plane;
#pragma unroll
      for (float& value : sum) value = 0;
    }
  }

  template <int kFirst>
  __device__ __forceinline__ void list(int i) {
    if (i >= n_list) return;
    const std::uint32_t end = __shfl_sync(~0u, ends, i);
    while (next < end) add<kFirst>();
    if (i >= kWindowPairs - 1)
      store(first_row_pair + i, sums[kFirst]);
    else
#pragma unroll
      for (int order = 0; order < kOrderGroup; ++order)
#pragma unroll
        for (float& value : sums[kFirst][order]) value = 0;
  }
};

__global__ __launch_bounds__(32, kWarpsOfSm) void gather_pairs(const __grid_constant__ GatherTask task) {
  static_assert(kWindowPairs == 4);
  __shared__ __align__(16) std::uint32_t stages[kStages * kStageWords];
  const CellShape& shape = task.shape;
  const int lane = threadIdx.x, n_row_pair = shape.n_row_pair();
  const std::size_t segment =
      task.segments[std::size_t(task.first_image) * task.n_image_segment() + blockIdx.x] >> 32;
  const std::size_t all_of = segment / task.n_segment, first_list = all_of * n_row_pair;  // of the strip
  const auto batches_before = [&](int list) {
    const std::size_t i = first_list + list;
    return i == 0 ? 0u : task.batch_ends[i - 1];
  };
  const int first = static_cast<int>(segment % task.n_segment) * task.n_segment_row_pair;
  Gather gather{task};
  gather.strip = static_cast<int>(all_of % shape.n_strip());
  gather.first_order = static_cast<int>(all_of / shape.n_strip() % shape.n_group()) * kOrderGroup;
  const std::size_t image = all_of / shape.n_strip() / shape.n_group();
  gather.image = static_cast<int>(image) - task.first_image;
  gather.first_row_pair = first - (kWindowPairs - 1);
  gather.n_list = min(task.n_segment_row_pair, n_row_pair - first) + kWindowPairs - 1;
  const int row_pair = gather.first_row_pair + lane, own = row_pair < 0 ? row_pair + n_row_pair : row_pair;
  std::uint32_t ends = lane < gather.n_list ? batches_before(own + 1) - batches_before(own) : 0;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(~0u, ends, step);
    if (lane >= step) ends += below;
  }
  gather.ends = ends;
  gather.n_batch = __shfl_sync(~0u, ends, 31);
  gather.n_before = first == 0 ? __shfl_sync(~0u, ends, kWindowPairs - 2) : 0;
  const auto* chunks = reinterpret_cast<const uint4*>(task.batches) + lane;
  const auto begin = static_cast<std::ptrdiff_t>(batches_before(max(gather.first_row_pair, 0)));
  gather.after = chunks + (begin - static_cast<std::ptrdiff_t>(gather.n_before)) * kBatchChunks;
  gather.before = chunks + std::ptrdiff_t{batches_before(n_row_pair - (kWindowPairs - 1))} * kBatchChunks;
  gather.stages = stages;
  // pair 2 t + q % 2 + q / 2 * 8 goes where lanes read value q
  const int pair = lane / 2, t = pair % 8 / 2, q = pair % 2 + pair / 8 * 2;
  gather.values =
      reinterpret_cast<const char*>(task.values + image * shape.n_grid_pair() * 4) + lane % 2 * 16;
  gather.copies = ptx::shared_address(stages) + 16 * lane;
  gather.value_copies = ptx::shared_address(stages) + 4 * (kValuesAt + q * 32 + t * 8 + lane % 2 * 4);
  gather.code_at = kCodesAt + t * 4 + q;
  const float largest = __uint_as_float(task.largest[image]);
  gather.scale = largest > 0 ? kLargestHalf / largest : 0.0f;
  gather.unit = largest / kLargestHalf;
  gather.lane = lane;
  gather.g = lane / 4;
  gather.t = lane % 4;
#pragma unroll
  for (std::uint32_t batch = 0; batch + 1 < kStages; ++batch) gather.fetch(batch);
  ptx::commit_copies();
  ptx::wait_for_copies<0>();
  __syncwarp();
#pragma unroll
  for (std::uint32_t batch = 0; batch < kValuesAhead; ++batch) {
    gather.fetch_values(batch);
    ptx::commit_copies();
  }
  for (int i = 0; i < gather.n_list; i += kWindowPairs) {
    gather.list<0>(i);
    gather.list<1>(i + 1);
    gather.list<2>(i + 2);
    gather.list<3>(i + 3);
  }
  ptx::wait_for_copies<0>();
}

}  // namespace

void launch_gather_pairs(const GatherTask& task, cudaStream_t stream) {
  const auto n_segment = static_cast<unsigned>(task.n_image * task.n_image_segment());
  gather_pairs<<<n_segment, 32, 0, stream>>>(task);
  launched("gridding pairs");
}

}  // namespace apsyn::epic_cuda
