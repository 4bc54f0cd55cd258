// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/batches.cuh"

#include "kernels/common/cuda/launch.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kFillWarps = 4, kFillBatches = 2;  ///< of a block; of a warp at a time

/// keys: code of the pair, its list and the orders that it lacks there.
__global__ void list_keys_of(ListTask task) {
  const CellShape& shape = task.shape;
  const std::size_t pair = this_thread();
  if (pair >= shape.n_grid_pair()) return;
  const std::size_t image = blockIdx.y, at = image * shape.n_grid_pair() + pair;
  const PairPlace place = task.places[at];
  std::uint64_t* to = task.keys + (at == 0 ? 0 : task.ends[at - 1]);
  const int n_order = static_cast<int>(place.n_order);
  for_each_strip(shape, place, [&](int strip, int row_pair, bool mirrored) {
    for (int first = 0, group = 0; first < n_order; first += kOrderGroup, ++group) {
      const std::uint64_t list =
          ((image * shape.n_group() + group) * shape.n_strip() + strip) * shape.n_row_pair() + row_pair;
      const int n = min(n_order - first, kOrderGroup);
      *to++ = std::uint64_t(PairCode::of(static_cast<std::uint32_t>(pair), mirrored, n).bits) << 32 |
              (list * (kOrderGroup + 1) + (kOrderGroup - n));
    }
  });
}

__global__ void lists_of(ListTask task) {
  const std::size_t entry = this_thread();
  if (entry > task.n_entry) return;
  const auto list = [&](std::size_t i) {
    return static_cast<std::uint32_t>(task.sorted[i]) / (kOrderGroup + 1);
  };
  const std::uint32_t here = entry < task.n_entry ? list(entry) : task.n_list();
  for (std::uint32_t i = entry == 0 ? 0 : list(entry - 1) + 1; i <= here; ++i)
    task.begins[i] = static_cast<std::uint32_t>(entry);
}

__global__ void count_batches(ListTask task) {
  const auto list = static_cast<int>(this_thread());
  if (list < task.n_list())
    task.batch_ends[list] = (task.begins[list + 1] - task.begins[list] + kBatchPairs - 1) / kBatchPairs;
}

/// One pair of a batch: lane 4 g + t keeps half `odd` of the words of its q.
struct BatchPair {
  std::uint16_t* batch;  // its first half
  int t, q;
  __device__ __forceinline__ BatchPair(std::uint32_t* batch, int entry)
      : batch(reinterpret_cast<std::uint16_t*>(batch)), t(entry % 8 / 2), q(entry % 2 + entry / 8 * 2) {}
  /// Number i of the section: high | low << 16.
  __device__ __forceinline__ void put(int section, int i, std::uint32_t halves) const {
    std::uint16_t* to = batch + 2 * (section + (i * 4 + t) * 4 + q / 2) + q % 2;
    to[0] = static_cast<std::uint16_t>(halves);
    to[4] = static_cast<std::uint16_t>(halves >> 16);
  }
};

__device__ __forceinline__ std::uint32_t halves_of(float value) {
  const __half high = __float2half_rn(value), low = __float2half_rn(value - __half2float(high));
  return __half_as_ushort(high) | static_cast<std::uint32_t>(__half_as_ushort(low)) << 16;
}

/// The kernel at cells first, first + 1, ... of its own; a mirrored one counts backwards.
__device__ __forceinline__ void put_taps(const ListTask& task, const BatchPair& to, int section, int first,
                                         float along, bool mirrored) {
  const int width = task.shape.width;
  for (int i = 0; i < 8; ++i) {
    const int cell = first + i, tap = mirrored ? width - 1 - cell : cell;
    float value = 0;
    if (cell >= 0 && cell < width)
      for (int power = task.n_power; power-- > 0;)
        value = fmaf(value, along, task.taps[power * kPairTaps + tap]);
    to.put(section, i, halves_of(value));
  }
}

