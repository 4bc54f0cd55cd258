// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of tables of gains: which antenna and polarisations each is of. For files that have the columns
// `antenna[,pol][,EXTRA],gain_amplitude,phase_rad`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libcore/array/array_layout.h"
#include "libcore/base/csv.h"

namespace apsyn {

/// The indices [first, end) of one axis that a row covers.
struct IndexRange {
  std::size_t first = 0, end = 0;
};

class GainRows {
 public:
  /// `extra`: the name of the column beyond those of all tables. DataError when `text` is no table, has other
  /// columns or lacks one. `layout` must outlive this.
  GainRows(std::string_view text, const std::string& source, const ArrayLayout& layout,
           std::string_view extra);

  const CsvTable& table() const { return table_; }
  std::size_t amplitude_column() const { return amplitude_; }
  std::size_t phase_column() const { return phase_; }
  /// By name or by index. DataError for one that the layout does not have.
  std::size_t antenna(const CsvRow& row) const;
  std::string_view antenna_name(const CsvRow& row) const { return row.fields[antenna_]; }
  /// 0, X and R name the first polarisation, 1, Y and L the second; a row without one is of all. DataError
  /// for others.
  IndexRange pols(const CsvRow& row, std::size_t n_pol) const;

 private:
  CsvTable table_;
  std::size_t n_ant_, antenna_ = 0, amplitude_ = 0, phase_ = 0;
  std::unordered_map<std::string_view, std::size_t> index_of_name_;
};

}  // namespace apsyn
