// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "libcore/core/error.h"
#include "libcore/core/parallel.h"

namespace apsyn {
namespace {

/// Longer tasks are split so that threads share the work evenly; the splitting depends on the data alone.
constexpr std::size_t most_per_task = 8192;

struct Keyed {
  std::uint64_t key;
  VisibilityRun run;
};

/// layer | v square | u square, each offset to be positive, so that sorting by the key sorts by these three.
constexpr std::int64_t square_offset = 1 << 21;

class Squares {
 public:
  explicit Squares(const IdgPlan& plan)
      : plan_(plan),
        per_u_(static_cast<double>(plan.n_u) * plan.image.cell_rad / static_cast<double>(plan.bucket())),
        per_v_(static_cast<double>(plan.n_v) * plan.image.cell_rad / static_cast<double>(plan.bucket())) {}

  std::uint64_t key(double u, double v, double w) const {
    if (w < 0) {
      u = -u;
      v = -v;
      w = -w;
    }
    const double square_u = std::floor(u * per_u_ + 0.5), square_v = std::floor(v * per_v_ + 0.5);
    const double layer = std::floor(w / plan_.layer_step_lambda);
    if (!(std::abs(square_u) < square_offset && std::abs(square_v) < square_offset))
      throw DataError("uvw: u = {:g}, v = {:g} wavelengths is no coordinate of this field: check UVW", u, v);
    const double last = static_cast<double>(
        plan_.w_handling == WHandling::kernel ? plan_.n_layers - plan_.n_terms : plan_.n_layers - 1);
    if (!(w <= plan_.layer_step_lambda * (last + 1) * (1 + 1e-9)))
      throw DataError("uvw: w = {:g} wavelengths is beyond the planned layers", w);
    return static_cast<std::uint64_t>(std::min(layer, last)) << 44 |
           static_cast<std::uint64_t>(static_cast<std::int64_t>(square_v) + square_offset) << 22 |
           static_cast<std::uint64_t>(static_cast<std::int64_t>(square_u) + square_offset);
  }

 private:
  const IdgPlan& plan_;
  double per_u_, per_v_;
};

/// Extent in uv cells of the visibilities that a task has so far.
struct Box {
  double least_u = INFINITY, most_u = -INFINITY, least_v = INFINITY, most_v = -INFINITY;

  void include(const IdgPlan& plan, const GridBlock& block, const VisibilityRun& run) {
    const double sign = block.uvw_m(run.row, 2) < 0 ? -1 : 1, cell = plan.image.cell_rad;
    for (std::size_t chan : {run.first_channel, run.first_channel + run.n_channels - 1}) {
      const double scale = sign * block.wavenumber[chan] * cell;
      const double u = block.uvw_m(run.row, 0) * scale * static_cast<double>(plan.n_u);
      const double v = block.uvw_m(run.row, 1) * scale * static_cast<double>(plan.n_v);
      least_u = std::min(least_u, u);
      most_u = std::max(most_u, u);
      least_v = std::min(least_v, v);
      most_v = std::max(most_v, v);
    }
  }
  /// In the middle of its visibilities a subgrid has the most room on all sides.
  void centre(SubgridTask& task) const {
    task.centre_u = std::llround((least_u + most_u) / 2);
    task.centre_v = std::llround((least_v + most_v) / 2);
  }
};

bool has_data(const GridBlock& block, std::size_t row, std::size_t chan) {
  for (std::size_t plane = 0; plane < block.weight.extent(2); ++plane)
    if (block.weight(row, chan, plane) != 0) return true;
  return false;
}

/// Whether a task whose first layer is `layer` reaches into the pass.
bool in_pass(const IdgPlan& plan, std::size_t layer, const LayerRange& layers) {
  const std::size_t reach = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
  return layer < layers.first + layers.n && layer + reach > layers.first;
}

/// Runs of rows [first_row, last_row), in their order.
std::vector<Keyed> key_rows(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers,
                            std::size_t first_row, std::size_t last_row) {
  const Squares squares(plan);
  std::vector<Keyed> keyed;
  for (std::size_t row = first_row; row < last_row; ++row) {
    bool open = false;
    for (std::size_t chan = 0; chan < block.wavenumber.size(); ++chan) {
      if (!has_data(block, row, chan)) {
        open = false;
        continue;
      }
      const double k = block.wavenumber[chan];
      const std::uint64_t key =
          squares.key(block.uvw_m(row, 0) * k, block.uvw_m(row, 1) * k, block.uvw_m(row, 2) * k);
      if (open && keyed.back().key == key) {
        ++keyed.back().run.n_channels;
        continue;
      }
      open = in_pass(plan, key >> 44, layers);
      if (open)
        keyed.push_back({key, {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(chan), 1}});
    }
  }
  return keyed;
}

}  // namespace

Partition partition(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers,
                    unsigned n_threads) {
  constexpr std::size_t rows_at_once = 2048;
  const std::size_t n_row = block.uvw_m.extent(0);
  std::vector<std::vector<Keyed>> pieces((n_row + rows_at_once - 1) / rows_at_once);
  parallel_for(n_threads, pieces.size(), [&](std::size_t piece, unsigned) {
    const std::size_t first = piece * rows_at_once;
    pieces[piece] = key_rows(plan, block, layers, first, std::min(n_row, first + rows_at_once));
  });
  std::vector<Keyed> keyed;
  for (const std::vector<Keyed>& piece : pieces) keyed.insert(keyed.end(), piece.begin(), piece.end());
  std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });

  Partition result;
  result.runs.reserve(keyed.size());
  Box box;
  std::uint64_t last_key = 0;
  for (const Keyed& item : keyed) {
    const bool full =
        !result.tasks.empty() && result.tasks.back().n_visibilities + item.run.n_channels > most_per_task;
    if (result.tasks.empty() || item.key != last_key || full) {
      if (!result.tasks.empty()) box.centre(result.tasks.back());
      box = {};
      SubgridTask task;
      task.layer = item.key >> 44;
      task.first_run = result.runs.size();
      result.tasks.push_back(task);
      last_key = item.key;
    }
    SubgridTask& task = result.tasks.back();
    ++task.n_runs;
    task.n_visibilities += item.run.n_channels;
    result.n_visibilities += item.run.n_channels;
    result.runs.push_back(item.run);
    box.include(plan, block, item.run);
  }
  if (!result.tasks.empty()) box.centre(result.tasks.back());
  return result;
}

void check_block(const GridBlock& block, std::size_t n_data_planes) {
  const std::size_t n_row = block.uvw_m.extent(0), n_chan = block.wavenumber.size();
  const std::array<std::size_t, 3> data{n_row, n_chan, n_data_planes};
  const auto& weight = block.weight.shape();
  if (block.data.shape() != data || weight[0] != n_row || weight[1] != n_chan ||
      weight[2] < std::max<std::size_t>(1, n_data_planes) ||
      (block.path_m.size() != 0 && block.path_m.size() != n_row))
    throw std::invalid_argument("gridder: the block's arrays differ in shape");
}

}  // namespace apsyn
