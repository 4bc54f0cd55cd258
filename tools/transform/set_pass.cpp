// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/set_pass.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "kernels/average/average.h"
#include "kernels/average/smearing.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/transform/mover.h"

namespace apsyn::transform {
namespace {

using average::RowShape;

constexpr std::size_t kMaxRows = 1 << 14;          ///< of a block, whose scalars are in memory
constexpr std::size_t kMaxRowsOfGroups = 1 << 16;  ///< of a block whose cells are not kept
constexpr std::size_t kRunBytes = 1u << 16;        ///< of cells side by side, for which a group has more bins
constexpr std::uint64_t kBlockBytes = 48u << 20;   ///< of its cells, where they are kept
constexpr std::uint64_t kRowBytes = 600;           ///< of a row beside its cells, in a block
constexpr std::uint64_t kBinBytes = 300;           ///< of a bin beside its sums
constexpr std::uint64_t kThreadBytes = 3u << 20;   ///< cells on their way, of each thread
constexpr std::size_t kPieceBytes = 1u << 19;      ///< of cells that are written together
constexpr std::uint64_t kValueBytes = sizeof(std::complex<float>) + sizeof(float);
constexpr std::uint64_t kSumBytes = 3 * sizeof(double);

/// Rows are only left out: no two share a bin, and none goes on in the next block, so that values under flags
/// stay as they are.
bool averages_nothing(const Options& options) {
  return options.average_time_s == 0;
}

BinSettings bin_settings(const Options& options, const JoinedSets& sets) {
  BinSettings settings;
  settings.begin_mjd_s = sets.begin_mjd_s();
  settings.length_s = options.average_time_s;
  if (options.bda_loss > 0) settings.turns = average::turns_of_loss(options.bda_loss);
  if (averages_nothing(options)) settings.turns = 1;
  return settings;
}

bool keeps_row(const Options& options, const MsRows& rows, std::size_t row) {
  if (!options.selects_uvw()) return true;
  const double length_m = JoinedSets::length_m(rows, row);
  return length_m >= options.min_uvw_m && length_m <= options.max_uvw_m;
}

/// Of the rows of a bin, beside their cells: weighted by what their data weigh, or, where no row has any, all
/// the same.
struct RowSums {
  double weight = 0, time = 0, exposure_s = 0;
  std::array<double, 3> uvw_m{};
  double all_time = 0, all_exposure_s = 0;
  std::array<double, 3> all_uvw_m{};
  std::size_t n = 0;

  /// Times are counted from `origin_s`, lest their sums lose digits.
  void add(const MsRows& rows, std::size_t row, double origin_s, double row_weight) {
    const double at_s = rows.time_mjd_s[row] - origin_s;
    weight += row_weight;
    time += row_weight * at_s;
    if (row_weight > 0) exposure_s += rows.exposure_s[row];
    all_time += at_s;
    all_exposure_s += rows.exposure_s[row];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      uvw_m[axis] += row_weight * rows.uvw_m(row, axis);
      all_uvw_m[axis] += rows.uvw_m(row, axis);
    }
    ++n;
  }
};

struct Sums {
  average::CellSums cells;
  RowSums rows;

  void reset(std::size_t n_cells) {
    cells.reset(n_cells);
    rows = {};
  }
};

/// Rows of the output beside their cells.
struct RowFacts {
  std::vector<Baseline> baselines;
  std::vector<double> uvw_m;  ///< [row][3]
  MsWriteRows rows;

  void resize(std::size_t n) {
    baselines.resize(n);
    uvw_m.resize(3 * n);
    rows.row_time_mjd_s.resize(n);
    rows.row_interval_s.resize(n);
    rows.row_exposure_s.resize(n);
    rows.row_centroid_mjd_s.resize(n);
    rows.row_field.resize(n);
    rows.row_scan.resize(n);
    rows.baselines = &baselines;
    rows.uvw_m = View<const double, 2>(uvw_m.data(), {n, 3});
  }
};

class Pass {
 public:
  Pass(const Options& options, JoinedSets& sets, const SetPlan& plan, const UvwCheck& uvw, RowSink& sink,
       unsigned n_threads)
      : options_(options),
        sets_(sets),
        plan_(plan),
        sink_(sink),
        n_threads_(n_threads),
        in_{sets.n_channels(), sets.products().size()},
        out_{plan.n_channels, sets.products().size()},
        mover_(options, sets, uvw),
        bins_(bin_settings(options, sets)),
        scratch_(std::max(1u, n_threads)) {}

