// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of joined sources in, rows out: one pass by all threads, in bounded memory.
//
// Cells come in pieces that a core's cache holds. Each is turned to the phase centre that is asked for and
// averaged over channels there. Without averaging in time it is then written. Otherwise the rows of a bin
// (RowBins) are read side by side, if they come from sets of one spectral window and times alone tell which
// they are; their means need no sums in memory. Of other sources blocks of rows are kept, and added to the
// sums of their bins. Whatever is complete is written, and sums of bins that go on in the next block stay in
// memory.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "libcore/cli/tool.h"
#include "tools/transform/joined_sets.h"
#include "tools/transform/options.h"
#include "tools/transform/row_sink.h"

namespace apsyn::transform {

struct SetPlan {
  std::int64_t n_rows = 0;     ///< of the output
  std::size_t max_open = 0;    ///< bins that are open at the same time
  std::size_t block_rows = 0;  ///< read at once
  std::size_t n_channels = 0;  ///< of the output
  bool bins = false;           ///< rows are averaged or left out one by one
  bool side_by_side = false;   ///< rows of a bin are read together
  /// Of each set where they are: numbers in the set of rows behind which no bin goes on.
  std::vector<std::unordered_set<std::int64_t>> last_rows{};
  double longest_s = 0;  ///< interval of a row
  std::uint64_t memory_bytes = 0;
};

/// Counts the rows of the output; for that it reads only the scalar columns (and UVW where these decide), not
/// the data. UsageError where --max-memory does not suffice.
SetPlan plan_sets(const Tool& tool, const Options& options, JoinedSets& sets, const UvwCheck& uvw);

/// Returns the number of visibilities that were read.
double run_sets(Tool& tool, const Options& options, JoinedSets& sets, const SetPlan& plan,
                const UvwCheck& uvw, RowSink& sink);

}  // namespace apsyn::transform
