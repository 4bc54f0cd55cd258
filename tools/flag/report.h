// SPDX-License-Identifier: GPL-3.0-or-later
// How much is flagged, by antenna, baseline, channel and time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::flag {

struct Share {
  std::uint64_t n = 0, n_flagged = 0;
  double percent() const {
    return n == 0 ? 0 : 100.0 * static_cast<double>(n_flagged) / static_cast<double>(n);
  }
  void add(std::uint64_t cells, std::uint64_t flagged) {
    n += cells;
    n_flagged += flagged;
  }
};

class Report {
 public:
  Report(const ArrayLayout& layout, const std::vector<MsSpectralWindow>& windows);
  /// Flags [row][chan][product] of rows, before and after.
  void add(const MsRows& rows, View<const std::uint8_t, 3> before, View<const std::uint8_t, 3> after);
  const Share& before() const { return before_; }
  const Share& after() const { return after_; }
  /// Lines for people, of the antennas that stand out.
  std::vector<std::string> lines() const;
  std::string json(const std::string& set) const;

 private:
  ArrayLayout layout_;
  std::vector<MsSpectralWindow> windows_;
  Share before_, after_;
  std::vector<Share> antennas_;  ///< without autocorrelations
  std::map<std::pair<int, int>, Share> baselines_;
  std::vector<std::vector<Share>> channels_;  ///< [window][chan]
  std::map<double, Share> times_;
};

}  // namespace apsyn::flag