  /// Calls done(rows) after each block.
  template <class Done>
  void run(Done done) {
    for (std::size_t number = 0; number < sets_.sets().size(); ++number) {
      JoinedSet& set = sets_.sets()[number];
      set.source->begin(RowPass::cells);
      while (set.source->next(rows_, plan_.block_rows)) {
        mover_.prepare(set, rows_);
        if (plan_.side_by_side)
          average_groups(set, plan_.last_rows[number]);
        else
          plan_.bins ? average_block(set) : write_block(set);
        done(rows_.ant1.size());
      }
      set.source->check_use();
    }
    if (!plan_.bins) return;
    bins_.close_all();
    write_closed();
  }

 private:
  struct Cells {
    View<const std::complex<float>, 3> data;
    View<const float, 3> weight;
  };
  /// Cells of a thread on their way.
  struct Scratch {
    Buffer<std::complex<float>, 3> turned, data;
    Buffer<float, 3> weight;
    Sums sums;
  };
  /// Neighbouring bins, whose rows lie side by side.
  struct Group {
    std::size_t first = 0, n = 0;  ///< among all bins of the block
  };
  /// A group that a thread works on.
  struct GroupWork {
    struct Bin {
      Sums sums;                      ///< where it has none of earlier blocks
      bool whole = false;             ///< its means are there
      std::vector<std::size_t> rows;  ///< of those at hand
      average::RowCells cells;        ///< of these
    };
    std::vector<std::pair<std::size_t, std::size_t>> rows;  ///< and the bins in the group, by rows
    std::size_t n_done = 0;                                 ///< of the rows
    std::vector<Bin> bins;
    std::vector<double> row_weight;
    Buffer<std::complex<float>, 3> data;
    Buffer<float, 3> weight;
  };
  static GroupWork& group_work() {
    thread_local GroupWork work;
    return work;
  }

  /// Turns and averages a piece of the rows, into memory of the thread or, where there is nothing to do, not
  /// at all.
  template <class RowOf>
  Cells change(const JoinedSet& set, RowOf row_of, Cells cells, Scratch& scratch) {
    const std::size_t n = cells.data.extent(0);
    const bool averages = options_.average_channels > 1;
    bool any = false;
    const std::vector<double>& channel_hz =
        sets_.windows()[static_cast<std::size_t>(set.window_of[static_cast<std::size_t>(rows_.spw)])]
            .channel_hz;
    thread_local std::vector<double> paths_m;
    paths_m.resize(n);
    for (std::size_t row = 0; row < n; ++row) {
      paths_m[row] = mover_.move(set, rows_, row_of(row));
      any = any || paths_m[row] != 0;
    }
    if (any) {
      scratch.turned.resize_for_overwrite(cells.data.shape());
      for (std::size_t row = 0; row < n; ++row)
        average::turn_row(cells.data[row].data(), in_, channel_hz.data(), paths_m[row],
                          scratch.turned.view()[row].data());
      cells.data = std::as_const(scratch.turned).view();
    }
    if (!averages) return cells;
    scratch.data.resize_for_overwrite({n, out_.n_chan, out_.n_product});
    scratch.weight.resize_for_overwrite({n, out_.n_chan, out_.n_product});
    for (std::size_t row = 0; row < n; ++row)
      average::average_channels(cells.data[row].data(), cells.weight[row].data(), in_,
                                options_.average_channels, scratch.data.view()[row].data(),
                                scratch.weight.view()[row].data());
    return {std::as_const(scratch.data).view(), std::as_const(scratch.weight).view()};
  }

