// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/common/cuda/sm90/async_copy.cuh"
#include "kernels/common/cuda/sm90/shared_memory.cuh"
#include "kernels/epic/corr/cuda/order_target.cuh"
#include "kernels/epic/corr/cuda/site_taps.cuh"

namespace apsyn::epic_cuda {
namespace {

constexpr int kTileX = 32, kTileY = 16, kTileThreads = kTileX * kTileY;  ///< pixels
constexpr int kTileColumns = 64, kTileRows = 40;                         ///< sites
constexpr int kCopies = kTileColumns * kTileRows / kTileThreads;         ///< of a thread
constexpr int kImagesOfTile = 16;  ///< with the same weights, one after the other

/// The sites that a block's pixels have.
struct TileSites {
  int x, y, n_x, n_y;  // the first, from the grid's first cell on, and how many
  __device__ __forceinline__ bool fit() const { return n_x <= kTileColumns && n_y <= kTileRows; }
};
__device__ __forceinline__ TileSites sites_of(int x, int y) {
  __shared__ int low_x, low_y, high_x, high_y;
  if (threadIdx.x == 0) {
    low_x = high_x = x;
    low_y = high_y = y;
  }
  __syncthreads();
  const int from_x = __reduce_min_sync(~0u, x), from_y = __reduce_min_sync(~0u, y);
  const int to_x = __reduce_max_sync(~0u, x), to_y = __reduce_max_sync(~0u, y);
  if (threadIdx.x % 32 == 0) {
    atomicMin(&low_x, from_x);
    atomicMin(&low_y, from_y);
    atomicMax(&high_x, to_x);
    atomicMax(&high_y, to_y);
  }
  __syncthreads();
  return {low_x, low_y, high_x - low_x + kSiteTaps, high_y - low_y + kSiteTaps};
}

template <class Site>
__device__ __forceinline__ float interpolated(const SiteTaps& along_x, const SiteTaps& along_y,
                                              const Site& site) {
  float value = 0;
#pragma unroll
  for (int i = 0; i < kSiteTaps; ++i) {
    float of_row = 0;
#pragma unroll
    for (int j = 0; j < kSiteTaps; ++j) of_row = fmaf(along_x.of[j], site(i, j), of_row);
    value = fmaf(along_y.of[i], of_row, value);
  }
  return value;
}

/// A thread for each pixel of a tile, a block for some images of it. Sites of the next image are on their way
/// while those of one are read.
__global__ __launch_bounds__(kTileThreads, 2) void site_tiles(const __grid_constant__ SiteTask task) {
  __shared__ float sites[2][kTileColumns * kTileRows];
  const CellShape& shape = task.shape;
  const int n_tile = (task.nx + kTileX - 1) / kTileX;
  const int column = static_cast<int>(blockIdx.x) % n_tile * kTileX + static_cast<int>(threadIdx.x) % kTileX;
  const int row = static_cast<int>(blockIdx.x) / n_tile * kTileY + static_cast<int>(threadIdx.x) / kTileX;
  const bool exists = column < task.nx && row < task.ny;
  const std::size_t pixel = std::size_t(row) * task.nx + column;
  const PixelAmongSites among(task, min(column, task.nx - 1), min(row, task.ny - 1));
  const SiteTaps along_x(task, among.x, shape.n_x, task.of_column);
  const SiteTaps along_y(task, among.y, shape.n_y, task.of_row);
  const TileSites tile = sites_of(along_x.first, along_y.first);
  const std::size_t plane = std::size_t(shape.n_x) * shape.n_y;
  const int n = task.n_image * shape.n_product, first = static_cast<int>(blockIdx.y) * kImagesOfTile;
  const int end = min(first + kImagesOfTile, n);
  const auto put = [&](int at, float value) {
    if (!exists) return;
    const ProductTarget target(task.target, at / shape.n_product, at % shape.n_product);
    if (target.plane() != nullptr)
      target.plane()[pixel] = fmaf(target.scale(), value, target.offset());
    else
      target.put_at(pixel, value);
  };
  if (!tile.fit()) {
    for (int at = first; at < end; ++at) {
      const float* from = task.images + at * plane;
      put(at, interpolated(along_x, along_y, [&](int i, int j) {
            return __ldg(from + around(along_y.first + i, shape.n_y) * shape.n_x +
                         around(along_x.first + j, shape.n_x));
          }));
    }
    return;
  }
  int copied[kCopies];  // from where; -1: nothing
#pragma unroll
  for (int copy = 0; copy < kCopies; ++copy) {
    const int i = copy * kTileThreads + static_cast<int>(threadIdx.x);
    const int y = i / kTileColumns, x = i % kTileColumns;
    copied[copy] = x < tile.n_x && y < tile.n_y
                       ? around(tile.y + y, shape.n_y) * shape.n_x + around(tile.x + x, shape.n_x)
                       : -1;
  }
  const auto fetch = [&](int at) {
    const float* from = task.images + at * plane;
    const std::uint32_t to = ptx::shared_address(sites[at % 2]) + 4 * threadIdx.x;
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy)
      if (copied[copy] >= 0)
        ptx::copy_cached_or_zeros<4>(to + 4 * copy * kTileThreads, from + copied[copy], true);
    ptx::commit_copies();
  };
  const int corner = (along_y.first - tile.y) * kTileColumns + along_x.first - tile.x;
  fetch(first);
  for (int at = first; at < end; ++at) {
    ptx::wait_for_copies<0>();
    __syncthreads();
    if (at + 1 < end) fetch(at + 1);
    const float* from = sites[at % 2] + corner;
    put(at, interpolated(along_x, along_y, [&](int i, int j) { return from[i * kTileColumns + j]; }));
  }
}

}  // namespace

void launch_site_tiles(const SiteTask& task, cudaStream_t stream) {
  const auto n_tile =
      static_cast<unsigned>((task.nx + kTileX - 1) / kTileX * ((task.ny + kTileY - 1) / kTileY));
  const int n = task.n_image * task.shape.n_product;
  const dim3 grid(n_tile, static_cast<unsigned>((n + kImagesOfTile - 1) / kImagesOfTile));
  site_tiles<<<grid, kTileThreads, 0, stream>>>(task);
  launched("interpolating pixels");
}

}  // namespace apsyn::epic_cuda
