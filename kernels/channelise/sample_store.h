// SPDX-License-Identifier: GPL-3.0-or-later
// A sliding window over a voltage stream: as much of the past as delays and unfinished spectra need.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/channelise/sample_validity.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

class SampleStore {
 public:
  SampleStore(std::size_t n_chan, std::size_t n_ant, std::size_t n_pol)
      : n_chan_(n_chan), row_(n_chan * n_ant * n_pol * 2), validity_(n_chan, n_ant) {}

  /// Adds a block that follows the samples held already; std::logic_error when it does not, or when its shape
  /// or kind differs.
  void append(const VoltageBlock& block);
  /// Samples before `sample` may be forgotten.
  void release(std::int64_t sample) { released_ = sample; }

  bool integer() const { return integer_; }
  std::int64_t begin() const { return validity_.begin(); }  ///< first sample held
  std::int64_t end() const { return validity_.end(); }      ///< one past the last
  /// [chan][ant][pol][re, im] of one time sample.
  const std::int8_t* row_i8(std::int64_t sample) const { return i8_.data() + index(sample) * row_; }
  const float* row_f32(std::int64_t sample) const { return f32_.data() + index(sample) * row_; }
  /// One input of samples first .. first + n - 1, which must be held: n real parts, or n pairs (re, im).
  void copy_real(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input, float* to) const;
  void copy_complex(std::int64_t first, std::size_t n, std::size_t chan, std::size_t input, float* to) const;
  const SampleValidity& validity() const { return validity_; }

 private:
  std::size_t index(std::int64_t sample) const { return static_cast<std::size_t>(sample - begin()); }
  void forget_released();

  std::size_t n_chan_, row_;
  bool integer_ = true;
  std::int64_t released_ = 0;
  std::vector<std::int8_t> i8_;  // [sample][chan][ant][pol][re, im]
  std::vector<float> f32_;       // the same
  SampleValidity validity_;
};

}  // namespace apsyn