  /// Rows that are written one by one.
  void write_block(const JoinedSet& set) {
    const std::size_t n = rows_.ant1.size();
    facts_.resize(n);
    for (std::size_t row = 0; row < n; ++row) {
      const BinRow facts = sets_.bin_row(set, rows_, row, options_);
      facts_.baselines[row] = {facts.ant1, facts.ant2};
      facts_.rows.row_field[row] = facts.field;
      facts_.rows.window = facts.window;
    }
    facts_.rows.row_time_mjd_s = facts_.rows.row_centroid_mjd_s = rows_.time_mjd_s;
    facts_.rows.row_interval_s = rows_.interval_s;
    facts_.rows.row_exposure_s = rows_.exposure_s;
    facts_.rows.row_scan = rows_.scan;
    sink_.place(next_row_, facts_.rows);
    set.source->read_cells(rows_, n_threads_, [&](std::size_t first, auto data, auto weight) {
      thread_local Scratch scratch;
      const auto row_of = [&](std::size_t i) { return first + i; };
      const Cells cells = change(set, row_of, {data, weight}, scratch);
      sink_.put_cells(next_row_ + static_cast<std::int64_t>(first), cells.data, cells.weight);
    });
    std::copy(rows_.uvw_m.begin(), rows_.uvw_m.end(), facts_.uvw_m.begin());
    sink_.put_rows(next_row_, facts_.rows);
    next_row_ += static_cast<std::int64_t>(n);
  }

  void average_block(const JoinedSet& set) {
    const std::size_t n = rows_.ant1.size(), n_cells = out_.size();
    data_.resize_for_overwrite({n, out_.n_chan, out_.n_product});
    weight_.resize_for_overwrite({n, out_.n_chan, out_.n_product});
    set.source->read_cells(rows_, n_threads_, [&](std::size_t first, auto data, auto weight) {
      thread_local Scratch scratch;
      const auto row_of = [&](std::size_t i) { return first + i; };
      const Cells cells = change(set, row_of, {data, weight}, scratch);
      std::copy(cells.data.begin(), cells.data.end(), data_.data() + first * n_cells);
      std::copy(cells.weight.begin(), cells.weight.end(), weight_.data() + first * n_cells);
    });
    for (std::size_t row = 0; row < n; ++row)
      if (keeps_row(options_, rows_, row))
        bins_.add(sets_.bin_row(set, rows_, row, options_), static_cast<std::uint32_t>(row));
    if (averages_nothing(options_)) bins_.close_all();
    write_closed();
    keep_open();
  }

  /// Adds the rows of this block to the sums of their bin.
  void add_rows(const RowBin& bin, Sums& sums) {
    const std::size_t n_cells = out_.size();
    for (const std::uint32_t row : bin.rows) {
      const double weight =
          average::add_row(data_.data() + row * n_cells, weight_.data() + row * n_cells, n_cells, sums.cells);
      sums.rows.add(rows_, row, bin.begin_s, weight);
    }
  }

  /// Calls work(first bin, bins behind it, thread) for pieces of so many bins by all threads.
  template <class Work>
  void for_pieces(std::size_t n_bins, Work work) {
    const std::size_t at_once =
        std::max<std::size_t>(1, kPieceBytes / std::max<std::size_t>(1, out_.size() * kValueBytes));
    parallel_for(n_threads_, (n_bins + at_once - 1) / at_once, [&](std::size_t item, unsigned thread) {
      work(item * at_once, std::min(n_bins, (item + 1) * at_once), scratch_[thread]);
    });
  }

  /// The bins that have ended, those of one window after the other.
  void write_closed() {
    std::vector<RowBin>& closed = bins_.closed();
    for (std::size_t first = 0, end = 0; first < closed.size(); first = end) {
      while (end < closed.size() && closed[end].first.window == closed[first].first.window) ++end;
      write_bins(closed.data() + first, end - first);
    }
    closed.clear();
  }

