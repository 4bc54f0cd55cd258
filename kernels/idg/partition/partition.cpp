// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/partition/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/idg/partition/parallel_sort.h"
#include "kernels/idg/partition/sub_tables.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Rows by baseline, each baseline's in their order.
struct RowsByBaseline {
  std::vector<std::uint32_t> rows;
  std::vector<std::size_t> first;  ///< of each baseline that has rows, and the end
};

RowsByBaseline sort_rows(const GridBlock& block, unsigned n_threads) {
  const std::size_t n_row = block.uvw_m.extent(0);
  RowsByBaseline sorted;
  sorted.rows.resize(n_row);
  if (block.station.size() == 0) {
    for (std::size_t row = 0; row < n_row; ++row) sorted.rows[row] = static_cast<std::uint32_t>(row);
    sorted.first = {0, n_row};
    return sorted;
  }
  // A counting sort in pieces: each piece counts its rows, then places them behind those of the pieces
  // before.
  const std::size_t n_station =
      n_row == 0 ? 0 : *std::max_element(block.station.begin(), block.station.end()) + std::size_t{1};
  const std::size_t n_key = n_station * n_station;
  const std::size_t n_pieces = std::clamp<std::size_t>(n_row / std::max<std::size_t>(n_key, 1 << 14), 1, 16);
  std::vector<std::vector<std::uint32_t>> place(n_pieces);
  auto key = [&](std::size_t row) { return block.station(row, 0) * n_station + block.station(row, 1); };
  auto piece_rows = [&](std::size_t piece) {
    return std::pair(n_row * piece / n_pieces, n_row * (piece + 1) / n_pieces);
  };
  parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned) {
    place[piece].assign(n_key, 0);
    const auto [begin, end] = piece_rows(piece);
    for (std::size_t row = begin; row < end; ++row) ++place[piece][key(row)];
  });
  std::uint32_t next = 0;
  for (std::size_t k = 0; k < n_key; ++k) {
    const std::uint32_t begin = next;
    for (auto& counts : place) next += std::exchange(counts[k], next);
    if (next != begin) sorted.first.push_back(begin);
  }
  sorted.first.push_back(n_row);
  parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned) {
    const auto [begin, end] = piece_rows(piece);
    for (std::size_t row = begin; row < end; ++row)
      sorted.rows[place[piece][key(row)]++] = static_cast<std::uint32_t>(row);
  });
  return sorted;
}

/// work(i) for all i, by threads.
template <class Work>
void for_each_piece(unsigned n_threads, std::size_t n, const Work& work) {
  constexpr std::size_t at_once = 4096;
  parallel_for(n_threads, (n + at_once - 1) / at_once, [&](std::size_t piece, unsigned) {
    for (std::size_t i = piece * at_once; i < std::min(n, (piece + 1) * at_once); ++i) work(i);
  });
}

/// The pieces' tables one after the other.
idg::SubTables join(std::vector<idg::SubTables>& pieces, unsigned n_threads) {
  idg::SubTables all;
  std::vector<std::size_t> first_table, first_run;
  std::size_t n_tables = 0, n_runs = 0;
  for (const idg::SubTables& piece : pieces) {
    first_table.push_back(n_tables);
    first_run.push_back(n_runs);
    n_tables += piece.tables.size();
    n_runs += piece.runs.size();
  }
  all.tables.resize(n_tables);
  all.runs.resize(n_runs);
  parallel_for(n_threads, pieces.size(), [&](std::size_t i, unsigned) {
    idg::SubTables& piece = pieces[i];
    for (idg::SubTable& table : piece.tables) table.first_run += static_cast<std::uint32_t>(first_run[i]);
    std::copy(piece.tables.begin(), piece.tables.end(), all.tables.data() + first_table[i]);
    std::copy(piece.runs.begin(), piece.runs.end(), all.runs.data() + first_run[i]);
    piece = {};
  });
  return all;
}

/// Tasks whose cells are shared, of tables that a subgrid holds together.
struct SharedCells {
  idg::UvwBox box;
  std::uint32_t n_visibilities = 0;
  std::vector<std::uint32_t> tasks;
};

