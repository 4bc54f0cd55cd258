// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of a binary table of a FITS file. For libcore/formats/fits and libcore/formats/uvfits only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace apsyn {

/// EXTNAME and EXTVER (1 when there is none) of the binary tables. Throws as FitsTable.
std::vector<std::pair<std::string, int>> fits_table_names(const std::string& path);

/// CFITSIO sees the file after check_fits_structure() only, and reads columns whose type and width are known.
class FitsTable {
 public:
  /// The first table of the name, or the one of that EXTVER. `cure` ends every message. FailureError,
  /// DataError as check_fits_structure; DataError when there is no such table or it has not 1 to max_rows
  /// rows.
  FitsTable(const std::string& path, const std::string& name, long max_rows, std::string cure,
            int version = 0);
  ~FitsTable();
  FitsTable(const FitsTable&) = delete;

  long n_rows() const { return n_rows_; }
  bool has(const char* column) const;
  /// Values in a cell; DataError for columns of variable length.
  long repeat(const char* column) const;
  /// All cells, row by row. DataError unless each has `n_values` numbers.
  std::vector<int> integers(const char* column, long n_values = 1) const;
  std::vector<double> numbers(const char* column, long n_values = 1) const;
  /// Cells of text, blanks around them removed.
  std::vector<std::string> texts(const char* column) const;
  /// Keywords of the table's header; DataError when they are malformed.
  std::optional<double> key_number(const std::string& keyword) const;
  std::optional<std::string> key_text(const std::string& keyword) const;

 private:
  struct State;
  [[noreturn]] void fail(int status, const std::string& what) const;
  int column_number(const char* column) const;
  template <class T>
  std::vector<T> read(const char* column, int type, long n_values) const;

  std::string path_, name_, cure_;
  std::unique_ptr<State> state_;
  long n_rows_ = 0;
};

}  // namespace apsyn
