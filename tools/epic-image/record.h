// SPDX-License-Identifier: GPL-3.0-or-later
// The floats of an image as outputs hold them, and what they say about it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/fits/cube.h"
#include "libcore/image/image.h"
#include "tools/epic-image/outputs.h"
#include "tools/epic-image/products.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

/// `step_s`: from image to image. Of a stream that ends within its first image that image's length, not what
/// was asked for.
FitsCubeShape shape_of(const EpicSetup& setup, std::optional<double> step_s);

/// [part][stokes][freq][y][x] out of the products that were made.
class Record {
 public:
  Record(const EpicSetup& setup, unsigned n_threads);

  std::span<const float> make(const EpicImages& images);

 private:
  static void mix(const EpicImages& images, std::size_t chan, const ProductMix& factors,
                  const std::size_t (&place)[4], float* to);

  const EpicSetup& setup_;
  FitsCubeShape shape_;
  unsigned n_threads_;
  std::vector<float> values_;
};

ImageInfo info_of(const Tool& tool, const EpicSetup& setup, const TimedImages& first);

}  // namespace apsyn
