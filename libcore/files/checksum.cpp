// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/checksum.h"

#include <array>
#include <cstring>

namespace apsyn {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // CRC-32C, bits reversed

// table[k][b]: the remainder of byte b followed by k zero bytes, so that eight bytes go in one step.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ (remainder & 1 ? kPolynomial : 0);
    tables[0][byte] = remainder;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xFF];
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

void Crc32c::add(const void* bytes, std::size_t n_bytes) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint32_t state = state_;
  for (; n_bytes >= 8; n_bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n_bytes > 0; --n_bytes, ++at) state = (state >> 8) ^ kTables[0][(state ^ *at) & 0xFF];
  state_ = state;
}

}  // namespace apsyn
