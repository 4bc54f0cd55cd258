// SPDX-License-Identifier: GPL-3.0-or-later
// One pass over the image each: limited by device memory.
#include <cub/block/block_reduce.cuh>

#include "kernels/clean/cuda/search_values.cuh"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::clean_cuda {
namespace {

constexpr int kBlock = 256;
constexpr unsigned kMaxBlocks = 4096;  ///< each goes round, so that a block's sums are worth it

unsigned grid_of(std::size_t n) {
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
  return static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
}

__device__ std::size_t first_pixel() {
  return std::size_t(blockIdx.x) * kBlock + threadIdx.x;
}
__device__ std::size_t pixel_step() {
  return std::size_t(gridDim.x) * kBlock;
}

__global__ void search_image_kernel(SearchPlanes planes, float* out) {
  for (std::size_t i = first_pixel(); i < planes.n_pixel; i += pixel_step()) out[i] = search_value(planes, i);
}

__global__ void __launch_bounds__(kBlock) peak_kernel(SearchPlanes planes, PeakKey* best) {
  using Reduce = cub::BlockReduce<PeakKey, kBlock>;
  __shared__ typename Reduce::TempStorage scratch;
  PeakKey key = 0;
  for (std::size_t i = first_pixel(); i < planes.n_pixel; i += pixel_step())
    key = larger(key, peak_key(height_at(planes, i, search_value(planes, i)), static_cast<std::uint32_t>(i)));
  key = Reduce(scratch).Reduce(key, [](PeakKey a, PeakKey b) { return larger(a, b); });
  if (threadIdx.x == 0 && key != 0) atomicMax(best, key);
}

__global__ void __launch_bounds__(kBlock)
    levels_kernel(SearchPlanes planes, float to_level, int n_levels, std::uint32_t* counts) {
  __shared__ std::uint32_t own[kMaxLevels];
  for (int i = threadIdx.x; i < n_levels; i += kBlock) own[i] = 0;
  __syncthreads();
  for (std::size_t i = first_pixel(); i < planes.n_pixel; i += pixel_step()) {
    const float height = height_at(planes, i, search_value(planes, i));
    if (height > 0) atomicAdd(own + n_levels - 1 - min(n_levels - 1, int(__fmul_rn(height, to_level))), 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n_levels; i += kBlock)
    if (own[i] > 0) atomicAdd(counts + i, own[i]);
}

__global__ void select_kernel(SearchPlanes planes, Selection to) {
  const std::size_t n_round = (planes.n_pixel + pixel_step() - 1) / pixel_step();
  for (std::size_t round = 0; round < n_round; ++round) {
    const std::size_t i = first_pixel() + round * pixel_step();
    const bool takes = i < planes.n_pixel && height_at(planes, i, search_value(planes, i)) > to.cutoff;
    // one addition for a warp's pixels, which stay neighbours
    const unsigned taking = __ballot_sync(0xffffffffu, takes);
    if (taking == 0) continue;
    const int lane = threadIdx.x % 32;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(to.count, __popc(taking));
    const std::uint32_t at = __shfl_sync(0xffffffffu, first, 0) + __popc(taking & ((1u << lane) - 1));
    if (!takes || to.index == nullptr || at >= to.capacity) continue;
    to.index[at] = static_cast<std::uint32_t>(i);
    to.search_weight[at] = planes.search_weight != nullptr ? planes.search_weight[i] : 1;
    for (int p = 0; p < planes.n_group * planes.n_pol; ++p)
      to.values[std::size_t(p) * to.capacity + at] = planes.values[p * planes.stride + i];
  }
}

__global__ void scatter_kernel(const std::uint32_t* index, const float* flux, std::size_t step,
                               std::uint32_t n, float* image) {
  const std::size_t i = first_pixel();
  if (i < n) image[index[i]] = flux[i * step];
}

/// Row and column of a padded array in the one that was placed there; outside: false.
__device__ bool unplaced(const Placement& place, int height, int width, int y, int x, int& from_y,
                         int& from_x) {
  const auto after = [](int at, int first, int n) { return ((at - first) % n + n) % n + first; };
  from_y = after(y - place.origin_y, place.first_y, height);
  from_x = after(x - place.origin_x, place.first_x, width);
  return from_y < place.last_y && from_x < place.last_x;
}

__global__ void pad_kernel(const float* from, int nx, Placement place, float* padded, int height, int width) {
  const int x = blockIdx.x * kBlock + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    int from_y = 0, from_x = 0;
    const bool inside = unplaced(place, height, width, y, x, from_y, from_x);
    padded[std::size_t(y) * width + x] = inside ? from[std::size_t(from_y) * nx + from_x] : 0;
  }
}

__global__ void crop_kernel(const float* padded, int height, int width, Placement place, float* to, int nx) {
  const int x = place.first_x + static_cast<int>(blockIdx.x * kBlock + threadIdx.x);
  if (x >= place.last_x) return;
  for (int y = place.first_y + static_cast<int>(blockIdx.y); y < place.last_y; y += gridDim.y) {
    const int at_y = (y + place.origin_y) % height, at_x = (x + place.origin_x) % width;
    to[std::size_t(y) * nx + x] = padded[std::size_t(at_y) * width + at_x];
  }
}

__global__ void subtract_kernel(const float* padded, int width, float* from, int ny, int nx) {
  const int x = blockIdx.x * kBlock + threadIdx.x;
  if (x >= nx) return;
  for (int y = blockIdx.y; y < ny; y += gridDim.y)
    from[std::size_t(y) * nx + x] -= padded[std::size_t(y) * width + x];
}

__global__ void product_kernel(const float2* a, const float2* b, float scale, std::size_t n, float2* out) {
  for (std::size_t i = first_pixel(); i < n; i += pixel_step()) {
    const float2 u = a[i], v = b[i];
    out[i] = {scale * (u.x * v.x - u.y * v.y), scale * (u.x * v.y + u.y * v.x)};
  }
}

dim3 rows_of(int ny, int nx) {
  return dim3((nx + kBlock - 1) / kBlock, ny < 65535 ? ny : 65535);
}

}  // namespace

