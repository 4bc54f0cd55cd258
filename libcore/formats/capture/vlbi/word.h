// SPDX-License-Identifier: GPL-3.0-or-later
// The words of 32 bits, little-endian, of which headers of Mark 5B and VDIF are made.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

inline std::uint32_t word_at(const std::uint8_t* bytes, std::size_t word) {
  const std::uint8_t* at = bytes + 4 * word;
  return at[0] | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
}

}  // namespace apsyn
