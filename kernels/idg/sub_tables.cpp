// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/sub_tables.h"

#include <algorithm>
#include <tuple>

#include "kernels/idg/parallel_sort.h"
#include "libcore/core/error.h"
#include "libcore/core/parallel.h"

namespace apsyn::idg {
namespace {

/// A range of channels never takes more than this part of what a subgrid holds, so that several times fit
/// too.
constexpr double kChannelShare = 0.6;

struct ChannelRange {
  std::uint32_t first, n;
  double least_wavenumber, most_wavenumber;
};

bool has_data(const GridBlock& block, std::size_t row, std::size_t chan) {
  if (block.weight.size() == 0) return true;
  const std::size_t n = block.weight.extent(2);
  const float* weight = block.weight.data() + (row * block.wavenumber.size() + chan) * n;
  return std::any_of(weight, weight + n, [](float w) { return w != 0; });
}

/// One baseline and one range of channels at a time.
class Cutter {
 public:
  Cutter(const IdgPlan& plan, const GridBlock& block, const SubgridLimits& limits,
         const std::vector<RowData>& row_data, SubTables& out)
      : block_(block),
        limits_(limits),
        row_data_(row_data),
        out_(out),
        per_u_(static_cast<double>(plan.n_u) * plan.image.cell_rad),
        per_v_(static_cast<double>(plan.n_v) * plan.image.cell_rad),
        aterms_(block.aterms.jones.size() != 0) {}

  void cut(std::span<const std::uint32_t> rows) {
    for (const ChannelRange& range : channel_ranges(rows)) {
      for (const std::uint32_t row : rows) {
        if (row_data_[row] == RowData::all)
          add(row, range);
        else if (row_data_[row] == RowData::some)
          add_flagged(row, range);
      }
      open_ = false;
    }
  }

 private:
  /// As few ranges as the longest of the rows allows, within A-term slots.
  std::vector<ChannelRange> channel_ranges(std::span<const std::uint32_t> rows) const {
    double longest = 0;  // share of a subgrid that a wavenumber step of 1 takes
    for (const std::uint32_t row : rows)
      longest = std::max({longest, std::abs(block_.uvw_m(row, 0)) * per_u_ / limits_.most_cells(),
                          std::abs(block_.uvw_m(row, 1)) * per_v_ / limits_.most_cells(),
                          std::abs(block_.uvw_m(row, 2)) / limits_.most_w_extent()});
    std::vector<ChannelRange> ranges;
    const auto n_chan = static_cast<std::uint32_t>(block_.wavenumber.size());
    for (std::uint32_t chan = 0; chan < n_chan; ++chan) {
      const double k = block_.wavenumber[chan];
      if (!ranges.empty()) {
        ChannelRange& last = ranges.back();
        const double least = std::min(last.least_wavenumber, k), most = std::max(last.most_wavenumber, k);
        const bool same_slot =
            !aterms_ || block_.aterms.chan_slot[chan] == block_.aterms.chan_slot[last.first];
        if (same_slot && (most - least) * longest <= kChannelShare) {
          last = {last.first, last.n + 1, least, most};
          continue;
        }
      }
      ranges.push_back({chan, 1, k, k});
    }
    return ranges;
  }

  UvwBox box_of(std::uint32_t row, const ChannelRange& range) const {
    const double sign = block_.uvw_m(row, 2) < 0 ? -1 : 1;
    const double u = block_.uvw_m(row, 0) * sign * per_u_, v = block_.uvw_m(row, 1) * sign * per_v_;
    const double w = block_.uvw_m(row, 2) * sign;
    UvwBox box;
    for (const double k : {range.least_wavenumber, range.most_wavenumber}) box.include(u * k, v * k, w * k);
    return box;
  }

  ChannelRange part(const ChannelRange& range, std::uint32_t first, std::uint32_t n) const {
    ChannelRange result{first, n, INFINITY, -INFINITY};
    for (std::uint32_t chan = first; chan < first + n; ++chan) {
      result.least_wavenumber = std::min(result.least_wavenumber, block_.wavenumber[chan]);
      result.most_wavenumber = std::max(result.most_wavenumber, block_.wavenumber[chan]);
    }
    return n == range.n ? range : result;
  }

  void add_flagged(std::uint32_t row, const ChannelRange& range) {
    const std::uint32_t end = range.first + range.n;
    for (std::uint32_t chan = range.first; chan < end;) {
      if (!has_data(block_, row, chan)) {
        ++chan;
        continue;
      }
      const std::uint32_t first = chan;
      while (chan < end && has_data(block_, row, chan)) ++chan;
      add(row, part(range, first, chan - first));
    }
  }

