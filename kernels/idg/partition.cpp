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
  std::uint64_t aterms;  ///< what one subgrid's A-terms depend on; 0 without
  VisibilityRun run;
};

/// row slot | channel slot | p | q | folded
constexpr int kSlotBits = 20, kChanSlotBits = 11, kStationBits = 16;

std::uint64_t aterm_key(const GridBlock& block, std::size_t row, std::size_t chan) {
  if (block.aterms.jones.size() == 0) return 0;
  std::uint64_t key = block.aterms.row_slot[row];
  key = key << kChanSlotBits | block.aterms.chan_slot[chan];
  key = key << kStationBits | block.station(row, 0);
  key = key << kStationBits | block.station(row, 1);
  return key << 1 | (block.uvw_m(row, 2) < 0 ? 1 : 0);
}

void name_aterms(SubgridTask& task, std::uint64_t key) {
  auto take = [&](int bits) {
    const auto value = static_cast<std::uint32_t>(key & ((std::uint64_t{1} << bits) - 1));
    key >>= bits;
    return value;
  };
  task.folded = take(1) != 0;
  task.station_q = take(kStationBits);
  task.station_p = take(kStationBits);
  task.chan_slot = take(kChanSlotBits);
  task.row_slot = take(kSlotBits);
}

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
  double least_w = INFINITY, most_w = -INFINITY;  ///< wavelengths

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
      const double w = std::abs(block.uvw_m(run.row, 2)) * block.wavenumber[chan];
      least_w = std::min(least_w, w);
      most_w = std::max(most_w, w);
    }
  }
  /// In the middle of its visibilities a subgrid has the most room on all sides.
  void centre(SubgridTask& task) const {
    task.centre_u = std::llround((least_u + most_u) / 2);
    task.centre_v = std::llround((least_v + most_v) / 2);
    task.w_lambda = (least_w + most_w) / 2;
    task.half_w_lambda = (most_w - least_w) / 2;
  }
};

bool has_data(const GridBlock& block, std::size_t row, std::size_t chan) {
  if (block.weight.size() == 0) return true;
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
      const std::uint64_t aterms = aterm_key(block, row, chan);
      if (open && keyed.back().key == key && keyed.back().aterms == aterms) {
        ++keyed.back().run.n_channels;
        continue;
      }
      open = in_pass(plan, key >> 44, layers);
      if (open)
        keyed.push_back(
            {key, aterms, {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(chan), 1}});
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
  std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : a.aterms < b.aterms;
  });

  Partition result;
  result.runs.reserve(keyed.size());
  Box box;
  std::uint64_t last_key = 0, last_aterms = 0;
  for (const Keyed& item : keyed) {
    const bool full =
        !result.tasks.empty() && result.tasks.back().n_visibilities + item.run.n_channels > most_per_task;
    if (result.tasks.empty() || item.key != last_key || item.aterms != last_aterms || full) {
      if (!result.tasks.empty()) box.centre(result.tasks.back());
      box = {};
      SubgridTask task;
      task.layer = item.key >> 44;
      name_aterms(task, item.aterms);
      task.first_run = result.runs.size();
      result.tasks.push_back(task);
      last_key = item.key;
      last_aterms = item.aterms;
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

void check_block(const GridBlock& block, const IdgSetup& setup) {
  const std::size_t n_row = block.uvw_m.extent(0), n_chan = block.wavenumber.size();
  const std::array<std::size_t, 3> data{n_row, n_chan, setup.n_data_planes};
  const auto& weight = block.weight.shape();
  const bool weightless = block.weight.size() == 0 && block.data.size() == 0;
  if ((block.data.size() != 0 && block.data.shape() != data) ||
      (!weightless && (weight[0] != n_row || weight[1] != n_chan ||
                       weight[2] < std::max<std::size_t>(1, setup.n_data_planes))) ||
      (block.path_m.size() != 0 && block.path_m.size() != n_row) ||
      (block.station.size() != 0 && block.station.extent(0) != n_row))
    throw std::invalid_argument("gridder: the block's arrays differ in shape");
  if (setup.aterms == AtermMode::none) return;
  const AtermBlock& aterms = block.aterms;
  auto largest = [](const View<const std::uint32_t, 1>& slots) {
    return slots.size() == 0 ? 0u : *std::max_element(slots.begin(), slots.end());
  };
  if (setup.n_data_planes != 4 || setup.mix.empty() || block.station.size() == 0 ||
      aterms.row_slot.size() != n_row || aterms.chan_slot.size() != n_chan || aterms.jones.extent(5) != 4 ||
      aterms.jones.extent(0) > 1u << kSlotBits || aterms.jones.extent(1) > 1u << kChanSlotBits ||
      aterms.jones.extent(2) > 1u << kStationBits)
    throw std::invalid_argument("gridder: A-terms need four planes, stations and slots of the block's shape");
  if (n_row > 0 && (largest(aterms.row_slot) >= aterms.jones.extent(0) ||
                    largest(aterms.chan_slot) >= aterms.jones.extent(1) ||
                    *std::max_element(block.station.begin(), block.station.end()) >= aterms.jones.extent(2)))
    throw std::invalid_argument("gridder: an A-term slot or station beyond the Jones matrices");
}

}  // namespace apsyn
