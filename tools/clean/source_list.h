// SPDX-License-Identifier: GPL-3.0-or-later
// The components as a sky model in WSClean's text form, which idg-degrid, simulate and WSClean read.
#pragma once

#include <string>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "libcore/image/image.h"

namespace apsyn::clean {

/// `info` of any of the images. Without a spectral fit the fluxes are means over the groups.
void write_source_list(const std::string& path, const std::vector<ModelComponent>& components,
                       const ImageInfo& info, const PlaneShape& shape,
                       const std::vector<DeconvolutionGroup>& groups, const DeconvolutionSettings& settings,
                       bool overwrite);

}  // namespace apsyn::clean
