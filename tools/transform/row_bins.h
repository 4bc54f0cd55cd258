// SPDX-License-Identifier: GPL-3.0-or-later
// Which rows are averaged into one: a decision from their times, antennas and fringe rates alone, so that the
// rows of the output can be counted before any data are read.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace apsyn::transform {

struct BinSettings {
  double begin_mjd_s = 0;  ///< where the first interval begins
  /// Length of every interval; with `turns`, the longest that a baseline's own interval may be.
  double length_s = 0;
  double turns = 0;  ///< above 0: baselines have their own intervals, of this many turns of phase
};

/// What decides, of a row.
struct BinRow {
  int window = 0, field = 0, scan = 0, ant1 = 0, ant2 = 0;
  double begin_s = 0, end_s = 0;  ///< of its interval, MJD
  double fringe_rate_hz = 0;      ///< at the edge of the field, for intervals of a baseline's own
};

/// Rows that become one.
struct RowBin {
  BinRow first;
  double begin_s = 0, end_s = 0;
  double fringe_rate_hz = 0;        ///< the greatest of the rows
  std::vector<std::uint32_t> rows;  ///< of the block at hand, by the numbers that add() was given
  std::int64_t sums = -1;           ///< for the caller: where it keeps the sums of earlier blocks; -1 = none
  bool open = false;
  std::uint64_t number = 0;  ///< of all bins, as they were opened
};

/// Rows come in the order of the set: of each window in rising time, but for jumps back, which end the
/// intervals that are open. An interval never holds rows of two scans or fields. Intervals that all baselines
/// share begin at begin_mjd_s + k length_s and hold the rows with their middles in them. A baseline's own end
/// where another row would make them longer than length_s or than `turns` fringes, and at gaps.
class RowBins {
 public:
  explicit RowBins(const BinSettings& settings) : settings_(settings) {}
  void add(const BinRow& row, std::uint32_t number);
  /// Ends all intervals.
  void close_all();
  /// Bins that have ended since the list was cleared, in the order of the output.
  std::vector<RowBin>& closed() { return closed_; }
  /// Calls use(bin) for all that are open.
  template <class Use>
  void for_open(Use use) {
    for (Window& window : windows_)
      for (const Opened& opened : window.order)
        if (RowBin& bin = bins_[opened.slot]; bin.open && bin.number == opened.number) use(bin);
  }
  std::size_t n_open() const { return n_open_; }

 private:
  struct Opened {
    std::uint32_t slot = 0;
    std::uint64_t number = 0;
  };
  struct Window {
    std::int64_t interval = INT64_MIN;  ///< of the rows now
    std::vector<Opened> order;          ///< of which some have ended by themselves
  };
  void close(RowBin& bin);
  void close(Window& window);
  bool fits(const RowBin& bin, const BinRow& row) const;
  std::uint32_t slot_of(const BinRow& row);

  BinSettings settings_;
  std::unordered_map<std::uint64_t, std::uint32_t> slots_;  ///< of window, field and antennas
  std::vector<RowBin> bins_;                                ///< [slot]
  std::vector<Window> windows_;
  std::vector<RowBin> closed_;
  std::size_t n_open_ = 0;
  std::uint64_t n_opened_ = 0;
};

}  // namespace apsyn::transform
