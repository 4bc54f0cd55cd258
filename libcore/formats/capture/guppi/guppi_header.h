// SPDX-License-Identifier: GPL-3.0-or-later
// The header of a GUPPI RAW block: cards of 80 characters up to END.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libcore/base/time.h"

namespace apsyn {

class GuppiHeader {
 public:
  static constexpr std::size_t kCard = 80, kMaxCards = 1024;

  /// Length of the cards at `bytes` with END; absent when there is no END within kMaxCards.
  static std::optional<std::size_t> cards_length(std::string_view bytes);
  /// `place` names file and offset in errors. DataError when a card is no text.
  GuppiHeader(std::string_view cards, std::string place);

  /// Quotes removed; empty when missing.
  std::string text(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  ///< DataError when it is none
  /// DataError when it is missing or out of range.
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most,
                       std::optional<std::int64_t> otherwise = std::nullopt) const;

  std::size_t block_bytes = 0, header_bytes = 0;  ///< header_bytes: padding included
  std::size_t n_ant = 1, n_chan = 1, n_pol = 1;   ///< n_chan: of an antenna
  unsigned n_bit = 8, n_dim = 2;                  ///< of a component; 1: real samples, which have one
  std::size_t n_samples = 0,
              overlap = 0;  ///< of a channel in the block; the last of them repeated in the next
  bool channels_first = true;
  std::int64_t packet = 0;  ///< PKTIDX, counts packets since the start
  /// Samples of few bits come out with 8, but for 4+4 bits, which stay what they are.
  unsigned n_bit_out() const { return n_bit == 2 || (n_bit == 4 && n_dim == 1) ? 8 : n_bit; }
  std::size_t time_bits() const { return n_ant * n_chan * n_pol * n_dim * n_bit; }
  /// Of the output.
  std::size_t time_bytes() const { return n_ant * n_chan * n_pol * n_dim * n_bit_out() / 8; }
  /// Where PKTIDX counts bytes: samples of few bits may have been made of packets of 8 bits, whose size
  /// PKTSIZE still is. `later` is the next block's: from the two this header learns it. Whether it was so.
  bool learn_packets(const GuppiHeader& later);
  void take_packets_of(const GuppiHeader& other) { samples_denominator_ = other.samples_denominator_; }
  /// When PKTIDX was 0: newer recorders count from SYNCTIME, and STT_* are of the first block that they
  /// wrote, older ones from STT_*. Absent when the header does not tell.
  std::optional<UtcTime> count_start(double sample_s) const;
  /// The block's first sample since count_start().
  std::int64_t first_sample() const;
  /// What all blocks of a recording have in common.
  bool same_kind(const GuppiHeader& other) const;

 private:
  std::string place_;
  std::map<std::string, std::string> values_;
  bool counts_bytes_ = false;                                     ///< PKTIDX counts PKTSIZE
  std::int64_t samples_numerator_ = 1, samples_denominator_ = 1;  ///< samples of one count of PKTIDX
};

}  // namespace apsyn
