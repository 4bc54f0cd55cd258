// SPDX-License-Identifier: GPL-3.0-or-later
// The Measurement Set mode of clean: visibilities -> images, model and residual, in one run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/clean/deconvolve.h"
#include "libcore/cli/tool.h"
#include "tools/clean/deconvolution_options.h"
#include "tools/clean/visibility_options.h"
#include "tools/imaging/field.h"

namespace apsyn::clean {

/// What a run takes of the host's memory beside gridding and predicting.
struct ImageMemory {
  std::uint64_t kept_bytes = 0;     ///< images of all fields and groups, and what their deconvolvers keep
  std::uint64_t between_bytes = 0;  ///< beside these: a cycle of a deconvolver, or a product being written
};
ImageMemory plan_image_memory(const imaging::Imager& imager, const DeconvolutionSettings& settings,
                              std::size_t n_groups, std::size_t n_fields);

/// Reads the visibilities once, cleans in major cycles, and writes images, source lists and columns. All
/// processes come here together; the first finds the components and writes.
void clean_visibilities(Tool& tool, const VisibilityOptions& options, const DeconvolutionOptions& how);

}  // namespace apsyn::clean
