// SPDX-License-Identifier: GPL-3.0-or-later
// --device auto of imaging tools: a GPU where it is faster. It takes a fifth of a second to start; in that
// time a CPU with many cores finishes a small job.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/system/device.h"

namespace apsyn::imaging {

/// What a tool does with its inputs.
struct ImagingWork {
  const std::vector<std::string>& inputs;  ///< Measurement Sets, or streams
  double n_pixels = 0;                     ///< of an image, all planes
  double n_rounds = 1;                     ///< times that visibilities are gridded or predicted
};

/// Estimated seconds on a CPU, without reading and writing; infinity if an input's size is unknown.
double cpu_seconds(const ImagingWork& work, unsigned n_threads);

/// Tool::device(), except that `auto` gives the CPU if that finishes before a GPU would have started.
Device choose_device(Tool& tool, const ImagingWork& work);

/// Largest size of a block of visibilities: `on_cpu` on a CPU; on a GPU a share of its memory. Nodes replace
/// the rows of a baseline's track, and in longer blocks each replaces more rows: 125 million visibilities of
/// MWA-128T were summed in 0.62 s with blocks of 0.5 GB and in 0.16 s with blocks of 4 GB (H100), but beyond
/// 2 GB the whole run gains nothing.
std::uint64_t max_block_bytes(const Device& device, std::uint64_t on_cpu);

}  // namespace apsyn::imaging
