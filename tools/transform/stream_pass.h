// SPDX-License-Identifier: GPL-3.0-or-later
// A visibility stream in, a stream or a Measurement Set out, one integration after the other.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/visibility/visibility.h"
#include "tools/transform/options.h"

namespace apsyn::transform {

/// What becomes of the integrations of a stream.
struct StreamPlan {
  VisibilityHeader in, out;
  std::size_t first_channel = 0, n_channels = 0;  ///< of the input
  std::vector<std::size_t> baselines;             ///< [baseline of the output] of the input
  std::size_t n_average = 1;                      ///< integrations
  std::int64_t first_index = 0, end_index = 0;    ///< of the integrations that are taken
  std::uint64_t memory_bytes = 0;
};

/// UsageError for what a stream cannot have: fields, windows, --bda, a column.
StreamPlan plan_stream(const Tool& tool, const Options& options, const VisibilityHeader& header,
                       OutputKind kind);

/// Reads the stream `path` and writes the output. Returns the number of visibilities that were read.
double run_stream(Tool& tool, const Options& options, const std::string& path);

}  // namespace apsyn::transform