  void add(std::uint32_t row, const ChannelRange& range) {
    const UvwBox box = box_of(row, range);
    if (open_ && same_aterms(row)) {
      const UvwBox joined = out_.boxes.back().joined(box);
      SubgridTask& task = out_.tasks.back();
      if (limits_.holds(joined, task.layer) &&
          task.n_visibilities + range.n <= SubgridLimits::kMostVisibilities) {
        out_.boxes.back() = joined;
        extend(task, row, range);
        return;
      }
    }
    const std::size_t layer = limits_.layer_of(box);
    if (range.n > 1 && !limits_.holds(box, layer)) {  // across the border of two layers
      add(row, part(range, range.first, range.n / 2));
      add(row, part(range, range.first + range.n / 2, range.n - range.n / 2));
      return;
    }
    open_ = true;
    SubgridTask task;
    task.layer = layer;
    task.first_run = out_.runs.size();
    if (aterms_) {
      task.station_p = block_.station(row, 0);
      task.station_q = block_.station(row, 1);
      task.row_slot = block_.aterms.row_slot[row];
      task.chan_slot = block_.aterms.chan_slot[range.first];
      task.folded = block_.uvw_m(row, 2) < 0;
    }
    out_.tasks.push_back(task);
    out_.boxes.push_back(box);
    extend(out_.tasks.back(), row, range);
  }

  bool same_aterms(std::uint32_t row) const {
    if (!aterms_) return true;
    const SubgridTask& task = out_.tasks.back();
    return task.row_slot == block_.aterms.row_slot[row] && task.folded == (block_.uvw_m(row, 2) < 0) &&
           task.station_p == block_.station(row, 0) && task.station_q == block_.station(row, 1);
  }

  void extend(SubgridTask& task, std::uint32_t row, const ChannelRange& range) {
    ++task.n_runs;
    task.n_visibilities += range.n;
    out_.runs.push_back({row, range.first, range.n});
  }

  const GridBlock& block_;
  const SubgridLimits& limits_;
  const std::vector<RowData>& row_data_;
  SubTables& out_;
  double per_u_, per_v_;
  bool aterms_, open_ = false;
};

}  // namespace

void UvwBox::include(double u, double v, double w) {
  least_u = std::min(least_u, u);
  most_u = std::max(most_u, u);
  least_v = std::min(least_v, v);
  most_v = std::max(most_v, v);
  least_w = std::min(least_w, w);
  most_w = std::max(most_w, w);
}

UvwBox UvwBox::joined(const UvwBox& other) const {
  return {std::min(least_u, other.least_u), std::max(most_u, other.most_u),
          std::min(least_v, other.least_v), std::max(most_v, other.most_v),
          std::min(least_w, other.least_w), std::max(most_w, other.most_w)};
}

void UvwBox::centre(SubgridTask& task) const {
  task.centre_u = std::llround((least_u + most_u) / 2);
  task.centre_v = std::llround((least_v + most_v) / 2);
  task.w_lambda = (least_w + most_w) / 2;
  task.half_w_lambda = (most_w - least_w) / 2;
}

SubgridLimits::SubgridLimits(const IdgPlan& plan, const LayerRange& layers)
    : plan_(plan), layers_(layers), most_cells_(static_cast<double>(plan.bucket())) {
  const bool kernel = plan.w_handling == WHandling::kernel;
  most_w_extent_ = kernel ? plan.layer_step_lambda : 2 * plan.most_task_half_w_lambda;
  last_layer_ = static_cast<double>(kernel ? plan.n_layers - plan.n_terms : plan.n_layers - 1);
}

std::size_t SubgridLimits::layer_of(const UvwBox& box) const {
  constexpr double farthest_cells = 1u << 30;
  const double u = (box.least_u + box.most_u) / 2, v = (box.least_v + box.most_v) / 2;
  if (!(std::abs(u) < farthest_cells && std::abs(v) < farthest_cells))
    throw DataError("uvw: {:g}, {:g} uv cells is no coordinate of this field: check UVW", u, v);
  if (!(box.most_w <= plan_.layer_step_lambda * (last_layer_ + 1) * (1 + 1e-9)))
    throw DataError("uvw: w = {:g} wavelengths is beyond the planned layers", box.most_w);
  const double w = plan_.w_handling == WHandling::kernel ? box.least_w : (box.least_w + box.most_w) / 2;
  return static_cast<std::size_t>(std::min(std::floor(w / plan_.layer_step_lambda), last_layer_));
}

bool SubgridLimits::holds(const UvwBox& box, std::size_t layer) const {
  const double low = static_cast<double>(layer) * plan_.layer_step_lambda,
               high = low + plan_.layer_step_lambda * (1 + 1e-9), slack = plan_.layer_slack_lambda;
  return box.most_u - box.least_u <= most_cells_ && box.most_v - box.least_v <= most_cells_ &&
         box.most_w - box.least_w <= most_w_extent_ && box.least_w >= low - slack &&
         box.most_w <= high + slack;
}

bool SubgridLimits::in_pass(std::size_t layer) const {
  const std::size_t reach = plan_.w_handling == WHandling::kernel ? plan_.n_terms : 1;
  return layer < layers_.first + layers_.n && layer + reach > layers_.first;
}

std::vector<RowData> survey_rows(const GridBlock& block, unsigned n_threads) {
  const std::size_t n_row = block.uvw_m.extent(0);
  if (block.weight.size() == 0) return std::vector<RowData>(n_row, RowData::all);
  constexpr std::size_t rows_at_once = 4096;
  const std::size_t n_chan = block.wavenumber.size(), n_plane = block.weight.extent(2);
  std::vector<RowData> result(n_row);
  parallel_for(n_threads, (n_row + rows_at_once - 1) / rows_at_once, [&](std::size_t piece, unsigned) {
    const std::size_t begin = piece * rows_at_once;
    for (std::size_t row = begin; row < std::min(n_row, begin + rows_at_once); ++row) {
      const float* weight = block.weight.data() + row * n_chan * n_plane;
      unsigned n_zero = 0;
      for (std::size_t i = 0; i < n_chan * n_plane; ++i) n_zero += weight[i] == 0;
      result[row] = n_zero == 0 ? RowData::all : n_zero == n_chan * n_plane ? RowData::none : RowData::some;
    }
  });
  return result;
}

void keep_pass(const SubgridLimits& limits, SubTables& tables) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < tables.tasks.size(); ++i) {
    if (!limits.in_pass(tables.tasks[i].layer)) continue;
    tables.tasks[n] = tables.tasks[i];
    tables.boxes[n++] = tables.boxes[i];
  }
  tables.tasks.resize(n);
  tables.boxes.resize(n);
}

