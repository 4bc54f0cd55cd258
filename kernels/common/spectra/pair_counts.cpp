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

/// Bits [row][ant][word] of a block's validity, which is 0 or 1.
Buffer<std::uint64_t, 3> bits_of(const SpectraBlock& block) {
  Buffer<std::uint64_t, 3> bits({block.valid.extent(0), block.valid.extent(1), (block.n_spectra + 63) / 64});
  for (std::size_t row = 0; row < bits.extent(0); ++row)
    for (std::size_t ant = 0; ant < bits.extent(1); ++ant) {
      const std::uint8_t* valid = &block.valid(row, ant, 0);
      std::uint64_t* words = &bits(row, ant, 0);
      for (std::size_t i = 0; i < block.n_spectra; ++i)
        words[i / 64] |= std::uint64_t{valid[i] != 0} << (i % 64);
    }
  return bits;
}

}  // namespace

PairCounts::PairCounts(std::size_t n_chan, std::size_t n_ant)
    : n_ant_(n_ant), common_(n_chan, 0), of_pair_(pair_count(n_ant), 0) {}

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
  const Buffer<std::uint64_t, 3> bits = bits_of(block);
  const std::size_t n_rows = bits.extent(0), n_word = bits.extent(2);
  const bool of_all_channels = n_rows == 1 && block.n_chan == common_.size();
  if (!of_all_channels && counts_.size() == 0) counts_.resize({common_.size(), of_pair_.size()});
  parallel_for(n_threads, n_ant_, [&](std::size_t ant1, unsigned) {
    for (std::size_t ant2 = ant1; ant2 < n_ant_; ++ant2) {
      const std::size_t pair = pair_index(n_ant_, ant1, ant2);
      const auto both_valid = [&](std::size_t row) {
        std::int64_t both = 0;
        for (std::size_t word = 0; word < n_word; ++word)
          both += std::popcount(bits(row, ant1, word) & bits(row, ant2, word));
        return both;
      };
      if (of_all_channels) {
        of_pair_[pair] += both_valid(0);
        continue;
      }
      std::int64_t both = 0;
      for (std::size_t chan = 0; chan < block.n_chan; ++chan) {
        if (chan < n_rows) both = both_valid(chan);
        counts_(block.first_chan + chan, pair) += both;
      }
    }
  });
}

void PairCounts::clear() {
  std::fill(common_.begin(), common_.end(), 0);
  std::fill(of_pair_.begin(), of_pair_.end(), 0);
  if (lacking_) counts_.fill(0);
  lacking_ = false;
}

std::int64_t PairCounts::operator()(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const {
  const std::size_t pair = pair_index(n_ant_, std::min(ant1, ant2), std::max(ant1, ant2));
  return common_[input_chan] + of_pair_[pair] + (counts_.size() == 0 ? 0 : counts_(input_chan, pair));
}

std::optional<std::int64_t> PairCounts::uniform() const {
  const bool same = std::equal(common_.begin() + 1, common_.end(), common_.begin());
  return lacking_ || !same ? std::nullopt : std::optional(common_[0]);
}

void PairCounts::copy(View<std::int64_t, 2> all) const {
  for (std::size_t chan = 0; chan < common_.size(); ++chan)
    for (std::size_t pair = 0; pair < of_pair_.size(); ++pair)
      all(chan, pair) = common_[chan] + of_pair_[pair] + (counts_.size() == 0 ? 0 : counts_(chan, pair));
}

}  // namespace apsyn
