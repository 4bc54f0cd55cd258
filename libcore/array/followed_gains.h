// SPDX-License-Identifier: GPL-3.0-or-later
// A table of gains that another program replaces while voltages go through.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

/// A file that others replace. Causes of trouble with it are warned of once until it is read well again.
class FollowedFile {
 public:
  explicit FollowedFile(std::string path) : path_(std::move(path)), seen_(stamp()) {}
  const std::string& path() const { return path_; }
  bool is_there() const { return seen_.has_value(); }
  /// Whether there is another file than at the last look. One that is gone is a warning.
  bool look();
  /// The former gains are held, for this cause.
  void warn_once(const std::string& cause);
  void read_well() { warned_.clear(); }

 private:
  /// What tells one file from the next in its place, and from itself after a change.
  struct Stamp {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, changed_s = 0, changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  std::optional<Stamp> stamp() const;

  std::string path_;
  std::optional<Stamp> seen_;
  std::set<std::string> warned_;  ///< causes, since the last gains that could be read
};

/// The file is looked at (stat) as often as one likes, and read when it has been replaced or changed. One
/// that is gone, cannot be read or is malformed leaves the former gains as they are and is warned of once.
/// Writers rename a complete file into its place: half of a file may be well-formed.
class FollowedGains {
 public:
  /// Reads the file, with the errors of read_gains_csv(); where there is none yet all gains are 1 until there
  /// is, with a warning.
  FollowedGains(std::string path, ArrayLayout layout, std::size_t n_pol, std::size_t n_chan);

  /// Whether there are other gains than at the last look. `data_s` is how far the data are, for messages.
  bool look(double data_s);
  /// [antenna][pol][channel], NaN where there is none.
  const Buffer<std::complex<double>, 3>& gains() const { return gains_; }

 private:
  FollowedFile file_;
  ArrayLayout layout_;
  Buffer<std::complex<double>, 3> gains_;
};

/// "ant3, ant7": the antennas with chosen[ant] != 0.
std::string names_of(const ArrayLayout& layout, const std::vector<std::uint8_t>& chosen);

}  // namespace apsyn