  /// Of rows of the output, all but what their cells tell.
  void describe(const RowBin* bins, std::size_t n) {
    facts_.resize(n);
    facts_.rows.window = bins[0].first.window;
    for (std::size_t i = 0; i < n; ++i) {
      const RowBin& bin = bins[i];
      facts_.baselines[i] = {bin.first.ant1, bin.first.ant2};
      facts_.rows.row_field[i] = bin.first.field;
      facts_.rows.row_scan[i] = bin.first.scan;
      facts_.rows.row_time_mjd_s[i] = (bin.begin_s + bin.end_s) / 2;
      facts_.rows.row_interval_s[i] = bin.end_s - bin.begin_s;
    }
    sink_.place(next_row_, facts_.rows);
  }

  void write_bins(RowBin* bins, std::size_t n) {
    describe(bins, n);
    for_pieces(n, [&](std::size_t first, std::size_t end, Scratch& scratch) {
      const std::array<std::size_t, 3> shape{end - first, out_.n_chan, out_.n_product};
      scratch.data.resize_for_overwrite(shape);
      scratch.weight.resize_for_overwrite(shape);
      for (std::size_t i = first; i < end; ++i)
        finish_bin(bins[i], i, scratch.data.view()[i - first].data(), scratch.weight.view()[i - first].data(),
                   scratch.sums);
      sink_.put_cells(next_row_ + static_cast<std::int64_t>(first), std::as_const(scratch.data).view(),
                      std::as_const(scratch.weight).view());
    });
    put_bins(bins, n);
  }

  void put_bins(const RowBin* bins, std::size_t n) {
    sink_.put_rows(next_row_, facts_.rows);
    next_row_ += static_cast<std::int64_t>(n);
    for (std::size_t i = 0; i < n; ++i)
      if (bins[i].sums >= 0) free_sums_.push_back(bins[i].sums);
  }

  /// Cells and facts of a row of the output.
  void finish_bin(const RowBin& bin, std::size_t number, std::complex<float>* data, float* weight,
                  Sums& own) {
    const std::size_t n_cells = out_.size();
    Sums& sums = bin.sums >= 0 ? kept_[static_cast<std::size_t>(bin.sums)] : own;
    if (bin.sums < 0) sums.reset(n_cells);
    add_rows(bin, sums);
    average::finish_row(sums.cells, data, weight);
    if (bin.sums < 0 && bin.rows.size() == 1)  // as it is, under its flags, too
      std::copy_n(data_.data() + bin.rows[0] * n_cells, n_cells, data);
    finish_facts(bin, number, sums.rows);
  }

  void finish_facts(const RowBin& bin, std::size_t number, const RowSums& rows) {
    const bool any = rows.weight > 0;
    const double total = any ? rows.weight : static_cast<double>(rows.n);
    for (std::size_t axis = 0; axis < 3; ++axis)
      facts_.uvw_m[3 * number + axis] = (any ? rows.uvw_m[axis] : rows.all_uvw_m[axis]) / total;
    facts_.rows.row_centroid_mjd_s[number] = bin.begin_s + (any ? rows.time : rows.all_time) / total;
    facts_.rows.row_exposure_s[number] = any ? rows.exposure_s : rows.all_exposure_s;
  }

  /// Bins that go on in the next block keep what this one has.
  void keep_open() {
    find_open();
    for_pieces(open_.size(), [&](std::size_t first, std::size_t end, Scratch&) {
      for (std::size_t i = first; i < end; ++i) {
        add_rows(*open_[i], kept_[static_cast<std::size_t>(open_[i]->sums)]);
        open_[i]->rows.clear();
      }
    });
  }

  /// Finds the bins that have rows in this block and keep sums of their own.
  void find_open() {
    open_.clear();
    bins_.for_open([&](RowBin& bin) {
      if (bin.rows.empty()) return;
      open_.push_back(&bin);
      if (bin.sums >= 0) return;
      if (free_sums_.empty()) {
        free_sums_.push_back(static_cast<std::int64_t>(kept_.size()));
        kept_.emplace_back();
      }
      bin.sums = free_sums_.back();
      free_sums_.pop_back();
      kept_[static_cast<std::size_t>(bin.sums)].reset(out_.size());
    });
  }

