// SPDX-License-Identifier: GPL-3.0-or-later
// A sliding window over a voltage stream: as much of the past as delays and unfinished spectra need.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/core/voltage.h"

namespace apsyn {

class SampleStore {
 public:
  SampleStore(std::size_t n_chan, std::size_t n_ant, std::size_t n_pol)
      : n_chan_(n_chan), n_ant_(n_ant), row_(n_chan * n_ant * n_pol * 2) {}

  /// Adds a block that follows the samples held already; std::logic_error when it does not, or when its shape
  /// or kind differs.
  void append(const VoltageBlock& block);
  /// Samples before `sample` may be forgotten.
  void release(std::int64_t sample) { released_ = sample; }

  bool integer() const { return integer_; }
  std::int64_t begin() const { return begin_; }  ///< first sample held
  std::int64_t end() const { return end_; }      ///< one past the last
  /// [chan][ant][pol][re, im] of one time sample.
  const std::int8_t* row_i8(std::int64_t sample) const { return i8_.data() + index(sample) * row_; }
  const float* row_f32(std::int64_t sample) const { return f32_.data() + index(sample) * row_; }
  /// One input of samples first .. first + n - 1, which must be held: n real parts, or n pairs (re, im).
  void copy_real(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input, float* to) const;
  void copy_complex(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input, float* to) const;
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
  void forget_released();
  void append_validity(const VoltageBlock& block);

  std::size_t n_chan_, n_ant_, row_;
  bool integer_ = true, empty_ = true;
  std::int64_t begin_ = 0, end_ = 0, released_ = 0;
  std::vector<std::int8_t> i8_;           // [sample][chan][ant][pol][re, im]
  std::vector<float> f32_;                // the same
  std::vector<std::uint8_t> not_finite_;  // [sample][chan][ant], empty while all are finite
  std::vector<Span> spans_;               // consecutive
};

}  // namespace apsyn