/// Moves tasks of neighbouring tables to the same centre as long as one thread's work does not become more
/// than that of a large task. Neighbours are few of the tables of a square, those opened last.
void share_cells(const idg::CutLimits& limits, const std::vector<idg::SubTable>& tables, unsigned n_threads,
                 std::vector<SubgridTask>& tasks) {
  constexpr std::size_t kOpen = 8;
  struct Placed {
    idg::JoinPlace place;
    std::uint32_t index;
  };
  std::vector<Placed> placed(tables.size());
  for_each_piece(n_threads, placed.size(), [&](std::size_t i) {
    placed[i] = {idg::join_place(limits, tables[i]), static_cast<std::uint32_t>(i)};
  });
  const auto square = [](const Placed& of) { return std::tie(of.place.layer, of.place.v, of.place.u); };
  idg::parallel_sort(n_threads, placed, [&](const Placed& a, const Placed& b) {
    return square(a) != square(b) ? square(a) < square(b) : a.index < b.index;
  });
  const auto holds = [&](const idg::UvwBox& box) {
    return std::ceil(box.max_u) - std::floor(box.min_u) <= limits.max_cells &&
           std::ceil(box.max_v) - std::floor(box.min_v) <= limits.max_cells;
  };
  std::vector<std::size_t> squares;
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (i == 0 || square(placed[i]) != square(placed[i - 1])) squares.push_back(i);
  squares.push_back(placed.size());
  parallel_for(n_threads, squares.size() - 1, [&](std::size_t s, unsigned) {
    std::vector<SharedCells> shared;
    for (std::size_t i = squares[s]; i < squares[s + 1]; ++i) {
      const std::uint32_t index = placed[i].index;
      const idg::SubTable& table = tables[index];
      std::size_t to = shared.size() - std::min(kOpen, shared.size());
      while (to < shared.size() &&
             (shared[to].n_visibilities + table.n_visibilities > idg::kMaxVisibilities ||
              !holds(shared[to].box.joined(table.box))))
        ++to;
      if (to == shared.size()) shared.emplace_back();
      shared[to].box = shared[to].tasks.empty() ? table.box : shared[to].box.joined(table.box);
      shared[to].n_visibilities += table.n_visibilities;
      shared[to].tasks.push_back(index);
    }
    for (const SharedCells& cells : shared) {
      const idg::SubTableCentre centre = idg::centre_of(cells.box);
      for (const std::uint32_t index : cells.tasks) {
        tasks[index].centre_u = centre.u;
        tasks[index].centre_v = centre.v;
      }
    }
  });
}

/// All cells of the subgrids must be held.
void check_reach(const IdgPlan& plan, const SubgridTask& task) {
  const auto half = static_cast<std::int64_t>(plan.settings.subgrid / 2);
  auto holds = [&](std::int64_t centre, std::size_t n, std::size_t n_held) {
    return n_held == n || std::abs(centre) + half <= static_cast<std::int64_t>(n_held / 2);
  };
  if (!holds(task.centre_u, plan.n_u, plan.n_u_stored()) ||
      !holds(task.centre_v, plan.n_v, plan.n_v_stored()))
    throw DataError("uvw: {}, {} uv cells are beyond the planned {:g}, {:g} wavelengths", task.centre_u,
                    task.centre_v, plan.max_u_lambda, plan.max_v_lambda);
}

}  // namespace