  /// Averages rows that are read side by side, bins of the whole block in groups. All are of one window.
  void average_groups(const JoinedSet& set, const std::unordered_set<std::int64_t>& last_rows) {
    for (std::size_t row = 0; row < rows_.ant1.size(); ++row)
      bins_.add(sets_.bin_row(set, rows_, row, options_), static_cast<std::uint32_t>(row));
    if (last_rows.contains(rows_.row_number.back())) bins_.close_all();
    std::vector<RowBin>& closed = bins_.closed();
    find_open();
    if (!closed.empty()) describe(closed.data(), closed.size());
    std::vector<Group> groups, finished;  // with rows in this block, and without
    const auto bin_at = [&](std::size_t i) -> const RowBin& {
      return i < closed.size() ? closed[i] : *open_[i - closed.size()];
    };
    find_groups(0, closed.size(), bin_at, groups, finished);
    find_groups(closed.size(), closed.size() + open_.size(), bin_at, groups, finished);
    const auto finish = [&](const Group& group) {
      if (group.first < closed.size()) write_group(closed.data(), group, group_work());
    };
    set.source->read_groups(
        rows_, n_threads_, groups.size(),
        [&](std::size_t number, std::vector<std::size_t>& rows) {
          begin_group(groups[number], bin_at, group_work());
          rows.clear();
          for (const auto& [row, bin] : group_work().rows) rows.push_back(row);
        },
        [&](std::size_t number, std::span<const std::size_t> rows, auto data, auto weight) {
          thread_local Scratch scratch;
          GroupWork& work = group_work();
          const auto row_of = [&](std::size_t i) { return rows[i]; };
          add_group(groups[number], bin_at, change(set, row_of, {data, weight}, scratch), work);
          if (work.n_done == work.rows.size()) finish(groups[number]);
        });
    parallel_for(n_threads_, finished.size(), [&](std::size_t i, unsigned) {
      begin_group(finished[i], bin_at, group_work());
      finish(finished[i]);
    });
    if (!closed.empty()) put_bins(closed.data(), closed.size());
    closed.clear();
    for (RowBin* bin : open_) bin->rows.clear();
  }

  /// Divides bins into groups whose rows can be read at once if these have runs worth reading.
  template <class BinAt>
  void find_groups(std::size_t first, std::size_t end, BinAt bin_at, std::vector<Group>& groups,
                   std::vector<Group>& finished) const {
    const std::size_t row_bytes = in_.size() * (kValueBytes + 1) + sizeof(double[3]),
                      max_rows = kPieceBytes / row_bytes,
                      min_bins = std::max<std::size_t>(1, kRunBytes / row_bytes),
                      max_bins = std::max(min_bins, kPieceBytes / (out_.size() * kValueBytes));
    while (first < end) {
      Group group{first, 0};
      std::size_t n_rows = 0;
      for (; first < end && group.n < max_bins; ++first, ++group.n) {
        const std::size_t n = bin_at(first).rows.size();
        if (group.n >= min_bins && n_rows + n > max_rows) break;
        n_rows += n;
      }
      (n_rows > 0 ? groups : finished).push_back(group);
    }
  }

  template <class BinAt>
  void begin_group(const Group& group, BinAt bin_at, GroupWork& work) const {
    work.rows.clear();
    work.n_done = 0;
    work.bins.resize(std::max(work.bins.size(), group.n));
    work.data.resize_for_overwrite({group.n, out_.n_chan, out_.n_product});
    work.weight.resize_for_overwrite({group.n, out_.n_chan, out_.n_product});
    for (std::size_t i = 0; i < group.n; ++i) {
      for (const std::uint32_t row : bin_at(group.first + i).rows) work.rows.emplace_back(row, i);
      work.bins[i].sums.rows = {};
      work.bins[i].whole = false;
    }
    std::sort(work.rows.begin(), work.rows.end());
  }

