// SPDX-License-Identifier: GPL-3.0-or-later
// How rows are cut into sub-tables of (time, channel): rows of one baseline in their order, and a range of
// channels, that one subgrid can hold (Hodgson 2025, section 2.4). Only corners are looked at: the extent of
// a row is that of its lowest and its highest frequency. The same on CPU and GPU, to the last bit as long as
// neither contracts products and sums.
#pragma once

#include "kernels/idg/partition/sub_table.h"

namespace apsyn::idg {

/// Number of rows of a baseline that are cut one after the other; longer baselines are divided among threads.
constexpr std::uint32_t kRowsAtOnce = 4096;
/// Largest fraction of a subgrid's extent that a range of channels takes, so that several times fit as well.
constexpr double kChannelShare = 0.6;

/// How many of a row's weights differ from 0.
enum class RowData : std::uint8_t { none, some, all };

struct ChannelRange {
  std::uint32_t first, n;
  double min_wavenumber, max_wavenumber;
};

/// A block's arrays, in the memory of the processor that cuts.
struct CutRows {
  const double* uvw_m;       ///< [row][3]
  const double* wavenumber;  ///< [chan]
  const float* weight;       ///< [row][chan][plane]
  const RowData* data;       ///< [row]
  std::uint32_t n_chan, n_planes;
  const std::uint32_t* station;               ///< [row][p, q]; null without A-terms, like the next
  const std::uint32_t *row_slot, *chan_slot;  ///< [row], [chan]
  const std::uint32_t* response;              ///< AtermBlock::response, or null
  std::uint32_t n_chan_slots, n_stations;     ///< of `response`

  APSYN_CUT bool has_data(std::uint32_t row, std::uint32_t chan) const {
    const float* own = weight + (std::size_t(row) * n_chan + chan) * n_planes;
    for (std::uint32_t plane = 0; plane < n_planes; ++plane)
      if (own[plane] != 0) return true;
    return false;
  }
  /// For rows with A-terms, and the channels that share the slot of `chan`.
  APSYN_CUT AtermKey aterms_of(std::uint32_t row, std::uint32_t chan, bool folds_apart) const {
    const bool folded = uvw_m[3 * std::size_t(row) + 2] < 0;
    AtermKey key{station[2 * std::size_t(row) + folded], station[2 * std::size_t(row) + !folded],
                 row_slot[row], chan_slot[chan], folds_apart && folded};
    if (response != nullptr) {
      const std::uint32_t* own =
          response + (std::size_t(key.row_slot) * n_chan_slots + key.chan_slot) * n_stations;
      key.response_p = own[key.response_p];
      key.response_q = own[key.response_q];
    }
    return key;
  }
};

/// Fraction of a subgrid's extent that a row spans for a wavenumber range of 1.
APSYN_CUT double share_of(const CutLimits& limits, const CutRows& rows, std::uint32_t row) {
  const double* uvw = rows.uvw_m + 3 * std::size_t(row);
  return greater(
      greater(fabs(uvw[0]) * limits.per_u / limits.max_cells, fabs(uvw[1]) * limits.per_v / limits.max_cells),
      fabs(uvw[2]) / limits.max_w_extent);
}

/// The channels from `first` on that rows with at most that share may take together, within one A-term slot.
/// There are at most kMaxVisibilities, so that no row alone exceeds a subgrid.
APSYN_CUT ChannelRange channel_range(const CutRows& rows, double share, std::uint32_t first) {
  ChannelRange range{first, 1, rows.wavenumber[first], rows.wavenumber[first]};
  for (std::uint32_t chan = first + 1; chan < rows.n_chan && range.n < kMaxVisibilities; ++chan) {
    const double k = rows.wavenumber[chan];
    const double least = lesser(range.min_wavenumber, k), most = greater(range.max_wavenumber, k);
    if ((rows.chan_slot != nullptr && rows.chan_slot[chan] != rows.chan_slot[first]) ||
        !((most - least) * share <= kChannelShare))
      break;
    range = {first, range.n + 1, least, most};
  }
  return range;
}

/// Cuts rows of one baseline, and one range of channels at a time. Out takes
///   run(row, first_channel, n_channels)   of the sub-table to come
///   table(const SubTable&)                all of its runs have been given; first_run is not known
///   refuse(const UvwBox&)                 not in the field or not in the plan
template <class Out>
class Cutter {
 public:
  APSYN_CUT Cutter(const CutLimits& limits, const CutRows& rows, Out& out)
      : limits_(limits), rows_(rows), out_(out) {}

  APSYN_CUT void add(std::uint32_t row, const ChannelRange& range) {
    const RowData data = rows_.data[row];
    if (data == RowData::all)
      add_all(row, range);
    else if (data == RowData::some)
      add_flagged(row, range);
  }
  APSYN_CUT void finish() {
    if (open_) out_.table(table_);
    open_ = false;
  }