void cut_sub_tables(const IdgPlan& plan, const GridBlock& block, const SubgridLimits& limits,
                    const std::vector<RowData>& row_data, std::span<const std::uint32_t> rows,
                    SubTables& out) {
  Cutter(plan, block, limits, row_data, out).cut(rows);
}

void merge_small(const SubgridLimits& limits, unsigned n_threads, SubTables& tables) {
  // Subgrids with fewer cost more for themselves than for their visibilities.
  constexpr std::size_t few = SubgridLimits::kMostVisibilities / 4;
  // By squares of their middles, a little smaller than a subgrid holds, so that most of a square fits
  // together.
  const double square = limits.most_cells() * 0.8;
  struct Small {
    std::uint32_t layer;
    std::int32_t v, u;
    std::uint32_t index;
    double w;
  };
  std::vector<Small> small;
  std::vector<std::uint32_t> large;
  for (std::size_t i = 0; i < tables.tasks.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (tables.tasks[i].n_visibilities >= few) {
      large.push_back(index);
      continue;
    }
    const UvwBox& box = tables.boxes[i];
    small.push_back({static_cast<std::uint32_t>(tables.tasks[i].layer),
                     static_cast<std::int32_t>(std::floor((box.least_v + box.most_v) / 2 / square + 0.5)),
                     static_cast<std::int32_t>(std::floor((box.least_u + box.most_u) / 2 / square + 0.5)),
                     index, box.least_w + box.most_w});
  }
  if (small.size() < 2) return;
  parallel_sort(n_threads, small, [](const Small& a, const Small& b) {
    return std::tie(a.layer, a.v, a.u, a.w, a.index) < std::tie(b.layer, b.v, b.u, b.w, b.index);
  });

  // Neighbours of the order are joined while a subgrid holds them; each group's tasks are consecutive in
  // `small`.
  SubTables merged;
  std::vector<std::size_t> first_small;
  std::size_t n_runs = 0;
  auto open_task = [&](std::uint32_t index) {
    merged.tasks.push_back(tables.tasks[index]);
    merged.tasks.back().first_run = n_runs;
    merged.boxes.push_back(tables.boxes[index]);
    n_runs += tables.tasks[index].n_runs;
  };
  for (std::size_t i = 0; i < small.size(); ++i) {
    const SubgridTask& task = tables.tasks[small[i].index];
    if (!merged.tasks.empty()) {
      SubgridTask& open = merged.tasks.back();
      const UvwBox joined = merged.boxes.back().joined(tables.boxes[small[i].index]);
      if (open.layer == task.layer && limits.holds(joined, open.layer) &&
          open.n_visibilities + task.n_visibilities <= SubgridLimits::kMostVisibilities) {
        open.n_runs += task.n_runs;
        open.n_visibilities += task.n_visibilities;
        merged.boxes.back() = joined;
        n_runs += task.n_runs;
        continue;
      }
    }
    first_small.push_back(i);
    open_task(small[i].index);
  }
  const std::size_t n_groups = first_small.size();
  first_small.push_back(small.size());
  for (const std::uint32_t index : large) open_task(index);

  merged.runs.resize(n_runs);
  constexpr std::size_t at_once = 1024;
  parallel_for(n_threads, (merged.tasks.size() + at_once - 1) / at_once, [&](std::size_t piece, unsigned) {
    for (std::size_t i = piece * at_once; i < std::min(merged.tasks.size(), (piece + 1) * at_once); ++i) {
      VisibilityRun* to = &merged.runs[merged.tasks[i].first_run];
      auto append = [&](std::uint32_t index) {
        const VisibilityRun* from = &tables.runs[tables.tasks[index].first_run];
        to = std::copy(from, from + tables.tasks[index].n_runs, to);
      };
      if (i >= n_groups)
        append(large[i - n_groups]);
      else
        for (std::size_t k = first_small[i]; k < first_small[i + 1]; ++k) append(small[k].index);
    }
  });
  tables = std::move(merged);
}

}  // namespace apsyn::idg