  /// The next rows of the group. Where they are all that a bin has, their means are made at once.
  template <class BinAt>
  void add_group(const Group& group, BinAt bin_at, const Cells& cells, GroupWork& work) {
    const std::size_t n_cells = out_.size(), n_rows = cells.data.extent(0);
    for (std::size_t i = 0; i < group.n; ++i) {
      work.bins[i].rows.clear();
      work.bins[i].cells.data.clear();
      work.bins[i].cells.weight.clear();
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
      const auto& [row, number] = work.rows[work.n_done + i];
      GroupWork::Bin& to = work.bins[number];
      to.rows.push_back(row);
      to.cells.data.push_back(cells.data.data() + i * n_cells);
      to.cells.weight.push_back(cells.weight.data() + i * n_cells);
    }
    work.n_done += n_rows;
    for (std::size_t i = 0; i < group.n; ++i) {
      const RowBin& bin = bin_at(group.first + i);
      GroupWork::Bin& part = work.bins[i];
      const std::size_t n = part.rows.size();
      if (n == 0) continue;
      Sums& sums = bin.sums >= 0 ? kept_[static_cast<std::size_t>(bin.sums)] : part.sums;
      work.row_weight.resize(n);
      part.whole = bin.sums < 0 && n == bin.rows.size();
      if (part.whole) {
        std::complex<float>* const to = work.data.data() + i * n_cells;
        average::average_rows(part.cells, n_cells, to, work.weight.data() + i * n_cells,
                              work.row_weight.data());
        if (n == 1) std::copy_n(part.cells.data[0], n_cells, to);  // as it is, under its flags, too
      } else {
        if (bin.sums < 0 && sums.rows.n == 0) sums.cells.reset(n_cells);
        for (std::size_t k = 0; k < n; ++k)
          work.row_weight[k] =
              average::add_row(part.cells.data[k], part.cells.weight[k], n_cells, sums.cells);
      }
      for (std::size_t k = 0; k < n; ++k) sums.rows.add(rows_, part.rows[k], bin.begin_s, work.row_weight[k]);
    }
  }

  /// Bins of the output; add_group() has had all their rows.
  void write_group(const RowBin* closed, const Group& group, GroupWork& work) {
    const std::size_t n_cells = out_.size();
    for (std::size_t i = 0; i < group.n; ++i) {
      const RowBin& bin = closed[group.first + i];
      const Sums& sums = bin.sums >= 0 ? kept_[static_cast<std::size_t>(bin.sums)] : work.bins[i].sums;
      if (!work.bins[i].whole)
        average::finish_row(sums.cells, work.data.data() + i * n_cells, work.weight.data() + i * n_cells);
      finish_facts(bin, group.first + i, sums.rows);
    }
    sink_.put_cells(next_row_ + static_cast<std::int64_t>(group.first), std::as_const(work.data).view(),
                    std::as_const(work.weight).view());
  }

  const Options& options_;
  JoinedSets& sets_;
  const SetPlan& plan_;
  RowSink& sink_;
  unsigned n_threads_;
  RowShape in_, out_;
  Mover mover_;
  RowBins bins_;
  MsRows rows_;
  RowFacts facts_;
  std::int64_t next_row_ = 0;
  Buffer<std::complex<float>, 3> data_;  ///< of the block, [row][chan][product], averaged over channels
  Buffer<float, 3> weight_;
  std::vector<Scratch> scratch_;         ///< of each thread
  std::deque<Sums> kept_;                ///< of bins that go on in the next block
  std::vector<std::int64_t> free_sums_;  ///< of those, the ones that no bin has
  std::vector<RowBin*> open_;
};

bool bins_by_uvw(const Options& options) {
  return options.bda_loss > 0 || options.selects_uvw();
}

/// Rows of the output, how many bins are open at once at most, and where none is.
class BinCount {
 public:
  BinCount(const Options& options, JoinedSets& sets, const UvwCheck& uvw, SetPlan& plan)
      : options_(options),
        sets_(sets),
        plan_(plan),
        by_uvw_(bins_by_uvw(options)),
        mover_(options, sets, uvw),
        bins_(bin_settings(options, sets)) {}

