// SPDX-License-Identifier: GPL-3.0-or-later
// How many spectra of an integration are valid at both antennas of a pair.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

class PairCounts {
 public:
  PairCounts(std::size_t n_chan, std::size_t n_ant);

  static std::uint64_t bytes(std::size_t n_chan, std::size_t n_ant);
  /// Adds the validity of a block's spectra; its planes are not looked at.
  void add(const SpectraBlock& block, unsigned n_threads);
  void clear();
  std::int64_t operator()(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const;
  /// The count of all pairs and channels when nothing was missing.
  std::optional<std::int64_t> uniform() const;
  /// all[input chan][ant1 <= ant2, row-major]
  void copy(View<std::int64_t, 2> all) const;

 private:
  std::size_t n_ant_;
  // A count is the sum of what these three hold; most streams need no more than the first two.
  std::vector<std::int64_t> common_;   // [input chan] of all pairs
  std::vector<std::int64_t> of_pair_;  // [pair] in all channels
  Buffer<std::int64_t, 2> counts_;     // [input chan][pair]; empty until it is needed
  bool lacking_ = false;               // whether of_pair_ or counts_ holds anything
};

}  // namespace apsyn
