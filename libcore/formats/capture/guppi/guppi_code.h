// SPDX-License-Identifier: GPL-3.0-or-later
// Components of a GUPPI RAW block as samples of a voltage stream. 8 and 16 bits, and complex samples of 4,
// are handed on; 2 bits, and 4 of real samples, become int8.
//
// Components follow each other without padding, in a byte from the highest bits on (Breakthrough Listen, "RAW
// File Format"). 4 bits are two's complement. 2 bits are levels, from the highest down: 00, 01, 10, 11 are
// 3.3358750, 1, -1, -3.3358750 times the lower one, the best for noise; here 10, 3, -3, -10 with SCALE 1/3,
// whose ratio is 0.08 % lower. Recorders that begin with the lowest bits, or count in offset binary, exist.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "libcore/voltage/voltage.h"

namespace apsyn {

class GuppiCode {
 public:
  static constexpr double kTwoBitScale = 1.0 / 3;

  GuppiCode() = default;
  /// `encoding` as CaptureFacts::encoding, empty: the format's own. UsageError where it, or `endian`, does
  /// not go with n_bit.
  GuppiCode(unsigned n_bit, unsigned n_bit_out, const std::string& encoding, std::optional<ByteOrder> endian);
  /// Components first .. first + n - 1 of the block to `out`; whole bytes.
  void decode(const std::uint8_t* block, std::size_t first, std::size_t n, std::uint8_t* out) const;

 private:
  unsigned n_bit_ = 8, n_bit_out_ = 8;
  bool as_is_ = true;
  std::array<std::uint8_t, 256> whole_{};  ///< bytes that hold a complex sample of 4 bits
  std::array<std::uint8_t, 16> levels_{};  ///< of a component
  unsigned first_shift_ = 0;               ///< of a byte's first component; 0: the next are above it
};

}  // namespace apsyn
