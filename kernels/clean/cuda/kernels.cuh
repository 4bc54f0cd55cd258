// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels behind cleaner_cuda.h. Images are [plane][y][x], contiguous; a pixel's index is y nx + x.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace apsyn::clean_cuda {

/// Search values as in search_values() of tile_ops.h, over these planes, [group * n_pol + pol][pixel].
struct SearchPlanes {
  float* values = nullptr;
  std::size_t stride = 0;  ///< floats from plane to plane
  std::uint32_t n_pixel = 0;
  int n_group = 1, n_pol = 1;
  const float* group_weight = nullptr;   ///< [group]
  const float* search_weight = nullptr;  ///< [pixel]; null: 1 everywhere
  bool positive = false;                 ///< PeakSign::positive
};

/// out[pixel] = the search value.
void launch_search_image(const SearchPlanes& planes, float* out, cudaStream_t stream);

/// Orders pixels by height, then the first before the later ones; 0: none above 0.
using PeakKey = unsigned long long;
/// Sets `best`, which must be 0 before, to the key of the highest pixel.
void launch_peak(const SearchPlanes& planes, PeakKey* best, cudaStream_t stream);
inline float height_of(PeakKey key) {
  const auto bits = static_cast<std::uint32_t>(key >> 32);
  float height = 0;
  __builtin_memcpy(&height, &bits, sizeof height);
  return height;
}
inline std::uint32_t index_of(PeakKey key) {
  return 0xffffffffu - static_cast<std::uint32_t>(key);
}

/// counts[level]: pixels with a height above 0 in one of n_levels equal steps from `highest` down; 0 before.
constexpr int kMaxLevels = 256;
void launch_levels(const SearchPlanes& planes, float highest, int n_levels, std::uint32_t* counts,
                   cudaStream_t stream);

/// Pixels higher than the cutoff: their number and, if `index` is not null, their indices, values
/// [plane][capacity] and weights for a loop. Their order is undefined.
struct Selection {
  float cutoff = 0;
  std::uint32_t capacity = 0;
  std::uint32_t* count = nullptr;  ///< 0 before
  std::uint32_t* index = nullptr;
  float* values = nullptr;
  float* search_weight = nullptr;
};
void launch_select(const SearchPlanes& planes, const Selection& to, cudaStream_t stream);

/// image[index[i]] = flux[i * step]; all indices differ.
void launch_scatter(const std::uint32_t* index, const float* flux, std::size_t step, std::uint32_t n,
                    float* image, cudaStream_t stream);

/// Where an array's rows and columns lie in a padded one, as in image_convolver.cpp.
struct Placement {
  int first_y = 0, last_y = 0, origin_y = 0, first_x = 0, last_x = 0, origin_x = 0;
};
/// padded [height][width] = the array [..][nx], 0 elsewhere; and back, or off: to -= padded.
void launch_pad(const float* from, int nx, const Placement& place, float* padded, int height, int width,
                cudaStream_t stream);
void launch_crop(const float* padded, int height, int width, const Placement& place, float* to, int nx,
                 cudaStream_t stream);
void launch_subtract(const float* padded, int width, float* from, int ny, int nx, cudaStream_t stream);
/// out = scale a b; out may be a or b.
void launch_product(const float2* a, const float2* b, float scale, std::size_t n, float2* out,
                    cudaStream_t stream);

}  // namespace apsyn::clean_cuda
