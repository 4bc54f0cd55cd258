// SPDX-License-Identifier: GPL-3.0-or-later
// The pixels of an image that show sky, and the conversion of their sums into images.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/epic/autos.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/weights.h"
#include "libcore/system/parallel.h"

namespace apsyn {

struct SkyPixels {
  std::vector<std::uint32_t> index;  ///< [pixel] y * width + x, rising
  Buffer<double, 2> unit;            ///< [pixel][east, north, up]
  std::size_t size() const { return index.size(); }
};

/// The pixels above the horizon. Directions of light curves are a row of pixels.
SkyPixels sky_pixels(const EpicPlan& plan, const EpicGeometry& geometry);

/// Calls work(pixel) for all of them, on the plan's threads.
template <class Work>
void for_each_pixel(const EpicPlan& plan, const SkyPixels& pixels, const Work& work) {
  constexpr std::size_t kPiece = std::size_t{1} << 14;
  parallel_for(plan.n_threads, (pixels.size() + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
    const std::size_t end = std::min(pixels.size(), (piece + 1) * kPiece);
    for (std::size_t pixel = piece * kPiece; pixel < end; ++pixel) work(pixel);
  });
}

/// Memory of images of a field.
std::uint64_t field_bytes(const EpicPlan& plan, std::size_t n_pixel);

/// Memory of `dft` in addition to its sums.
std::uint64_t dft_working_bytes(const EpicPlan& plan);

/// Whether two geometries are identical to the last bit.
bool same_geometry(const EpicGeometry& a, const EpicGeometry& b);
/// std::logic_error for lengths other than planned.
void check_epic_geometry(const EpicPlan& plan, const EpicGeometry& geometry);

/// (sums - autos) / W of sums [image channel][pixel][XX, YY, Re XY, Im XY] and autos [image channel]; NaN
/// without sky, or without any pair.
void finish_images(const EpicPlan& plan, const EpicWeights& weights, const SkyPixels& pixels,
                   const std::vector<EpicValues>& autos, View<const double, 3> sums, EpicImages& images);

}  // namespace apsyn
