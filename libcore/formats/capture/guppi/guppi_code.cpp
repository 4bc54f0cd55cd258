// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/guppi/guppi_code.h"

#include <cstring>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

int level(unsigned code, unsigned n_bit, bool offset_binary) {
  static constexpr int kTwoBits[] = {10, 3, -3, -10};
  if (n_bit == 2) return offset_binary ? -kTwoBits[code] : kTwoBits[code];
  return static_cast<int>(offset_binary ? code : code ^ 8u) - 8;
}

}  // namespace

GuppiCode::GuppiCode(unsigned n_bit, unsigned n_bit_out, const std::string& encoding,
                     std::optional<ByteOrder> endian)
    : n_bit_(n_bit), n_bit_out_(n_bit_out) {
  if (n_bit >= 8) {
    if (endian) throw UsageError("--endian: NBITS {}: guppi has it for samples of 2 and 4 bits", n_bit);
    if (encoding == "OFFSETBINARY")
      throw UsageError("--encoding {}: NBITS {}: guppi has it for samples of 2 and 4 bits", encoding, n_bit);
    return;
  }
  if (n_bit == 2 && encoding == "TWOSCOMPLEMENT")
    throw UsageError("--encoding {}: NBITS 2: the 4 levels go down, or up with OFFSETBINARY", encoding);
  const bool offset_binary = encoding == "OFFSETBINARY", low_first = endian == ByteOrder::little;
  for (unsigned code = 0; code < 1u << n_bit; ++code)
    levels_[code] = static_cast<std::uint8_t>(level(code, n_bit, offset_binary));
  first_shift_ = low_first ? 0 : 8 - n_bit;
  as_is_ = n_bit_out == 4 && !low_first && !offset_binary;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned ordered = low_first ? (byte >> 4 | byte << 4) & 0xFFu : byte;
    whole_[byte] = static_cast<std::uint8_t>(offset_binary ? ordered ^ 0x88u : ordered);
  }
}

void GuppiCode::decode(const std::uint8_t* block, std::size_t first, std::size_t n, std::uint8_t* out) const {
  if (n_bit_out_ == n_bit_) {
    const std::size_t bytes = n * n_bit_ / 8;
    const std::uint8_t* from = block + first * n_bit_ / 8;
    if (as_is_) {
      std::memcpy(out, from, bytes);
    } else {
      for (std::size_t i = 0; i < bytes; ++i) out[i] = whole_[from[i]];
    }
    return;
  }
  const unsigned per_byte = 8 / n_bit_, mask = (1u << n_bit_) - 1;
  for (std::size_t i = first; i < first + n; ++i) {
    const auto shift = static_cast<unsigned>(i % per_byte) * n_bit_;
    *out++ = levels_[block[i / per_byte] >> (first_shift_ == 0 ? shift : first_shift_ - shift) & mask];
  }
}

}  // namespace apsyn
