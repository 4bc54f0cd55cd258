// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/partition/sub_tables.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/idg/partition/parallel_sort.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn::idg {
namespace {

/// Where a Cutter of the host puts things.
struct Appender {
  const CutLimits& limits;
  SubTables& out;
  std::size_t first_run = 0;

  void run(std::uint32_t row, std::uint32_t first_channel, std::uint32_t n_channels) {
    out.runs.push_back({row, first_channel, n_channels});
  }
  void table(const SubTable& table) {
    if (limits.in_pass(table.layer)) {
      out.tables.push_back(table);
      out.tables.back().first_run = static_cast<std::uint32_t>(first_run);
    } else {
      out.runs.resize(first_run);
    }
    first_run = out.runs.size();
  }
  void refuse(const UvwBox& box) const { refuse_box(limits, box); }
};

}  // namespace

CutLimits cut_limits(const IdgPlan& plan, const LayerRange& layers, bool folds_apart) {
  const bool kernel = plan.w_handling == WHandling::kernel;
  if (kernel && (std::isfinite(layers.min_w_lambda) || std::isfinite(layers.max_w_lambda)))
    throw std::invalid_argument("idg: layers of a w kernel are not cut");
  CutLimits limits{};
  limits.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  limits.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  limits.max_cells = static_cast<double>(plan.bucket() - 1);
  limits.max_w_extent = kernel ? plan.layer_step_lambda : 2 * plan.max_task_half_w_lambda;
  limits.layer_step = plan.layer_step_lambda;
  limits.layer_slack = plan.layer_slack_lambda;
  limits.last_layer = static_cast<double>(kernel ? plan.n_layers - plan.n_terms : plan.n_layers - 1);
  limits.w_kernel = kernel;
  limits.reach = kernel ? static_cast<std::uint32_t>(plan.n_terms) : 1;
  limits.first_layer = static_cast<std::uint32_t>(layers.first);
  limits.n_layers = static_cast<std::uint32_t>(layers.n);
  limits.min_w = layers.min_w_lambda;
  limits.max_w = layers.max_w_lambda;
  limits.folds_apart = folds_apart;
  return limits;
}

void refuse_box(const CutLimits& limits, const UvwBox& box) {
  if (!box.has_place()) throw DataError("uvw: a coordinate is not a number: check UVW");
  if (!limits.is_in_field(box))
    throw DataError("uvw: {:g}, {:g} uv cells is no coordinate of this field: check UVW",
                    (box.min_u + box.max_u) / 2, (box.min_v + box.max_v) / 2);
  throw DataError("uvw: w = {:g} wavelengths is beyond the planned layers", box.max_w);
}

std::vector<RowData> survey_rows(const GridBlock& block, unsigned n_threads) {
  const std::size_t n_row = block.uvw_m.extent(0);
  if (block.weight.size() == 0) return std::vector<RowData>(n_row, RowData::all);
  constexpr std::size_t rows_at_once = 4096;
  const std::size_t n_values = block.wavenumber.size() * block.weight.extent(2);
  std::vector<RowData> result(n_row);
  parallel_for(n_threads, (n_row + rows_at_once - 1) / rows_at_once, [&](std::size_t piece, unsigned) {
    const std::size_t begin = piece * rows_at_once;
    for (std::size_t row = begin; row < std::min(n_row, begin + rows_at_once); ++row) {
      const float* weight = block.weight.data() + row * n_values;
      unsigned n_zero = 0;
      for (std::size_t i = 0; i < n_values; ++i) n_zero += weight[i] == 0;
      result[row] = n_zero == 0 ? RowData::all : n_zero == n_values ? RowData::none : RowData::some;
    }
  });
  return result;
}

CutRows cut_rows(const GridBlock& block, const std::vector<RowData>& data) {
  CutRows rows{};
  rows.uvw_m = block.uvw_m.data();
  rows.wavenumber = block.wavenumber.data();
  rows.weight = block.weight.data();
  rows.data = data.data();
  rows.n_chan = static_cast<std::uint32_t>(block.wavenumber.size());
  rows.n_planes = static_cast<std::uint32_t>(block.weight.extent(2));
  if (block.aterms.jones.size() == 0) return rows;
  rows.station = block.station.data();
  rows.row_slot = block.aterms.row_slot.data();
  rows.chan_slot = block.aterms.chan_slot.data();
  if (block.aterms.response.size() == 0) return rows;
  rows.response = block.aterms.response.data();
  rows.n_chan_slots = static_cast<std::uint32_t>(block.aterms.response.extent(1));
  rows.n_stations = static_cast<std::uint32_t>(block.aterms.response.extent(2));
  return rows;
}

