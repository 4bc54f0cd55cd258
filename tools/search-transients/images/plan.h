// SPDX-License-Identifier: GPL-3.0-or-later
// From the options and what the images tell to what is searched, and the memory it takes.
#pragma once

#include <string>
#include <vector>

#include "kernels/search/images/image_search.h"
#include "libcore/streams/image_source.h"
#include "tools/search-transients/options.h"

namespace apsyn {

struct ImagesPlan {
  ImageSearchPlan search;
  std::vector<double> dm;  ///< of each trial
  double memory_bytes = 0;
  double device_bytes = 0;  ///< 0 on the CPU
};

/// UsageError for options that make no sense, or none for images; FailureError when the memory does not
/// suffice.
ImagesPlan plan_images(const Tool& tool, const SearchOptions& options, const ImageSeriesInfo& info,
                       const Device& device);
/// Tool::device(), of which `auto` takes a GPU only where that pays and its memory suffices. DeviceError
/// where it does not suffice and a GPU is asked for.
Device choose_device(const Tool& tool, const SearchOptions& options, const ImageSeriesInfo& info);
/// Whether a GPU finishes the search first, its start included. Streams whose end is not known are long.
bool pays_on_gpu(const ImagesPlan& plan, const ImageSeriesInfo& info, unsigned n_threads);
/// In words, for --dry-run and -v.
std::vector<std::string> describe(const ImagesPlan& plan, const ImageSeriesInfo& info);

}  // namespace apsyn
