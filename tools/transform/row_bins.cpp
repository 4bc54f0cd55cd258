// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/row_bins.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace apsyn::transform {

void RowBins::close(RowBin& bin) {
  bin.open = false;
  --n_open_;
  closed_.push_back(std::exchange(bin, RowBin{}));
}

void RowBins::close(Window& window) {
  for (const Opened& opened : window.order)
    if (RowBin& bin = bins_[opened.slot]; bin.open && bin.number == opened.number) close(bin);
  window.order.clear();
}

void RowBins::close_all() {
  for (Window& window : windows_) close(window);
}

std::uint32_t RowBins::slot_of(const BinRow& row) {
  // 16 bits for each antenna, window and field: more of them than any set has.
  const auto bits = [](int value, int shift) { return static_cast<std::uint64_t>(value & 0xffff) << shift; };
  const std::uint64_t key =
      bits(row.window, 48) | bits(row.field, 32) | bits(row.ant1, 16) | bits(row.ant2, 0);
  const auto [at, is_new] = slots_.emplace(key, static_cast<std::uint32_t>(bins_.size()));
  if (is_new) bins_.emplace_back();
  return at->second;
}

/// Whether a baseline's own interval may take the row.
bool RowBins::fits(const RowBin& bin, const BinRow& row) const {
  const double row_s = row.end_s - row.begin_s, length_s = row.end_s - bin.begin_s;
  // Times in seconds of MJD have a rounding of 1e-6 s.
  const double slack_s = 1e-5 + 1e-3 * row_s;
  if (row.begin_s < bin.end_s - slack_s || row.begin_s > bin.end_s + 0.5 * row_s) return false;
  return length_s <= settings_.length_s + slack_s &&
         length_s * std::max(bin.fringe_rate_hz, row.fringe_rate_hz) <= settings_.turns;
}

void RowBins::add(const BinRow& row, std::uint32_t number) {
  if (windows_.size() <= static_cast<std::size_t>(row.window))
    windows_.resize(static_cast<std::size_t>(row.window) + 1);
  Window& window = windows_[static_cast<std::size_t>(row.window)];
  if (settings_.turns == 0) {
    const double middle_s = (row.begin_s + row.end_s) / 2 - settings_.begin_mjd_s;
    const auto interval = static_cast<std::int64_t>(std::floor(middle_s / settings_.length_s + 1e-9));
    if (interval != window.interval) close(window);
    window.interval = interval;
  }
  const std::uint32_t slot = slot_of(row);
  if (bins_[slot].open &&
      (bins_[slot].first.scan != row.scan || (settings_.turns > 0 && !fits(bins_[slot], row))))
    close(bins_[slot]);
  RowBin& bin = bins_[slot];
  if (!bin.open) {
    bin.open = true;
    ++n_open_;
    bin.first = row;
    bin.begin_s = row.begin_s;
    bin.end_s = row.end_s;
    // Bins that ended one by one are still in the order.
    if (window.order.size() > 2 * n_open_ + 64)
      std::erase_if(window.order, [&](const Opened& old) {
        return !bins_[old.slot].open || bins_[old.slot].number != old.number;
      });
    bin.number = n_opened_++;
    window.order.push_back({slot, bin.number});
  }
  bin.begin_s = std::min(bin.begin_s, row.begin_s);
  bin.end_s = std::max(bin.end_s, row.end_s);
  bin.fringe_rate_hz = std::max(bin.fringe_rate_hz, row.fringe_rate_hz);
  bin.rows.push_back(number);
}

}  // namespace apsyn::transform