void cut_sub_tables(const CutLimits& limits, const CutRows& block, std::span<const std::uint32_t> rows,
                    SubTables& out) {
  double share = 0;
  for (const std::uint32_t row : rows) share = greater(share, share_of(limits, block, row));
  Appender appender{limits, out, out.runs.size()};
  Cutter<Appender> cutter(limits, block, appender);
  for (std::uint32_t chan = 0; chan < block.n_chan;) {
    const ChannelRange range = channel_range(block, share, chan);
    for (const std::uint32_t row : rows) cutter.add(row, range);
    cutter.finish();
    chan += range.n;
  }
}

void join_small(const CutLimits& limits, std::uint32_t few, unsigned n_threads, SubTables& tables) {
  struct Small {
    JoinPlace place;
    std::uint32_t index;
  };
  std::vector<Small> small;
  std::vector<std::uint32_t> large;
  for (std::size_t i = 0; i < tables.tables.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (tables.tables[i].n_visibilities >= few)
      large.push_back(index);
    else
      small.push_back({join_place(limits, tables.tables[i]), index});
  }
  const auto aterms = [&](const Small& of) {
    const AtermKey& key = tables.tables[of.index].aterms;
    return std::tie(key.row_slot, key.chan_slot, key.response_p, key.response_q, key.folded);
  };
  parallel_sort(n_threads, small, [&](const Small& a, const Small& b) {
    const auto square = [](const Small& of) { return std::tie(of.place.layer, of.place.v, of.place.u); };
    if (square(a) != square(b)) return square(a) < square(b);
    if (aterms(a) != aterms(b)) return aterms(a) < aterms(b);
    return std::tie(a.place.w, a.index) < std::tie(b.place.w, b.index);
  });

  // Neighbours of the order are joined while a subgrid holds them, by pieces of a layer; each group's tables
  // are consecutive in `small`.
  std::vector<std::uint8_t> opens(small.size(), 0);
  std::vector<std::size_t> pieces;
  for (std::size_t i = 0; i < small.size(); ++i)
    if (i == 0 || small[i].place.layer != small[i - 1].place.layer || i - pieces.back() == kJoinedAtOnce)
      pieces.push_back(i);
  pieces.push_back(small.size());
  parallel_for(n_threads, pieces.size() - 1, [&](std::size_t piece, unsigned) {
    SubTable open{};
    for (std::size_t i = pieces[piece]; i < pieces[piece + 1]; ++i) {
      const SubTable& table = tables.tables[small[i].index];
      if (i > pieces[piece] && limits.join(open, table)) {
        open.box = open.box.joined(table.box);
        open.n_visibilities += table.n_visibilities;
      } else {
        open = table;
        opens[i] = 1;
      }
    }
  });
  std::vector<std::size_t> first_small;
  for (std::size_t i = 0; i < small.size(); ++i)
    if (opens[i]) first_small.push_back(i);
  const std::size_t n_groups = first_small.size();
  first_small.push_back(small.size());

  SubTables joined;
  joined.tables.resize(n_groups + large.size());
  std::uint32_t n_runs = 0;
  for (std::size_t i = 0; i < joined.tables.size(); ++i) {
    SubTable& out = joined.tables[i];
    if (i < n_groups) {
      out = tables.tables[small[first_small[i]].index];
      for (std::size_t k = first_small[i] + 1; k < first_small[i + 1]; ++k) {
        const SubTable& table = tables.tables[small[k].index];
        out.box = out.box.joined(table.box);
        out.n_visibilities += table.n_visibilities;
        out.n_runs += table.n_runs;
      }
    } else {
      out = tables.tables[large[i - n_groups]];
    }
    out.first_run = n_runs;
    n_runs += out.n_runs;
  }
  joined.runs.resize(n_runs);
  constexpr std::size_t at_once = 1024;
  parallel_for(n_threads, (joined.tables.size() + at_once - 1) / at_once, [&](std::size_t piece, unsigned) {
    for (std::size_t i = piece * at_once; i < std::min(joined.tables.size(), (piece + 1) * at_once); ++i) {
      VisibilityRun* to = &joined.runs[joined.tables[i].first_run];
      auto append = [&](std::uint32_t index) {
        const VisibilityRun* from = &tables.runs[tables.tables[index].first_run];
        to = std::copy(from, from + tables.tables[index].n_runs, to);
      };
      if (i >= n_groups)
        append(large[i - n_groups]);
      else
        for (std::size_t k = first_small[i]; k < first_small[i + 1]; ++k) append(small[k].index);
    }
  });
  tables = std::move(joined);
}

SubgridTask task_of(const SubTable& table) {
  const SubTableCentre centre = centre_of(table.box);
  SubgridTask task;
  task.centre_u = centre.u;
  task.centre_v = centre.v;
  task.w_lambda = centre.w_lambda;
  task.half_w_lambda = centre.half_w_lambda;
  task.layer = table.layer;
  task.first_run = table.first_run;
  task.n_runs = table.n_runs;
  task.n_visibilities = table.n_visibilities;
  task.aterms = table.aterms;
  return task;
}

}  // namespace apsyn::idg
