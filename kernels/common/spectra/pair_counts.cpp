// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/spectra/pair_counts.h"

#include <algorithm>
#include <bit>

#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

std::size_t pair_index(std::size_t n_ant, std::size_t ant1, std::size_t ant2) {
  return ant1 * n_ant - ant1 * (ant1 + 1) / 2 + ant2;
}

std::size_t pair_count(std::size_t n_ant) {
  return n_ant * (n_ant + 1) / 2;
}

}  // namespace

PairCounts::PairCounts(std::size_t n_chan, std::size_t n_ant)
    : n_ant_(n_ant), common_(n_chan, 0), counts_({n_chan, pair_count(n_ant)}) {}

std::uint64_t PairCounts::bytes(std::size_t n_chan, std::size_t n_ant) {
  return n_chan * pair_count(n_ant) * sizeof(std::int64_t);
}

void PairCounts::add(const SpectraBlock& block, unsigned n_threads) {
  const auto spectra = static_cast<std::int64_t>(block.n_spectra);
  if (block.all_valid) {
    for (std::size_t chan = 0; chan < block.n_chan; ++chan) common_[block.first_chan + chan] += spectra;
    return;
  }
  lacking_ = true;
  const std::size_t n_rows = block.valid.extent(0), n_word = (block.n_spectra + 63) / 64;
  Buffer<std::uint64_t, 3> bits({n_rows, n_ant_, n_word});
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t ant = 0; ant < n_ant_; ++ant)
      for (std::size_t i = 0; i < block.n_spectra; ++i)
        bits(row, ant, i / 64) |= std::uint64_t{block.valid(row, ant, i) != 0} << (i % 64);
  parallel_for(n_threads, n_ant_, [&](std::size_t ant1, unsigned) {
    for (std::size_t ant2 = ant1; ant2 < n_ant_; ++ant2) {
      const std::size_t pair = pair_index(n_ant_, ant1, ant2);
      std::int64_t both = 0;
      for (std::size_t chan = 0; chan < block.n_chan; ++chan) {
        if (chan < n_rows) {
          both = 0;
          for (std::size_t word = 0; word < n_word; ++word)
            both += std::popcount(bits(chan, ant1, word) & bits(chan, ant2, word));
        }
        counts_(block.first_chan + chan, pair) += both;
      }
    }
  });
}

void PairCounts::clear() {
  std::fill(common_.begin(), common_.end(), 0);
  if (lacking_) counts_.fill(0);
  lacking_ = false;
}

std::int64_t PairCounts::operator()(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const {
  return common_[input_chan] +
         counts_(input_chan, pair_index(n_ant_, std::min(ant1, ant2), std::max(ant1, ant2)));
}

std::optional<std::int64_t> PairCounts::uniform() const {
  const bool same = std::equal(common_.begin() + 1, common_.end(), common_.begin());
  return lacking_ || !same ? std::nullopt : std::optional(common_[0]);
}

void PairCounts::copy(View<std::int64_t, 2> all) const {
  for (std::size_t chan = 0; chan < common_.size(); ++chan)
    for (std::size_t pair = 0; pair < counts_.extent(1); ++pair)
      all(chan, pair) = common_[chan] + counts_(chan, pair);
}

}  // namespace apsyn