  /// add() for several complete rows at a time: takes_too() says whether the open sub-table can take a row
  /// together with the n_before rows before it, whose joint extent is `box`; take_too() takes them. Runs are
  /// not reported to Out.
  APSYN_CUT bool takes_too(std::uint32_t row, const UvwBox& box, std::uint32_t n_before,
                           const ChannelRange& range) const {
    return open_ && same_key(row, range) && limits_.holds(table_.box.joined(box), table_.layer) &&
           table_.n_visibilities + (n_before + 1) * range.n <= kMaxVisibilities;
  }
  APSYN_CUT void take_too(const UvwBox& box, std::uint32_t n_rows, const ChannelRange& range) {
    table_.box = table_.box.joined(box);
    table_.n_runs += n_rows;
    table_.n_visibilities += n_rows * range.n;
  }
  /// Extent of a row's visibilities in a range of channels.
  APSYN_CUT UvwBox box_of(std::uint32_t row, const ChannelRange& range) const {
    const double* uvw = rows_.uvw_m + 3 * std::size_t(row);
    const double sign = uvw[2] < 0 ? -1 : 1;
    const double u = uvw[0] * sign * limits_.per_u, v = uvw[1] * sign * limits_.per_v, w = uvw[2] * sign;
    UvwBox box;
    box.include(u * range.min_wavenumber, v * range.min_wavenumber, w * range.min_wavenumber);
    box.include(u * range.max_wavenumber, v * range.max_wavenumber, w * range.max_wavenumber);
    return box;
  }

 private:
  APSYN_CUT ChannelRange part(const ChannelRange& range, std::uint32_t first, std::uint32_t n) const {
    if (n == range.n) return range;
    ChannelRange result{first, n, INFINITY, -INFINITY};
    for (std::uint32_t chan = first; chan < first + n; ++chan) {
      result.min_wavenumber = lesser(result.min_wavenumber, rows_.wavenumber[chan]);
      result.max_wavenumber = greater(result.max_wavenumber, rows_.wavenumber[chan]);
    }
    return result;
  }

  APSYN_CUT void add_flagged(std::uint32_t row, const ChannelRange& range) {
    const std::uint32_t end = range.first + range.n;
    for (std::uint32_t chan = range.first; chan < end;) {
      if (!rows_.has_data(row, chan)) {
        ++chan;
        continue;
      }
      const std::uint32_t first = chan;
      while (chan < end && rows_.has_data(row, chan)) ++chan;
      add_all(row, part(range, first, chan - first));
    }
  }

  /// Halves a range that crosses the border between two layers until it fits.
  APSYN_CUT void add_all(std::uint32_t row, const ChannelRange& range) {
    if (take(row, range)) return;
    std::uint32_t ends[33], first = range.first;
    int depth = 0;
    ends[0] = range.first + range.n;
    while (depth >= 0) {
      const std::uint32_t n = ends[depth] - first;
      if (take(row, part(range, first, n)))
        first = ends[depth--];
      else
        ends[++depth] = first + n / 2;
    }
  }

  /// False when the range must be cut in two.
  APSYN_CUT bool take(std::uint32_t row, const ChannelRange& range) {
    const UvwBox box = box_of(row, range);
    if (!box.has_place()) {
      out_.refuse(box);
      return true;
    }
    if (open_ && same_key(row, range)) {
      const UvwBox joined = table_.box.joined(box);
      if (limits_.holds(joined, table_.layer) && table_.n_visibilities + range.n <= kMaxVisibilities) {
        table_.box = joined;
        extend(row, range);
        return true;
      }
    }
    if (!limits_.is_in_field(box) || !limits_.is_in_plan(box)) {
      out_.refuse(box);
      return true;
    }
    const std::uint32_t layer = limits_.layer_of(box);
    if (range.n > 1 && !limits_.holds(box, layer)) return false;
    finish();
    open_ = true;
    table_ = {box, layer, 0, 0, 0, {}};
    if (rows_.row_slot != nullptr) table_.aterms = rows_.aterms_of(row, range.first, limits_.folds_apart);
    extend(row, range);
    return true;
  }

  APSYN_CUT bool same_key(std::uint32_t row, const ChannelRange& range) const {
    return rows_.row_slot == nullptr ||
           table_.aterms == rows_.aterms_of(row, range.first, limits_.folds_apart);
  }

  APSYN_CUT void extend(std::uint32_t row, const ChannelRange& range) {
    ++table_.n_runs;
    table_.n_visibilities += range.n;
    out_.run(row, range.first, range.n);
  }

  const CutLimits limits_;
  const CutRows rows_;
  Out& out_;
  SubTable table_{};
  bool open_ = false;
};

}  // namespace apsyn::idg
