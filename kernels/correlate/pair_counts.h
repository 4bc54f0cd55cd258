// SPDX-License-Identifier: GPL-3.0-or-later
// How many spectra of an integration are valid at both antennas of a pair.
#pragma once

#include <cstdint>

#include "kernels/common/spectra.h"

namespace apsyn {

class PairCounts {
 public:
  PairCounts(std::size_t n_chan, std::size_t n_ant);

  static std::uint64_t bytes(std::size_t n_chan, std::size_t n_ant);
  /// Adds the validity of a block's spectra; its planes are not looked at.
  void add(const SpectraBlock& block, unsigned n_threads);
  void clear() { counts_.fill(0); }
  std::int64_t operator()(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const;
  /// [input chan][ant1 <= ant2, row-major]
  View<const std::int64_t, 2> view() const { return counts_.view(); }

 private:
  std::size_t n_ant_;
  Buffer<std::int64_t, 2> counts_;
};

}  // namespace apsyn