  void run() {
    plan_.side_by_side = !by_uvw_ && sets_.windows().size() == 1;
    for (JoinedSet& set : sets_.sets()) {
      plan_.last_rows.emplace_back();
      count(set);
    }
    if (plan_.side_by_side) plan_.last_rows.back().insert(last_row_);
    bins_.close_all();
    take_closed();
  }

  /// Between two ends of all bins of a set, the most rows of it; 0 where they end once.
  std::uint64_t interval_rows() const { return static_cast<std::uint64_t>(interval_rows_); }
  /// Whether no bin is open behind a block of so many rows.
  bool ends_with(std::uint64_t block_rows) const {
    if (!plan_.side_by_side || sets_.sets().size() > 1) return false;
    return interval_rows_ == 0 ? block_rows >= static_cast<std::uint64_t>(n_table_rows_)
                               : is_regular_ && block_rows % interval_rows() == 0;
  }

 private:
  void count(JoinedSet& set) {
    MsRows rows;
    std::optional<int> description;
    first_row_ = last_row_ = -1;
    plan_.side_by_side = plan_.side_by_side && set.source->reads_groups();
    set.source->begin(by_uvw_ ? RowPass::coordinates : RowPass::scalars);
    while (set.source->next(rows, kMaxRows)) {
      if (by_uvw_) mover_.prepare(set, rows);
      // Blocks give the rows of one description after those of another.
      plan_.side_by_side =
          plan_.side_by_side && description.value_or(rows.data_description) == rows.data_description;
      description = rows.data_description;
      for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
        if (by_uvw_) mover_.move(set, rows, row);
        if (keeps_row(options_, rows, row))
          bins_.add(sets_.bin_row(set, rows, row, options_), static_cast<std::uint32_t>(row));
        plan_.max_open = std::max(plan_.max_open, bins_.n_open());
        if (plan_.side_by_side) note_end(rows.row_number[row]);
      }
      if (averages_nothing(options_)) bins_.close_all();
      take_closed();
      bins_.for_open([](RowBin& bin) { bin.rows.clear(); });
    }
  }

  /// Once this row has been added. Where it alone is open, and ended what was open before, all ended with the
  /// row before it.
  void note_end(std::int64_t number) {
    const bool ended = bins_.closed().size() > n_closed_ && bins_.n_open() == 1 && last_row_ >= 0;
    n_closed_ = bins_.closed().size();
    if (ended) {
      plan_.last_rows.back().insert(last_row_);
      const std::int64_t n = number - first_row_;
      is_regular_ = is_regular_ && (interval_rows_ == 0 || n == interval_rows_);
      interval_rows_ = std::max(interval_rows_, n);
    }
    if (ended || first_row_ < 0) first_row_ = number;
    last_row_ = number;
    n_table_rows_ = std::max(n_table_rows_, number + 1);
  }

  void take_closed() {
    n_closed_ = 0;
    plan_.n_rows += static_cast<std::int64_t>(bins_.closed().size());
    for (const RowBin& bin : bins_.closed())
      plan_.longest_s = std::max(plan_.longest_s, bin.end_s - bin.begin_s);
    bins_.closed().clear();
  }

  const Options& options_;
  JoinedSets& sets_;
  SetPlan& plan_;
  bool by_uvw_;
  Mover mover_;
  RowBins bins_;
  std::size_t n_closed_ = 0;                     ///< bins, of the block
  std::int64_t first_row_ = -1, last_row_ = -1;  ///< of the set, since all bins ended, and now
  std::int64_t interval_rows_ = 0;
  bool is_regular_ = true;         ///< all intervals have as many rows
  std::int64_t n_table_rows_ = 0;  ///< as far as they are wanted
};

/// Rows of a block, at most so many: whole intervals where possible, lest sums wait for the next block.
std::uint64_t whole_intervals(std::uint64_t max_rows, std::uint64_t interval_rows) {
  return interval_rows == 0 || interval_rows > max_rows ? max_rows : max_rows / interval_rows * interval_rows;
}