Partition partition(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers, unsigned n_threads,
                    const JoinRules& rules) {
  const RowsByBaseline sorted = sort_rows(block, n_threads);
  std::vector<std::span<const std::uint32_t>> work;
  for (std::size_t i = 0; i + 1 < sorted.first.size(); ++i)
    for (std::size_t row = sorted.first[i]; row < sorted.first[i + 1]; row += idg::kRowsAtOnce)
      work.emplace_back(&sorted.rows[row],
                        std::min<std::size_t>(idg::kRowsAtOnce, sorted.first[i + 1] - row));
  const idg::CutLimits limits = idg::cut_limits(plan, layers, rules.folds_apart);
  const std::vector<idg::RowData> row_data = idg::survey_rows(block, n_threads);
  const idg::CutRows rows = idg::cut_rows(block, row_data);
  const std::size_t n_pieces = (work.size() + 15) / 16;
  std::vector<idg::SubTables> pieces(n_pieces);
  parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned) {
    for (std::size_t i = piece * 16; i < std::min(work.size(), piece * 16 + 16); ++i)
      idg::cut_sub_tables(limits, rows, work[i], pieces[piece]);
  });
  idg::SubTables tables = join(pieces, n_threads);
  idg::join_small(limits, rules.few, n_threads, tables);
  std::erase_if(tables.tables, [&](const idg::SubTable& table) { return !limits.takes(table); });

  struct Place {
    std::uint32_t layer, index;
    std::int64_t v, u;
  };
  std::vector<SubgridTask> tasks(tables.tables.size());
  std::vector<Place> order(tasks.size());
  for_each_piece(n_threads, tasks.size(), [&](std::size_t i) { tasks[i] = idg::task_of(tables.tables[i]); });
  if (rules.share_cells) share_cells(limits, tables.tables, n_threads, tasks);
  for_each_piece(n_threads, order.size(), [&](std::size_t i) {
    order[i] = {static_cast<std::uint32_t>(tasks[i].layer), static_cast<std::uint32_t>(i), tasks[i].centre_v,
                tasks[i].centre_u};
  });
  idg::parallel_sort(n_threads, order, [](const Place& a, const Place& b) {
    return std::tie(a.layer, a.v, a.u, a.index) < std::tie(b.layer, b.v, b.u, b.index);
  });
  Partition result;
  result.tasks.resize(order.size());
  for_each_piece(n_threads, order.size(), [&](std::size_t i) { result.tasks[i] = tasks[order[i].index]; });
  for (const SubgridTask& task : result.tasks) {
    check_reach(plan, task);
    result.n_visibilities += task.n_visibilities;
  }
  result.runs = std::move(tables.runs);
  return result;
}

std::size_t n_on_same_cells(const Partition& partition, std::size_t first) {
  const SubgridTask& own = partition.tasks[first];
  std::size_t end = first + 1;
  while (end < partition.tasks.size() && partition.tasks[end].layer == own.layer &&
         partition.tasks[end].centre_u == own.centre_u && partition.tasks[end].centre_v == own.centre_v)
    ++end;
  return end - first;
}

std::array<std::complex<double>, 4> folded_mix(const std::array<std::complex<double>, 4>& mix) {
  std::array<std::complex<double>, 4> folded;
  for (std::size_t c = 0; c < 4; ++c) folded[c] = std::conj(mix[exchanged_correlations[c]]);
  return folded;
}

bool folds_apart(const IdgSetup& setup) {
  return std::any_of(setup.mix.begin(), setup.mix.end(),
                     [](const auto& plane) { return folded_mix(plane) != plane; });
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
      aterms.row_slot.size() != n_row || aterms.chan_slot.size() != n_chan || aterms.jones.extent(5) != 4)
    throw std::invalid_argument("gridder: A-terms need four planes, stations and slots of the block's shape");
  const auto& response = aterms.response;
  const bool shared = response.size() > 0;
  if (shared &&
      (response.extent(0) != aterms.jones.extent(0) || response.extent(1) != aterms.jones.extent(1)))
    throw std::invalid_argument("gridder: the stations' responses are not of the Jones matrices' slots");
  if (n_row > 0 &&
      (largest(aterms.row_slot) >= aterms.jones.extent(0) ||
       largest(aterms.chan_slot) >= aterms.jones.extent(1) ||
       *std::max_element(block.station.begin(), block.station.end()) >=
           (shared ? response.extent(2) : aterms.jones.extent(2)) ||
       (shared && *std::max_element(response.begin(), response.end()) >= aterms.jones.extent(2))))
    throw std::invalid_argument("gridder: an A-term slot, station or response beyond the Jones matrices");
}

}  // namespace apsyn
