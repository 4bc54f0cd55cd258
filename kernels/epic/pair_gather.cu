// SPDX-License-Identifier: GPL-3.0-or-later
#include <cuda_fp16.h>

#include <algorithm>

#include "kernels/common/device_launch.cuh"
#include "kernels/common/half_ptx.cuh"
#include "kernels/common/sm90_ptx.cuh"
#include "kernels/epic/pair_grid.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kGatherWarps = 4;  ///< of a tile: they take its batches of pairs in turn
constexpr int kBatchPairs = 16;
constexpr int kStages = 3;  ///< batches in shared memory: one that is added, and those on their way
/// Of a record in shared memory, in words: zeros stand on both sides of the values along x and along y, for
/// cells that a pair does not reach. Four records in turn begin in different banks.
constexpr int kSharedTapsX = 8, kSharedTapsY = 24, kSharedValues = 40, kSharedOrders = 48, kSharedPlace = 56;
constexpr int kSharedRecord = 60, kStageWords = kBatchPairs * kSharedRecord;
constexpr int kPairChunks = 8;                           ///< of 16 bytes: taps, values, orders
constexpr int kCopies = kBatchPairs * kPairChunks / 32;  ///< of a lane
constexpr int kWarpOrders = kOrderGroup / kGatherWarps;  ///< that a warp adds up in the end
constexpr int kWarpParts = 2 * kWarpOrders;              ///< of 4 sums
constexpr int kSharedWords =
    std::max(kGatherWarps * kStages * kStageWords, kGatherWarps* kGatherWarps* kWarpParts * 4 * 32);
static_assert(4 * kPairChunks == 2 * kPairTaps + 8 + kOrderGroup && kOrderGroup % kGatherWarps == 0);
/// The largest value of a pair becomes this: halves of small ones keep their 22 bits.
constexpr float kLargestHalf = 256;

__device__ __forceinline__ __half2 as_halves(std::uint32_t bits) {
  return reinterpret_cast<const __half2&>(bits);
}
__device__ __forceinline__ std::uint32_t bits_of(__half2 halves) {
  return reinterpret_cast<const std::uint32_t&>(halves);
}

/// Two numbers in 22 bits each: high + low.
struct Halves {
  __half2 high, low;
  /// Of words of high | low << 16.
  __device__ __forceinline__ static Halves of_words(std::uint32_t first, std::uint32_t second) {
    return {as_halves(__byte_perm(first, second, 0x5410)), as_halves(__byte_perm(first, second, 0x7632))};
  }
  __device__ __forceinline__ static Halves of(float first, float second) {
    const __half2 high = __floats2half2_rn(first, second);
    const float2 back = __half22float2(high);
    return {high, __floats2half2_rn(first - back.x, second - back.y)};
  }
  /// But for low low; what `high` leaves of high high is exact.
  __device__ __forceinline__ Halves operator*(const Halves& by) const {
    const __half2 product = __hmul2(high, by.high);
    const __half2 rest = __hfma2(high, by.high, __hneg2(product));
    return {product, __hfma2(low, by.high, __hfma2(high, by.low, rest))};
  }
  __device__ __forceinline__ Halves flipped(std::uint32_t signs) const {
    return {as_halves(bits_of(high) ^ signs), as_halves(bits_of(low) ^ signs)};
  }
};

/// sum[16 x 8] += a[16 x 16] b[16 x 8] of halves.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], __half2 b0,
                                             __half2 b1) {
  ptx::mma_f16(sum, a, bits_of(b0), bits_of(b1));
}

