// SPDX-License-Identifier: GPL-3.0-or-later
// The host's cutting of a block into sub-tables (cut_rows.h), and what a plan and a block mean for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/idg/partition/cut_rows.h"
#include "kernels/idg/partition/partition.h"

namespace apsyn::idg {

CutLimits cut_limits(const IdgPlan& plan, const LayerRange& layers, bool folds_apart = false);
/// DataError that says why a box is refused.
[[noreturn]] void refuse_box(const CutLimits& limits, const UvwBox& box);

/// For each row, whether none, some or all of its weights differ from 0.
std::vector<RowData> survey_rows(const GridBlock& block, unsigned n_threads);
CutRows cut_rows(const GridBlock& block, const std::vector<RowData>& data);

/// Sub-tables and their runs, one after the other.
struct SubTables {
  std::vector<SubTable> tables;  ///< first_run counts in `runs`
  std::vector<VisibilityRun> runs;
};

/// Cuts rows of one baseline and appends the sub-tables that touch the pass. The others are dropped only
/// here, because the layer of a row depends on the rows before it.
void cut_sub_tables(const CutLimits& limits, const CutRows& block, std::span<const std::uint32_t> rows,
                    SubTables& out);

/// Joins sub-tables with few visibilities that lie close to each other and share their A-terms, whatever
/// their baselines; they come first.
void join_small(const CutLimits& limits, std::uint32_t few, unsigned n_threads, SubTables& tables);

SubgridTask task_of(const SubTable& table);

}  // namespace apsyn::idg
