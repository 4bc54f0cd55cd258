// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

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
};

/// The same check for readers that unpack tiles themselves, and shows each HDU to `look`, whose errors it
/// hands on. Throws as check_fits_structure.
void walk_fits(const std::string& path, const std::function<void(const FitsUnit&)>& look);

}  // namespace apsyn
