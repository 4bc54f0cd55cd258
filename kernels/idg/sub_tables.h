// SPDX-License-Identifier: GPL-3.0-or-later
// Sub-tables of (time, channel): rows of one baseline in their order, and a range of channels, that one
// subgrid can hold (Hodgson 2025, section 2.4). Only corners are looked at: the extent of a row is that of
// its lowest and its highest frequency.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/idg/partition.h"

namespace apsyn::idg {

/// Extent of folded visibilities: u and v in uv cells, w in wavelengths.
struct UvwBox {
  double least_u = INFINITY, most_u = -INFINITY, least_v = INFINITY, most_v = -INFINITY;
  double least_w = INFINITY, most_w = -INFINITY;

  void include(double u, double v, double w);
  UvwBox joined(const UvwBox& other) const;
  /// The task stands on the middle: there its visibilities have the most room on all sides.
  void centre(SubgridTask& task) const;
};

/// Whether a row has weights that are not 0.
enum class RowData : std::uint8_t { none, some, all };
std::vector<RowData> survey_rows(const GridBlock& block, unsigned n_threads);

/// Tasks and their runs, one after the other.
struct SubTables {
  std::vector<SubgridTask> tasks;  ///< first_run counts in `runs`
  std::vector<UvwBox> boxes;       ///< of each task
  std::vector<VisibilityRun> runs;
};

/// The limits of a subgrid under a plan.
class SubgridLimits {
 public:
  SubgridLimits(const IdgPlan& plan, const LayerRange& layers);
  /// DataError when w is beyond the plan or u, v are beyond all bounds.
  std::size_t layer_of(const UvwBox& box) const;
  bool holds(const UvwBox& box, std::size_t layer) const;
  /// Whether a task whose first layer is `layer` reaches into the pass.
  bool in_pass(std::size_t layer) const;
  double most_cells() const { return most_cells_; }
  double most_w_extent() const { return most_w_extent_; }

  static constexpr std::size_t kMostVisibilities = 8192;  ///< so that threads share the work evenly

 private:
  const IdgPlan& plan_;
  LayerRange layers_;
  double most_cells_, most_w_extent_, last_layer_;
};

/// Cuts `rows` (of one baseline) into sub-tables.
void cut_sub_tables(const IdgPlan& plan, const GridBlock& block, const SubgridLimits& limits,
                    const std::vector<RowData>& row_data, std::span<const std::uint32_t> rows,
                    SubTables& out);

/// Drops the tasks that do not touch the pass; only now, because which layer a row goes to depends on the
/// rows before it.
void keep_pass(const SubgridLimits& limits, SubTables& tables);

/// Joins tasks with few visibilities that lie close to each other, whatever their baselines. For blocks
/// without A-terms.
void merge_small(const SubgridLimits& limits, unsigned n_threads, SubTables& tables);

}  // namespace apsyn::idg
