// SPDX-License-Identifier: GPL-3.0-or-later
// Images in, model, residual and restored images out: of one image, or of all channel groups together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/image/image.h"
#include "tools/clean/deconvolution_options.h"
#include "tools/clean/image_plan.h"
#include "tools/clean/products.h"

namespace apsyn::clean {

/// Everything in memory.
struct CleanImages {
  std::vector<Image> residual, model, psf, beam;  ///< [part]; beams of the stations, if any
  std::vector<std::string> names;                 ///< [part] of the files of `residual`
  std::vector<DeconvolutionGroup> groups;         ///< [part * its frequencies]
  BandBeams restoring;
};

void find_beams(CleanImages& images, const DeconvolutionOptions& options);

/// Cycle after cycle until every set of planes is done. Returns the number of components.
std::size_t deconvolve(Tool& tool, const ImagePlan& plan, DeconvolutionOptions& options, CleanImages& images);

/// Over the beam of the stations, plane by plane.
template <class Divide>
Image corrected_image(const Image& image, const Image& beam, Divide divide) {
  Image result{image.info, Buffer<double, 4>(image.pixels.shape())};
  const std::size_t n_freq = image.pixels.extent(1);
  for (std::size_t plane = 0; plane < image.pixels.extent(0) * n_freq; ++plane) {
    const std::size_t stokes = plane / n_freq, freq = plane % n_freq;
    const View<const double, 2> from = image.pixels.view()[stokes][freq];
    const Buffer<double, 3> to =
        divide(View<const double, 3>(from.data(), {1, from.extent(0), from.extent(1)}),
               beam.pixels.view()[0][std::min(freq, beam.pixels.extent(1) - 1)]);
    std::copy(to.begin(), to.end(), result.pixels.view()[stokes][freq].begin());
  }
  result.info.keywords.emplace_back("PBCOR", 1);
  return result;
}

void write_mean(Tool& tool, const ImagePlan& plan, const DeconvolutionOptions& options,
                const CleanImages& images);

void clean_images(Tool& tool, const std::vector<std::string>& inputs, DeconvolutionOptions& options);

}  // namespace apsyn::clean
