// SPDX-License-Identifier: GPL-3.0-or-later
// CRC-32C (Castagnoli) of a byte stream, for stream trailers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

class Crc32c {
 public:
  Crc32c() = default;
  /// Goes on behind bytes whose checksum is `value`.
  explicit Crc32c(std::uint32_t value) : state_(~value) {}
  void add(const void* bytes, std::size_t n_bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = ~0u;
};

/// The checksum of two runs of bytes one after the other, from those of each; `b_bytes`: of the second.
std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t b_bytes);

}  // namespace apsyn
