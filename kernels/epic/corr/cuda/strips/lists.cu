// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/strips/entry.cuh"

namespace apsyn::epic_cuda {
namespace {

/// A row counted from the one farthest from row 0, near which most pairs are.
__device__ __forceinline__ int from_middle(int row, int n_y) {
  return wrapped(row + n_y / 2, n_y);
}

/// keys: code of the pair, its strip and its row.
__global__ void strip_keys_of(StripListTask task) {
  const CellShape& shape = task.shape;
  const std::size_t pair = this_thread();
  if (pair >= shape.n_grid_pair()) return;
  const std::size_t image = blockIdx.y, at = image * shape.n_grid_pair() + pair;
  const PairPlace place = task.places[at];
  std::uint64_t* to = task.keys + (at == 0 ? 0 : task.ends[at - 1]);
  const int n_order = min(static_cast<int>(place.n_order), kManyOrders);
  for_each_strip(shape, place, [&](int strip, int, bool mirrored) {
    const int y = mirrored ? mirrored_cell(place.y, shape.width, shape.n_y) : place.y;
    *to++ = std::uint64_t(PairCode::of(static_cast<std::uint32_t>(pair), mirrored, n_order).bits) << 32 |
            ((image * shape.n_strip() + strip) * shape.n_y + from_middle(y, shape.n_y));
  });
}

/// The kernel `along` an axis; a mirrored one is turned over.
__device__ __forceinline__ void put_kernel(const StripListTask& task, float along, bool mirrored, float* to) {
  const int width = task.shape.width;
  float of[kPairTaps];
#pragma unroll
  for (int tap = 0; tap < kPairTaps; ++tap) {
    float value = 0;
    for (int power = task.n_power; power-- > 0;)
      value = fmaf(value, along, task.taps[power * kPairTaps + (mirrored ? max(width - 1 - tap, 0) : tap)]);
    of[tap] = tap < width ? value : 0;
  }
#pragma unroll
  for (int tap = 0; tap < kPairTaps; tap += 4)
    *reinterpret_cast<float4*>(to + tap) = make_float4(of[tap], of[tap + 1], of[tap + 2], of[tap + 3]);
}

/// A thread for each entry, and one more: what it is, and where lists begin.
__global__ void strip_entries_of(StripListTask task) {
  const CellShape& shape = task.shape;
  const std::size_t i = this_thread();
  if (i > task.n_entry) return;
  const auto list_of = [&](std::size_t entry) {
    return static_cast<std::uint32_t>(task.sorted[entry]) / static_cast<std::uint32_t>(shape.n_y);
  };
  const std::uint32_t list = i < task.n_entry ? list_of(i) : task.n_list();
  for (std::uint32_t begun = i == 0 ? 0 : list_of(i - 1) + 1; begun <= list; ++begun)
    task.begins[begun] = static_cast<std::uint32_t>(i);
  if (i == task.n_entry) return;
  const PairCode code{static_cast<std::uint32_t>(task.sorted[i] >> 32)};
  const std::size_t image = list / shape.n_strip();
  const int strip = static_cast<int>(list % shape.n_strip());
  const PairPlace place = task.places[image * shape.n_grid_pair() + code.pair()];
  const bool mirrored = code.sign() != 0;
  const int x = mirrored ? mirrored_cell(place.x, shape.width, shape.n_x) : place.x;
  const auto row =
      static_cast<int>(static_cast<std::uint32_t>(task.sorted[i]) % static_cast<std::uint32_t>(shape.n_y));
  task.entries[i] = strip_entry(shape, code, strip, x, row);
  put_kernel(task, place.along_x, mirrored, task.entry_taps + i * kEntryTaps);
  put_kernel(task, place.along_y, mirrored, task.entry_taps + i * kEntryTaps + kPairTaps);
}

}  // namespace

void launch_strip_keys(const StripListTask& task, cudaStream_t stream) {
  const dim3 grid(blocks_of(task.shape.n_grid_pair()), static_cast<unsigned>(task.n_image));
  strip_keys_of<<<grid, kThreads, 0, stream>>>(task);
  launched("listing pairs of strips");
}

void launch_strip_entries(const StripListTask& task, cudaStream_t stream) {
  strip_entries_of<<<blocks_of(std::size_t(task.n_entry) + 1), kThreads, 0, stream>>>(task);
  launched("listing pairs of strips");
}

}  // namespace apsyn::epic_cuda
