// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of flags: FLAG of FITS-IDI (AIPS Memo 114) and AIPS FG of UVFITS (AIPS Memo 117), whose rows name
// what is to be flagged by source, antennas, time, IFs, channels and products. For libcore/formats/uvfits
// only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "libcore/formats/uvfits/group.h"

namespace apsyn {

/// One row of such a table, of adjacent IFs. Numbers are the file's own.
struct UvfitsFlag {
  int source = 0, subarray = 0, frequency_id = 0;  ///< 0: all
  int station1 = 0, station2 = 0;                  ///< both 0: all; the second 0: all baselines of the first
  double begin_mjd_s = -std::numeric_limits<double>::infinity();  ///< both ends belong to it
  double end_mjd_s = std::numeric_limits<double>::infinity();
  std::size_t first_if = 0, end_if = SIZE_MAX;
  std::size_t first_channel = 0, end_channel = SIZE_MAX;
  std::uint32_t products = ~0u;  ///< bit s: product s of the STOKES axis

  bool flags_product(std::size_t stokes) const { return stokes >= 32 || (products >> stokes & 1) != 0; }
  /// Whether it holds for a group at its time and in this IF; the stations are not looked at.
  bool holds(const UvfitsGroup& group, std::size_t if_number) const;
};

/// Flags by their stations and times, so that few are looked at for each group.
class UvfitsFlags {
 public:
  void add(const UvfitsFlag& flag);
  /// To be called after the last add().
  void sort();
  bool empty() const { return n_flags_ == 0; }
  std::size_t size() const { return n_flags_; }
  /// Calls use(flag) for those that hold for the group in this IF.
  template <class Use>
  void for_each(const UvfitsGroup& group, std::size_t if_number, Use use) const {
    const int i = std::min(group.station1, group.station2), j = std::max(group.station1, group.station2);
    look_in({0, 0}, group, if_number, use);
    look_in({0, i}, group, if_number, use);
    if (i != j) look_in({0, j}, group, if_number, use);
    look_in({i, j}, group, if_number, use);
  }

 private:
  struct Stations {
    int low = 0, high = 0;
    std::uint64_t key() const {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) << 32 |
             static_cast<std::uint32_t>(high);
    }
  };
  struct Entry {
    UvfitsFlag flag;
    double last_end_mjd_s = 0;  ///< the latest end of this one and those before it
  };

  template <class Use>
  void look_in(const Stations& stations, const UvfitsGroup& group, std::size_t if_number, Use& use) const {
    const auto list = flags_.find(stations.key());
    if (list == flags_.end()) return;
    const std::vector<Entry>& entries = list->second;
    // Sorted by their beginnings: back from the last that has begun, to where all before have ended.
    auto at = std::upper_bound(
        entries.begin(), entries.end(), group.time_mjd_s,
        [](double time_mjd_s, const Entry& entry) { return time_mjd_s < entry.flag.begin_mjd_s; });
    while (at != entries.begin() && (--at)->last_end_mjd_s >= group.time_mjd_s)
      if (at->flag.holds(group, if_number)) use(at->flag);
  }

  std::unordered_map<std::uint64_t, std::vector<Entry>> flags_;
  std::size_t n_flags_ = 0;
};

/// Reads the tables of flags of the file into the layout, whose antennas and time system are known: of UVFITS
/// the newest version, as AIPS does, of FITS-IDI all. DataError for what is malformed.
void read_uvfits_flags(UvfitsLayout& layout);

}  // namespace apsyn
