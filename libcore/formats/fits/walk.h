// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace apsyn {

/// Walks the HDUs of a FITS file before CFITSIO sees it: every header ends, the sizes it promises lie inside
/// the file, and nothing is compressed in tiles. DataError with the byte offset otherwise; FailureError when
/// the file cannot be read or is no regular file.
void check_fits_structure(const std::string& path);

/// An HDU that walk_fits() passes.
struct FitsUnit {
  int number = 0;  ///< from 1, as CFITSIO counts
  std::uint64_t header_byte = 0;
  std::string cards;             ///< of 80 characters each, up to END
  std::uint64_t data_byte = 0;   ///< where its data begin
  std::uint64_t data_bytes = 0;  ///< without padding

  /// The value of a keyword's first card, without quotes and comment, CONTINUE cards joined to it.
  std::optional<std::string> text(std::string_view keyword) const;
  /// The same where it is a finite number.
  std::optional<double> number_of(std::string_view keyword) const;
  /// The same where it must be a whole number from `least` to `most`; DataError, which begins with `where`,
  /// if not.
  std::int64_t whole(std::string_view keyword, double least, double most, std::string_view where) const;
};

/// The number of type `bitpix` at `bytes`, big-endian (FITS standard 4.0, section 5).
inline double stored_number(const std::uint8_t* bytes, int bitpix) {
  std::uint64_t value = 0;
  for (int i = 0; i < (bitpix < 0 ? -bitpix : bitpix) / 8; ++i) value = value << 8 | bytes[i];
  switch (bitpix) {
    case 8:
      return static_cast<double>(value);
    case 16:
      return static_cast<std::int16_t>(value);
    case 32:
      return static_cast<std::int32_t>(value);
    case 64:
      return static_cast<double>(static_cast<std::int64_t>(value));
    case -32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
    default:
      return std::bit_cast<double>(value);
  }
}

/// The same check for readers that unpack tiles themselves, and shows each HDU to `look`, whose errors it
/// hands on. Throws as check_fits_structure.
void walk_fits(const std::string& path, const std::function<void(const FitsUnit&)>& look);

}  // namespace apsyn