/// A warp for each list.
__global__ __launch_bounds__(32 * kFillWarps) void fill_batches(ListTask task) {
  static_assert(kStripColumns == 8 && kWindowRows == 8);
  __shared__ __align__(16) std::uint32_t shared[kFillWarps][kFillBatches * kBatchWords];
  const CellShape& shape = task.shape;
  const int list = static_cast<int>(blockIdx.x) * kFillWarps + static_cast<int>(threadIdx.x) / 32;
  if (list >= task.n_list()) return;
  const int lane = threadIdx.x % 32;
  std::uint32_t* staged = shared[threadIdx.x / 32];
  const int row_pair = list % shape.n_row_pair(), strip = list / shape.n_row_pair() % shape.n_strip();
  const int group = list / shape.n_row_pair() / shape.n_strip() % shape.n_group();
  const std::size_t image = list / shape.n_list();
  const std::uint32_t first_batch = list == 0 ? 0 : task.batch_ends[list - 1],
                      n_batch = task.batch_ends[list] - first_batch, end = task.begins[list + 1];
  auto* to = reinterpret_cast<uint4*>(task.batches) + std::size_t(first_batch) * (kBatchWords / 4);
  for (std::uint32_t batch = 0; batch < n_batch; batch += kFillBatches) {
    std::uint32_t* own = staged + lane / kBatchPairs * kBatchWords;
    const BatchPair put(own, lane % kBatchPairs);
    const std::uint32_t entry = task.begins[list] + batch * kBatchPairs + lane;
    const PairCode code{entry < end ? static_cast<std::uint32_t>(task.sorted[entry] >> 32) : 0u};
    own[kCodesAt + put.t * 4 + put.q] = code.bits;
    if (code.n_order() == 0) {
      for (int i = 0; i < 8; ++i)
        for (const int section : {kAlongXAt, kAlongYAt, kOrdersAt}) put.put(section, i, 0);
    } else {
      const std::size_t pair = image * shape.n_grid_pair() + code.pair();
      const PairPlace place = task.places[pair];
      const bool mirrored = code.sign() != 0;
      const int x = mirrored ? mirrored_cell(place.x, shape.width, shape.n_x) : place.x;
      const int y = mirrored ? mirrored_cell(place.y, shape.width, shape.n_y) : place.y;
      const int off = strip * kStripColumns - x;  // the nearest way round
      const int column = 2 * off > shape.n_x ? off - shape.n_x : 2 * off < -shape.n_x ? off + shape.n_x : off;
      put_taps(task, put, kAlongXAt, column, place.along_x, mirrored);
      put_taps(task, put, kAlongYAt, 2 * row_pair - y, place.along_y, mirrored);
      const auto* orders =
          reinterpret_cast<const uint4*>(task.orders + (pair * shape.n_group() + group) * kOrderGroup);
      // the opposite w: odd orders change sign
      const std::uint32_t odd = mirrored ? 0x80008000u : 0u;
      for (int i = 0; i < kOrderGroup; i += 4) {
        const uint4 four = orders[i / 4];
        put.put(kOrdersAt, i, four.x);
        put.put(kOrdersAt, i + 1, four.y ^ odd);
        put.put(kOrdersAt, i + 2, four.z);
        put.put(kOrdersAt, i + 3, four.w ^ odd);
      }
    }
    __syncwarp();
    const int n_chunk = min(n_batch - batch, std::uint32_t{kFillBatches}) * (kBatchWords / 4);
    for (int chunk = lane; chunk < n_chunk; chunk += 32)
      to[std::size_t(batch) * (kBatchWords / 4) + chunk] = reinterpret_cast<const uint4*>(staged)[chunk];
    __syncwarp();
  }
}

__global__ void segment_keys_of(GatherTask task, int n_table, std::uint64_t* keys) {
  const auto segment = static_cast<int>(this_thread());
  if (segment >= n_table * task.n_image_segment()) return;
  const CellShape& shape = task.shape;
  const int first = segment % task.n_segment * task.n_segment_row_pair;
  const int end = min(first + task.n_segment_row_pair, shape.n_row_pair());
  const int list = segment / task.n_segment * shape.n_row_pair();  // the strip's first
  std::uint32_t n_batch = 0;
  for (int i = first - (kWindowPairs - 1); i < end; ++i) {
    const int at = list + (i < 0 ? i + shape.n_row_pair() : i);
    n_batch += task.batch_ends[at] - (at == 0 ? 0 : task.batch_ends[at - 1]);
  }
  constexpr std::uint32_t kMax = 0xFFFF;
  const std::uint32_t part = segment / task.n_image_segment() / task.n_image;
  keys[segment] = std::uint64_t(segment) << 32 | part << 16 | (kMax - min(n_batch, kMax));
}

}  // namespace

void launch_list_keys(const ListTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of(task.shape.n_grid_pair()), static_cast<unsigned>(task.n_image));
  list_keys_of<<<grid, kThreads, 0, stream>>>(task);
  launched("listing pairs");
}

void launch_lists(const ListTask& task, cudaStream_t stream) {
  lists_of<<<blocks_of(std::size_t(task.n_entry) + 1), kThreads, 0, stream>>>(task);
  launched("listing pairs");
  count_batches<<<blocks_of(static_cast<std::size_t>(task.n_list())), kThreads, 0, stream>>>(task);
  launched("listing pairs");
}

void launch_batches(const ListTask& task, cudaStream_t stream) {
  const int n_block = (task.n_list() + kFillWarps - 1) / kFillWarps;
  fill_batches<<<static_cast<unsigned>(n_block), 32 * kFillWarps, 0, stream>>>(task);
  launched("batching pairs");
}

void launch_segment_keys(const GatherTask& task, int n_table, std::uint64_t* keys, cudaStream_t stream) {
  segment_keys_of<<<blocks_of(static_cast<std::size_t>(n_table * task.n_image_segment())), kThreads, 0,
                    stream>>>(task, n_table, keys);
  launched("listing segments");
}

}  // namespace apsyn::epic_cuda