void launch_search_image(const SearchPlanes& planes, float* out, cudaStream_t stream) {
  search_image_kernel<<<grid_of(planes.n_pixel), kBlock, 0, stream>>>(planes, out);
  launched("making the search image");
}

void launch_peak(const SearchPlanes& planes, PeakKey* best, cudaStream_t stream) {
  peak_kernel<<<grid_of(planes.n_pixel), kBlock, 0, stream>>>(planes, best);
  launched("searching the peak");
}

void launch_levels(const SearchPlanes& planes, float highest, int n_levels, std::uint32_t* counts,
                   cudaStream_t stream) {
  levels_kernel<<<grid_of(planes.n_pixel), kBlock, 0, stream>>>(
      planes, static_cast<float>(n_levels) / highest, n_levels, counts);
  launched("counting levels");
}

void launch_select(const SearchPlanes& planes, const Selection& to, cudaStream_t stream) {
  select_kernel<<<grid_of(planes.n_pixel), kBlock, 0, stream>>>(planes, to);
  launched("selecting pixels");
}

void launch_scatter(const std::uint32_t* index, const float* flux, std::size_t step, std::uint32_t n,
                    float* image, cudaStream_t stream) {
  if (n == 0) return;
  scatter_kernel<<<(n + kBlock - 1) / kBlock, kBlock, 0, stream>>>(index, flux, step, n, image);
  launched("placing components");
}

void launch_pad(const float* from, int nx, const Placement& place, float* padded, int height, int width,
                cudaStream_t stream) {
  pad_kernel<<<rows_of(height, width), kBlock, 0, stream>>>(from, nx, place, padded, height, width);
  launched("padding an image");
}

void launch_crop(const float* padded, int height, int width, const Placement& place, float* to, int nx,
                 cudaStream_t stream) {
  const dim3 grid = rows_of(place.last_y - place.first_y, place.last_x - place.first_x);
  crop_kernel<<<grid, kBlock, 0, stream>>>(padded, height, width, place, to, nx);
  launched("cropping an image");
}

void launch_subtract(const float* padded, int width, float* from, int ny, int nx, cudaStream_t stream) {
  subtract_kernel<<<rows_of(ny, nx), kBlock, 0, stream>>>(padded, width, from, ny, nx);
  launched("subtracting a model");
}

void launch_product(const float2* a, const float2* b, float scale, std::size_t n, float2* out,
                    cudaStream_t stream) {
  product_kernel<<<grid_of(n), kBlock, 0, stream>>>(a, b, scale, n, out);
  launched("multiplying spectra");
}

}  // namespace apsyn::clean_cuda