__device__ __forceinline__ std::uint32_t shared_word(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

/// Where a pair's values begin for the first cell of a tile, and how far that of the next cell is: addresses
/// in bytes, in shared memory. The signs of two halves are set where the pair is mirrored.
struct __align__(16) TilePlace {
  std::uint32_t along_x, along_y;
  std::int32_t step;
  std::uint32_t signs;
};

/// Pairs that a warp adds at a time: lane % 16 has the code of one. No orders: there are none.
struct Batch {
  std::uint32_t code = 0;
  int n_order = 0;
};

/// Of 8 x 4 cells; lane 4 g + t has rows of column g in its left operands, part
/// g of the four products in its right ones, and of the sums column g, product
/// t. Four pairs of each batch are its own: 2 t, 2 t + 1, 2 t + 8, 2 t + 9.
struct Gather {
  const GatherTask& task;
  const char* chunks;         // the lane's one of the channel's first pair
  std::uint32_t chunk_bytes;  // from a pair to the next
  std::uint32_t copies;       // where the chunk goes in the first stage
  float scale;
  int first_order;
  int lane, g, t;
  std::uint32_t conjugate;  // the sign of imaginary parts
  std::uint32_t end;
  float sums[2][kOrderGroup][4] = {};

  /// Pairs past the end touch no cell. Orders of a batch are those of its first pair, which has the most.
  __device__ __forceinline__ Batch batch(std::uint32_t begin) const {
    if (begin >= end) return {};
    const std::uint32_t at = begin + lane % kBatchPairs;
    const std::uint32_t code = task.codes[min(at, end - 1)];
    return {at < end ? code : PairCode::none(code), task.counts[begin] - first_order};
  }

  __device__ __forceinline__ void fetch(std::uint32_t bits, std::uint32_t* stages, int stage) const {
    const PairCode code{bits};
    const std::uint32_t to = copies + stage * (kStageWords * 4), pair = code.pair();
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      constexpr int kAtOnce = 32 / kPairChunks;
      const std::uint32_t which = __shfl_sync(~0u, pair, i * kAtOnce + lane / kPairChunks);
      ptx::copy_chunk(to + i * kAtOnce * kSharedRecord * 4, chunks + std::uint64_t{which} * chunk_bytes);
    }
    if (lane >= kBatchPairs) return;
    std::uint32_t* record = stages + stage * kStageWords + lane * kSharedRecord;
    const std::uint32_t address = ptx::shared_address(record);
    *reinterpret_cast<TilePlace*>(record + kSharedPlace) = {
        address + 4 * (kSharedTapsX + code.tap_x()), address + 4 * (kSharedTapsY + code.tap_y()),
        code.mirrored() ? -4 : 4, code.mirrored() ? 0x80008000u : 0u};
  }

  __device__ __forceinline__ void add(int n_order, const std::uint32_t* stage) {
    std::uint32_t of_x[4], of_y[4][4], signs[4];
    float value[4];
    const std::uint32_t* own = stage + 2 * t * kSharedRecord;
    const auto record = [&](int q) { return own + (q % 2 + q / 2 * 8) * kSharedRecord; };
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const TilePlace place = *reinterpret_cast<const TilePlace*>(record(q) + kSharedPlace);
      of_x[q] = shared_word(place.along_x + place.step * g);
#pragma unroll
      for (int row = 0; row < 4; ++row) of_y[q][row] = shared_word(place.along_y + row * place.step);
      // (b, a) has the conjugate
      value[q] = __uint_as_float(__float_as_uint(scale) ^ (place.signs & conjugate)) *
                 __uint_as_float(record(q)[kSharedValues + g]);
      signs[q] = place.signs;
    }
    std::uint32_t high[2][4], low[2][4];
#pragma unroll
    for (int q = 0; q < 4; q += 2) {
      const Halves x = Halves::of_words(of_x[q], of_x[q + 1]);
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        const Halves weight = x * Halves::of_words(of_y[q][row], of_y[q + 1][row]);
        high[row / 2][q + row % 2] = bits_of(weight.high);
        low[row / 2][q + row % 2] = bits_of(weight.low);
      }
    }
    const Halves front = Halves::of(value[0], value[1]), back = Halves::of(value[2], value[3]);
    // and the opposite w: odd orders change sign
    const Halves odd_front = front.flipped((signs[0] & 0xFFFFu) | (signs[1] & 0xFFFF0000u));
    const Halves odd_back = back.flipped((signs[2] & 0xFFFFu) | (signs[3] & 0xFFFF0000u));
#pragma unroll
    for (int two = 0; two < kOrderGroup; two += 2) {
      if (two >= n_order) break;
      uint2 factor[4];
#pragma unroll
      for (int q = 0; q < 4; ++q)
        factor[q] = *reinterpret_cast<const uint2*>(record(q) + kSharedOrders + two);
      const Halves even[2] = {front * Halves::of_words(factor[0].x, factor[1].x),
                              back * Halves::of_words(factor[2].x, factor[3].x)};
      const Halves odd[2] = {odd_front * Halves::of_words(factor[0].y, factor[1].y),
                             odd_back * Halves::of_words(factor[2].y, factor[3].y)};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(sums[half][two], high[half], even[0].high, even[1].high);
        multiply_add(sums[half][two + 1], high[half], odd[0].high, odd[1].high);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(sums[half][two], low[half], even[0].high, even[1].high);
        multiply_add(sums[half][two + 1], low[half], odd[0].high, odd[1].high);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(sums[half][two], high[half], even[0].low, even[1].low);
        multiply_add(sums[half][two + 1], high[half], odd[0].low, odd[1].low);
      }
    }
  }

  /// (-i)^order times the sum.
  __device__ __forceinline__ static float2 turned(float re, float im, int order) {
    switch (order % 4) {
      case 0:
        return make_float2(re, im);
      case 1:
        return make_float2(im, -re);
      case 2:
        return make_float2(-re, -im);
      default:
        return make_float2(-im, re);
    }
  }

  /// Sums of all warps, in their order, of the warp's share of orders, to the grid.
  __device__ __forceinline__ void store(float4* parts, int tile, float unit, float2* cells) const {
    const CellShape& shape = task.shape;
    const int warp = threadIdx.x / 32;
    const auto part = [&](int of, int from, int i) -> float4& {
      return parts[((of * kGatherWarps + from) * kWarpParts + i) * 32 + lane];
    };
#pragma unroll
    for (int order = 0; order < kOrderGroup; ++order)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float(&sum)[4] = sums[half][order];
        part(order / kWarpOrders, warp, order % kWarpOrders * 2 + half) =
            make_float4(sum[0], sum[1], sum[2], sum[3]);
      }
    __syncthreads();
    const int x = tile % shape.n_tile_x() * kCellTileX + g, first_y = tile / shape.n_tile_x() * kCellTileY;
    if (x >= shape.n_column || t >= shape.n_product) return;
