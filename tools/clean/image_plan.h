// SPDX-License-Identifier: GPL-3.0-or-later
// The image mode of clean: which files are read and written, and whether the memory suffices.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/formats/fits/image_set.h"
#include "tools/clean/deconvolution_options.h"

namespace apsyn::clean {

struct ImagePlan {
  ChannelSets files;
  std::vector<std::string> start;  ///< [part] the image that cleaning begins with
  std::vector<std::string> beam;   ///< [part] that of the stations; none at all when one is missing
  std::string source_list;         ///< empty: none
  bool overwrite = false;

  /// The parts and, when there are several, their mean.
  std::vector<ImageSet> outputs() const;
};

/// NAME-image.fits -> NAME-image-pb.fits.
std::string beam_corrected(const std::string& path);

std::vector<std::string> output_files(const ImageSet& set, const ImagePlan& plan,
                                      const DeconvolutionOptions& options);

ImagePlan plan_images(Tool& tool, const std::vector<std::string>& inputs,
                      const DeconvolutionOptions& options);

}  // namespace apsyn::clean
