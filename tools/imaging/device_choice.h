// SPDX-License-Identifier: GPL-3.0-or-later
// --device auto of imaging tools: a GPU where it is faster. It takes a fifth of a second to start; in that
// time a CPU with many cores finishes a small job.
#pragma once

#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/system/device.h"
#include "libcore/system/isolated.h"

namespace apsyn::imaging {

/// What a tool does with its inputs.
struct ImagingWork {
  const std::vector<std::string>& inputs;  ///< Measurement Sets, or streams
  double n_pixels = 0;                     ///< of an image, all planes
  double n_rounds = 1;                     ///< times that visibilities are gridded or predicted
};

/// Size of all inputs; infinity if that of one is unknown.
double input_bytes(const std::vector<std::string>& inputs);

/// Estimated seconds on a CPU, without reading and writing; infinity if an input's size is unknown.
double cpu_seconds(const ImagingWork& work, unsigned n_threads);

/// Tool::device(), except that `auto` gives the CPU if that finishes before a GPU would have started.
Device choose_device(Tool& tool, const ImagingWork& work);

/// Starts the GPU that choose_device() will probably choose while the last of n_processes that look at
/// Measurement Sets is still at it, instead of after that. `least`: no less than this will be done.
class EarlyDeviceStart {
 public:
  EarlyDeviceStart(const Tool& tool, const ImagingWork& least, std::size_t n_processes);

 private:
  std::future<void> start_;  ///< before the hook, which sets it
  std::optional<AfterLastFork> hook_;
};

/// Largest size of a block of visibilities: `on_cpu` on a CPU; on a GPU a share of its memory. Nodes replace
/// the rows of a baseline's track, and in longer blocks each replaces more rows: 125 million visibilities of
/// MWA-128T were summed in 0.62 s with blocks of 0.5 GB and in 0.16 s with blocks of 4 GB (H100), but beyond
/// 2 GB the whole run gains nothing.
std::uint64_t max_block_bytes(const Device& device, std::uint64_t on_cpu);

}  // namespace apsyn::imaging
