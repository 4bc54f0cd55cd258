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

std::uint32_t add_by_tables(std::uint32_t state, const unsigned char* at, std::size_t n_bytes) {
  for (; n_bytes >= 8; n_bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n_bytes > 0; --n_bytes, ++at) state = (state >> 8) ^ kTables[0][(state ^ *at) & 0xFF];
  return state;
}

// Polynomials over GF(2) modulo the CRC's: the highest bit is the factor of x^0.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return product;
}

// x^(2^k)
constexpr std::array<std::uint32_t, 67> make_powers() {
  std::array<std::uint32_t, 67> powers{};
  powers[0] = 1u << 30;
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = multiply(powers[k - 1], powers[k - 1]);
  return powers;
}
constexpr auto kPowers = make_powers();

// By this a checksum is multiplied when so many bytes follow.
constexpr std::uint32_t shift_by(std::uint64_t n_bytes) {
  std::uint32_t shift = 1u << 31;
  for (std::size_t k = 3; n_bytes != 0; n_bytes >>= 1, ++k)
    if (n_bytes & 1) shift = multiply(kPowers[k], shift);
  return shift;
}

#if defined(__x86_64__)
// The instruction takes a step each cycle but gives its result after three: three runs at a time.
constexpr std::size_t kRunBytes = 8192;
constexpr std::uint32_t kOneRun = shift_by(kRunBytes), kTwoRuns = shift_by(2 * kRunBytes);

__attribute__((target("sse4.2"))) std::uint32_t add_by_instruction(std::uint32_t state,
                                                                   const unsigned char* at,
                                                                   std::size_t n_bytes) {
  const auto word = [](const unsigned char* from) {
    std::uint64_t value;
    std::memcpy(&value, from, 8);
    return value;
  };
  std::uint64_t first = state;
  for (; n_bytes >= 3 * kRunBytes; n_bytes -= 3 * kRunBytes, at += 3 * kRunBytes) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kRunBytes; i += 8) {
      first = __builtin_ia32_crc32di(first, word(at + i));
      second = __builtin_ia32_crc32di(second, word(at + kRunBytes + i));
      third = __builtin_ia32_crc32di(third, word(at + 2 * kRunBytes + i));
    }
    first = multiply(kTwoRuns, static_cast<std::uint32_t>(first)) ^
            multiply(kOneRun, static_cast<std::uint32_t>(second)) ^ third;
  }
  for (; n_bytes >= 8; n_bytes -= 8, at += 8) first = __builtin_ia32_crc32di(first, word(at));
  state = static_cast<std::uint32_t>(first);
  for (; n_bytes > 0; --n_bytes, ++at) state = __builtin_ia32_crc32qi(state, *at);
  return state;
}
#endif

}  // namespace

void Crc32c::add(const void* bytes, std::size_t n_bytes) {
  const auto* at = static_cast<const unsigned char*>(bytes);
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) {
    state_ = add_by_instruction(state_, at, n_bytes);
    return;
  }
#endif
  state_ = add_by_tables(state_, at, n_bytes);
}

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t b_bytes) {
  return multiply(shift_by(b_bytes), crc_a) ^ crc_b;
}

}  // namespace apsyn