void count_rows(JoinedSets& sets, SetPlan& plan) {
  plan.longest_s = sets.interval_s();
  for (JoinedSet& set : sets.sets()) plan.n_rows += set.source->count_rows();
}

}  // namespace

SetPlan plan_sets(const Tool& tool, const Options& options, JoinedSets& sets, const UvwCheck& uvw) {
  SetPlan plan;
  plan.n_channels = average::averaged_channels(sets.n_channels(), options.average_channels);
  const bool averages = options.average_time_s > 1.001 * sets.interval_s();
  if (options.average_time_s > 0 && !averages)
    log_warning("--average-time {}: the integrations are of {}: they stay as they are",
                format_duration(options.average_time_s), format_duration(sets.interval_s()));
  plan.bins = averages || options.selects_uvw();
  BinCount bins(options, sets, uvw, plan);
  plan.bins ? bins.run() : count_rows(sets, plan);
  if (plan.n_rows == 0) throw UsageError("{}: the selection fits no row", options.inputs[0]);
  const std::uint64_t row_bytes = std::uint64_t{plan.n_channels} * sets.products().size() * kValueBytes,
                      sums_bytes = std::uint64_t{plan.n_channels} * sets.products().size() * kSumBytes;
  const CommonOptions& common = tool.common();
  const auto n_in = static_cast<std::uint64_t>(sets.n_rows());
  const std::uint64_t fixed = cpu_program_bytes(sets.sets().size()) + common.threads * kThreadBytes +
                              (plan.bins ? plan.max_open * kBinBytes : 0);
  const bool keeps_cells = plan.bins && !plan.side_by_side;
  const auto needed = [&](std::uint64_t block_rows) {
    std::uint64_t reading = 0;
    for (const JoinedSet& set : sets.sets())
      reading = std::max(reading, set.source->memory_bytes(block_rows, common.threads));
    const std::uint64_t sums = plan.bins && !bins.ends_with(block_rows) ? plan.max_open * sums_bytes : 0;
    return fixed + reading + sums + std::min(block_rows, n_in) * (kRowBytes + (keeps_cells ? row_bytes : 0));
  };
  std::uint64_t rows = plan.side_by_side ? whole_intervals(kMaxRowsOfGroups, bins.interval_rows())
                       : plan.bins       ? std::clamp<std::uint64_t>(kBlockBytes / row_bytes, 64, kMaxRows)
                                         : 0;
  for (const JoinedSet& set : sets.sets())
    if (!plan.bins || set.source->has_fixed_blocks())
      rows = std::max<std::uint64_t>(rows, set.source->block_rows());
  // Fewer rows may take more, with sums that wait between them.
  std::uint64_t least = needed(rows);
  while (rows > 1 && needed(rows) > common.max_memory_bytes) {
    rows = whole_intervals((rows + 1) / 2, bins.interval_rows());
    least = std::min(least, needed(rows));
  }
  if (needed(rows) > common.max_memory_bytes)
    throw UsageError("{}", memory_shortage(common.max_memory_bytes, static_cast<double>(least), "this needs",
                                           "allow more, or select fewer baselines or channels"));
  plan.block_rows = rows;
  plan.memory_bytes = needed(rows);
  return plan;
}

double run_sets(Tool& tool, const Options& options, JoinedSets& sets, const SetPlan& plan,
                const UvwCheck& uvw, RowSink& sink) {
  const double of_row = static_cast<double>(sets.n_channels() * sets.products().size());
  Progress progress(tool, "reading", static_cast<double>(sets.n_rows()) * of_row, "vis");
  double n_done = 0;
  Pass pass(options, sets, plan, uvw, sink, tool.common().threads);
  pass.run([&](std::size_t n_rows) {
    n_done += static_cast<double>(n_rows) * of_row;
    progress.update(n_done);
  });
  return n_done;
}

}  // namespace apsyn::transform
