// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/table.h"

#include <fitsio.h>

#include <cstdlib>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/walk.h"

namespace apsyn {
namespace {

constexpr long kMaxText = 1024, kMaxValues = 1L << 26;

struct OpenFits {
  fitsfile* file = nullptr;
  ~OpenFits() {
    int status = 0;
    if (file != nullptr) fits_close_file(file, &status);
  }
};

}  // namespace

struct FitsTable::State : OpenFits {};

FitsTable::FitsTable(const std::string& path, const std::string& name, long max_rows, std::string cure,
                     int version)
    : path_(path), name_(name), cure_(std::move(cure)), state_(std::make_unique<State>()) {
  check_fits_structure(path);
  int status = 0;
  if (fits_open_diskfile(&state_->file, path.c_str(), READONLY, &status) != 0) fail(status, "cannot open");
  fits_movnam_hdu(state_->file, BINARY_TBL, const_cast<char*>(name.c_str()), version, &status);
  fits_get_num_rows(state_->file, &n_rows_, &status);
  if (status != 0) fail(status, "table " + name);
  if (n_rows_ < 1 || n_rows_ > max_rows)
    throw DataError("{}: {} has {} rows: 1 to {} are needed", path, name, n_rows_, max_rows);
}

FitsTable::~FitsTable() = default;

void FitsTable::fail(int status, const std::string& what) const {
  throw DataError("{}: {}: {}: {}", path_, what, fits_error_text(status), cure_);
}

bool FitsTable::has(const char* column) const {
  int number = 0, status = 0;
  fits_get_colnum(state_->file, CASEINSEN, const_cast<char*>(column), &number, &status);
  fits_clear_errmsg();
  return status == 0;
}

int FitsTable::column_number(const char* column) const {
  int number = 0, status = 0;
  fits_get_colnum(state_->file, CASEINSEN, const_cast<char*>(column), &number, &status);
  if (status != 0) fail(status, fmt::format("column {} of {}", column, name_));
  return number;
}

long FitsTable::repeat(const char* column) const {
  int type = 0, status = 0;
  long repeat = 0, width = 0;
  fits_get_coltype(state_->file, column_number(column), &type, &repeat, &width, &status);
  if (status != 0) fail(status, fmt::format("column {} of {}", column, name_));
  if (type < 0 || repeat < 0 || repeat > kMaxValues / n_rows_)
    throw DataError("{}: column {} of {} has cells of variable length or too many values: {}", path_, column,
                    name_, cure_);
  return repeat;
}

template <class T>
std::vector<T> FitsTable::read(const char* column, int type, long n_values) const {
  if (const long there = repeat(column); there != n_values)
    throw DataError("{}: column {} of {} has {} values a row, not {}: {}", path_, column, name_, there,
                    n_values, cure_);
  const long n = n_rows_ * n_values;
  std::vector<T> values(static_cast<std::size_t>(n));
  int status = 0, any_null = 0;
  if (n > 0)
    fits_read_col(state_->file, type, column_number(column), 1, 1, n, nullptr, values.data(), &any_null,
                  &status);
  if (status != 0) fail(status, fmt::format("column {} of {}", column, name_));
  return values;
}

std::vector<int> FitsTable::integers(const char* column, long n_values) const {
  return read<int>(column, TINT, n_values);
}
std::vector<double> FitsTable::numbers(const char* column, long n_values) const {
  return read<double>(column, TDOUBLE, n_values);
}

std::vector<std::string> FitsTable::texts(const char* column) const {
  const int number = column_number(column);
  int type = 0, status = 0;
  long repeat = 0, width = 0;
  fits_get_coltype(state_->file, number, &type, &repeat, &width, &status);
  if (status != 0) fail(status, fmt::format("column {} of {}", column, name_));
  if (type != TSTRING || repeat < 1 || repeat > kMaxText)
    throw DataError("{}: column {} of {} is no text of 1 to {} characters: {}", path_, column, name_,
                    kMaxText, cure_);
  std::vector<std::string> values;
  std::vector<char> cell(static_cast<std::size_t>(repeat) + 1);
  char* pointer = cell.data();
  for (long row = 1; row <= n_rows_; ++row) {
    fits_read_col_str(state_->file, number, row, 1, 1, const_cast<char*>(""), &pointer, nullptr, &status);
    if (status != 0) fail(status, fmt::format("column {} of {}", column, name_));
    values.emplace_back(trim(cell.data()));
  }
  return values;
}

std::optional<double> FitsTable::key_number(const std::string& keyword) const {
  return FitsKeys(state_->file, path_).number(keyword);
}
std::optional<std::string> FitsTable::key_text(const std::string& keyword) const {
  return FitsKeys(state_->file, path_).text(keyword);
}

std::vector<std::pair<std::string, int>> fits_table_names(const std::string& path) {
  check_fits_structure(path);
  OpenFits handle;
  int status = 0, n_units = 0, kind = 0;
  if (fits_open_diskfile(&handle.file, path.c_str(), READONLY, &status) != 0 ||
      fits_get_num_hdus(handle.file, &n_units, &status) != 0)
    throw DataError("{}: {}", path, fits_error_text(status));
  std::vector<std::pair<std::string, int>> names;
  for (int unit = 2; unit <= n_units; ++unit) {
    if (fits_movabs_hdu(handle.file, unit, &kind, &status) != 0)
      throw DataError("{}: HDU {}: {}", path, unit, fits_error_text(status));
    if (kind != BINARY_TBL) continue;
    const FitsKeys keys(handle.file, path);
    const double version = keys.number("EXTVER").value_or(1);
    names.emplace_back(keys.text("EXTNAME").value_or(""), version >= 1 && version < 1e6 ? int(version) : 1);
  }
  return names;
}

}  // namespace apsyn
