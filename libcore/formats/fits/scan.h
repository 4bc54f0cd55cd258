// SPDX-License-Identifier: GPL-3.0-or-later
// The primary HDU of a FITS stream, read whole and checked before CFITSIO sees it: every card is text, the
// mandatory cards are in order, and the data that NAXISn promise are there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace apsyn {

struct FitsPrimary {
  std::string name;         ///< of the file, for messages
  std::vector<char> bytes;  ///< header and data, whole 2880-byte blocks
  std::size_t header_bytes = 0;
  int bitpix = 0;
  std::vector<long> axes;  ///< NAXIS1 (fastest) first, at least 2

  std::size_t n_cards() const { return header_bytes / 80; }
  std::string_view card(std::size_t index) const { return {bytes.data() + 80 * index, 80}; }
};

inline constexpr std::size_t kFitsBlock = 2880, kFitsCard = 80;   ///< bytes
inline constexpr std::size_t kMaxFitsHeader = 4096 * kFitsBlock;  ///< bytes
inline constexpr long kMaxImageAxes = 6;

/// The checked header alone, of a file; DataError when it has more than max_axes axes.
FitsPrimary read_fits_header(const std::string& path, long max_axes = kMaxImageAxes);

/// DataError with the byte offset when the stream is no FITS image, malformed or truncated; FailureError when
/// it cannot be read. Standard input ("-") is read to its end.
FitsPrimary read_fits_primary(const std::string& path);

/// A keyword or a value without the blanks that fill its card.
std::string_view trim_blanks(std::string_view text);

/// The card of 80 characters that ends a header as CFITSIO sees it; what only looks like it would end it for
/// one reader and not for the other.
bool is_end_card(std::string_view card);
bool resembles_end_card(std::string_view card);

}  // namespace apsyn
