// SPDX-License-Identifier: GPL-3.0-or-later
// The validity of a voltage stream's samples (present, and finite) over a sliding window.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/voltage/voltage.h"

namespace apsyn {

class SampleValidity {
 public:
  SampleValidity(std::size_t n_chan, std::size_t n_ant) : n_chan_(n_chan), n_ant_(n_ant) {}

  /// Adds what a block says of its samples, which follow those held already; std::logic_error when they do
  /// not, or when the shape differs.
  void append(const VoltageBlock& block);
  /// Forgets the samples before `sample`.
  void forget(std::int64_t sample);

  std::int64_t begin() const { return begin_; }  ///< first sample held
  std::int64_t end() const { return end_; }      ///< one past the last
  /// Whether samples first .. last-1 of the antenna are all held and valid; finiteness apart.
  bool valid(std::int64_t first, std::int64_t last, std::size_t ant) const;
  /// Whether every antenna is valid throughout.
  bool all_valid(std::int64_t first, std::int64_t last) const;
  /// Whether any sample held may be not finite; then finite() must be asked per channel.
  bool may_lack_finite() const { return !not_finite_.empty(); }
  bool finite(std::int64_t first, std::int64_t last, std::size_t chan, std::size_t ant) const;

 private:
  struct Span {
    std::int64_t begin, end;
    bool all_valid;
    std::vector<std::uint8_t> valid;  // [ant]
  };
  std::size_t index(std::int64_t sample) const { return static_cast<std::size_t>(sample - begin_); }
  std::size_t first_span(std::int64_t sample) const;
  void append_spans(const VoltageBlock& block);

  std::size_t n_chan_, n_ant_;
  bool empty_ = true;
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<std::uint8_t> not_finite_;  // [sample][chan][ant], empty while all are finite
  std::vector<Span> spans_;               // consecutive
};

}  // namespace apsyn
