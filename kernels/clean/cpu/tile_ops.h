// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops of CLEAN over a rectangle of an image, SIMD chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace apsyn {

/// Row-major rectangle inside a larger array: row i begins at data + i * stride.
template <class T>
struct Block {
  T* data = nullptr;
  std::size_t stride = 0, nx = 0, ny = 0;
};

/// image[y][x] -= flux * psf[y][x]; psf_data has rows of psf_stride.
void subtract_psf(const Block<float>& image, const float* psf_data, std::size_t psf_stride, float flux);

/// Pixels of an image, in row-major order.
struct PixelList {
  const std::int32_t* offset = nullptr;  ///< y psf_nx + x
  const std::int32_t *x = nullptr, *y = nullptr;
};

/// A PSF [ny][nx] that lies in an image with its first pixel at (x, y), which may be negative.
struct PlacedPsf {
  const float* data = nullptr;
  std::int32_t ny = 0, nx = 0, x = 0, y = 0;
  bool covers = false;  ///< all pixels of the list; otherwise it is zero beyond its array
};

/// values[i] -= flux * psf at pixel i.
void subtract_gathered(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels, float flux);

/// The search image: out = sum over groups g of weight[g] v[g], where v[g] is planes[g] itself with one
/// polarisation and the root of the summed squares of planes[g * n_pol ...] with several.
void search_values(std::span<float> out, std::span<const float* const> planes, std::span<const float> weight,
                   std::size_t n_pol);

enum class PeakSign { any, positive };

/// The highest |value| or positive value times its weight, 0 when there is none. `weight` [values.size()],
/// not negative, may be null for 1 everywhere.
float highest_value(std::span<const float> values, const float* weight, PeakSign sign);
/// subtract_gathered() and highest_value() in one pass.
float subtract_and_measure(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels, float flux,
                           const float* weight, PeakSign sign);
/// Index of the first value whose height is `highest`, the result of highest_value().
std::size_t first_at(std::span<const float> values, const float* weight, PeakSign sign, float highest);

}  // namespace apsyn