#pragma unroll
    for (int i = 0; i < kWarpParts; ++i) {
      const int order = first_order + warp * kWarpOrders + i / 2, y = first_y + i % 2 * 2;
      if (order >= shape.n_order) break;
      float4 sum = part(warp, 0, i);
#pragma unroll
      for (int from = 1; from < kGatherWarps; ++from) {
        const float4 other = part(warp, from, i);
        sum = make_float4(sum.x + other.x, sum.y + other.y, sum.z + other.z, sum.w + other.w);
      }
      float2* to = cells + ((std::size_t(order) * shape.n_product + t) * shape.n_y + y) * shape.n_column + x;
      if (y < shape.n_y) to[0] = turned(unit * sum.x, unit * sum.y, order);
      if (y + 1 < shape.n_y) to[shape.n_column] = turned(unit * sum.z, unit * sum.w, order);
    }
  }
};

/// A block for each tile; blockIdx.y counts groups of orders.
__global__ __launch_bounds__(32 * kGatherWarps,
                             4) void gather_pairs(const __grid_constant__ GatherTask task) {
  __shared__ __align__(16) std::uint32_t shared[kSharedWords];
  const CellShape& shape = task.shape;
  const int tile = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::size_t channel = task.first_channel + blockIdx.z;
  const float largest = __uint_as_float(task.largest[channel]);
  const std::uint32_t* begins = task.begins + channel * shape.n_tile() + tile;
  const int first_order = blockIdx.y * kOrderGroup, chunk = lane % kPairChunks;
  std::uint32_t* stages = shared + warp * kStages * kStageWords;
  Gather gather{task};
  const bool of_values = chunk == 4 || chunk == 5;
  const std::size_t first_pair = channel * shape.n_pair();
  if (of_values) {
    gather.chunks = reinterpret_cast<const char*>(task.values + 4 * first_pair) + 16 * (chunk - 4);
    gather.chunk_bytes = 4 * sizeof(float2);
  } else {
    gather.chunks =
        reinterpret_cast<const char*>(task.records + first_pair * shape.record_words() +
                                      (chunk < 4 ? 4 * chunk : kOrdersAt + first_order + 4 * (chunk - 6)));
    gather.chunk_bytes = shape.record_words() * 4;
  }
  gather.copies = ptx::shared_address(stages + lane / kPairChunks * kSharedRecord +
                                      (chunk < 2   ? kSharedTapsX + 4 * chunk
                                       : chunk < 4 ? kSharedTapsY + 4 * (chunk - 2)
                                                   : kSharedValues + 4 * (chunk - 4)));
  gather.scale = largest > 0 ? kLargestHalf / largest : 0.0f;
  gather.first_order = first_order;
  gather.lane = lane;
  gather.g = lane / 4;
  gather.t = lane % 4;
  gather.conjugate = gather.g % 2 == 1 ? 0x80000000u : 0u;
  gather.end = begins[1];
  constexpr std::uint32_t kStep = kGatherWarps * kBatchPairs;
  std::uint32_t begin = begins[0] + warp * kBatchPairs;
  // of the stages, and of the one after them, whose codes come while others are added
  Batch batches[kStages + 1];
#pragma unroll
  for (int i = 0; i < kStages; ++i) batches[i] = gather.batch(begin + i * kStep);
#pragma unroll
  for (int i = 0; i < kStages * kStageWords / 4; i += 32)
    if (i + lane < kStages * kStageWords / 4) reinterpret_cast<uint4*>(stages)[i + lane] = uint4{};
  __syncwarp();
#pragma unroll
  for (int i = 0; i + 1 < kStages; ++i) {
    if (batches[i].n_order > 0) gather.fetch(batches[i].code, stages, i);
    ptx::end_of_stage();
  }
  for (int stage = 0; batches[0].n_order > 0; begin += kStep) {
    ptx::wait_for_stage<kStages - 2>();
    __syncwarp();
    if (batches[kStages - 1].n_order > 0)
      gather.fetch(batches[kStages - 1].code, stages, stage == 0 ? kStages - 1 : stage - 1);
    ptx::end_of_stage();
    batches[kStages] = gather.batch(begin + kStages * kStep);
    gather.add(batches[0].n_order, stages + stage * kStageWords);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kStages; ++i) batches[i] = batches[i + 1];
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  ptx::wait_for_stage<0>();
  __syncthreads();
  gather.store(reinterpret_cast<float4*>(shared), tile, largest / kLargestHalf,
               task.cells + blockIdx.z * shape.n_cell());
}

}  // namespace

void launch_gather_pairs(const GatherTask& task, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(task.shape.n_tile()), static_cast<unsigned>(task.shape.n_group()),
                  static_cast<unsigned>(task.n_channel));
  gather_pairs<<<grid, 32 * kGatherWarps, 0, stream>>>(task);
  launched("gridding pairs");
}

}  // namespace apsyn::epic_cuda
