// SPDX-License-Identifier: GPL-3.0-or-later
// The columns of a binary table (FITS standard 4.0, section 7.3), for readers that take rows themselves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libcore/formats/fits/walk.h"

namespace apsyn {

struct FitsColumn {
  std::string name;        ///< TTYPEn, as it is written
  std::size_t number = 0;  ///< n
  std::size_t byte = 0;    ///< in a row, where the first value begins
  std::size_t n_bytes = 0;
  std::size_t repeat = 1;  ///< values; bits of a column of bits
  int bitpix = 0;          ///< of values that stored_number() takes; 0: of another type

  bool operator==(const FitsColumn&) const = default;
};

struct FitsColumns {
  std::vector<FitsColumn> all;
  std::size_t row_bytes = 0, n_rows = 0;

  /// The column of that name; nullptr when there is none.
  const FitsColumn* find(std::string_view name) const;
};

/// The columns of `unit`, a binary table. DataError, which begins with `where`, for types that FITS does not
/// have and columns that do not fill the rows exactly.
FitsColumns fits_columns(const FitsUnit& unit, const std::string& where);

}  // namespace apsyn
