// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/rows.h"

#include <casacore/casa/Arrays/Slicer.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "libcore/formats/interval_choice.h"
#include "libcore/formats/ms/times.h"

namespace apsyn {
namespace {

using casacore::IPosition;
using casacore::Slicer;

Slicer rows_slicer(std::int64_t first, std::size_t n) {
  return Slicer(IPosition(1, static_cast<ssize_t>(first)), IPosition(1, static_cast<ssize_t>(n)));
}

template <class T>
void read_column(casacore::Vector<T>& into, const casacore::Table& table, const char* name,
                 std::int64_t first, std::size_t n) {
  casacore::ScalarColumn<T>(table, name).getColumnRange(rows_slicer(first, n), into, true);
}

void read_times(casacore::Vector<double>& utc_mjd_s, const casacore::Table& table, std::int64_t first,
                std::size_t n) {
  read_column(utc_mjd_s, table, "TIME", first, n);
  MsTimeScale(table, "TIME", table.tableName()).to_utc(utc_mjd_s);
}

/// Calls work(first, n) for blocks of the rows begin .. end-1.
template <class Work>
void for_blocks(std::int64_t begin, std::int64_t end, Work work) {
  constexpr auto at_once = static_cast<std::int64_t>(kScanRows);
  for (std::int64_t first = begin; first < end; first += at_once)
    work(first, static_cast<std::size_t>(std::min(at_once, end - first)));
}

void check_finite(const casacore::Vector<double>& time_s, std::int64_t first, const std::string& path) {
  for (std::size_t i = 0; i < time_s.size(); ++i)
    if (!std::isfinite(time_s[i]))
      throw DataError("{}: row {}: TIME is no number", path, first + static_cast<std::int64_t>(i));
}

}  // namespace

std::vector<bool> descriptions_with_rows(const casacore::Table& ms, const MsSelection& selection,
                                         const std::vector<bool>& wanted) {
  std::vector<bool> found(wanted.size(), false);
  auto n_missing = std::count(wanted.begin(), wanted.end(), true);
  casacore::Vector<casacore::Int> field, description;
  for_blocks(0, static_cast<std::int64_t>(ms.nrow()), [&](std::int64_t first, std::size_t n_rows) {
    if (n_missing == 0) return;
    read_column(field, ms, "FIELD_ID", first, n_rows);
    read_column(description, ms, "DATA_DESC_ID", first, n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) {
      // Values out of range are reported when rows are read.
      const auto id = static_cast<std::size_t>(description[i]);
      if (description[i] < 0 || id >= wanted.size() || !wanted[id] || found[id]) continue;
      found[id] = selected(selection.fields, field[i]);
      if (found[id]) --n_missing;
    }
  });
  return found;
}

MsRowSelection::MsRowSelection(const casacore::Table& table, const MsMetadata& meta,
                               const MsSelection& selection, const std::string& path)
    : meta_(meta), selection_(selection), begin_row_(selection.first_row) {
  const auto n_table = static_cast<std::int64_t>(table.nrow());
  if (begin_row_ < 0 || begin_row_ > n_table)
    throw UsageError("{}: first row {}: the set has {}", path, begin_row_, n_table);
  end_row_ = selection.n_rows < 0 ? n_table : begin_row_ + std::min(selection.n_rows, n_table - begin_row_);
  if (selection.first_interval != 0 || selection.n_intervals >= 0) find_interval(table, path);
  find_span(table, path);
}

void MsRowSelection::find_interval(const casacore::Table& table, const std::string& path) {
  std::set<double> distinct;
  casacore::Vector<double> time_s;
  for_blocks(0, static_cast<std::int64_t>(table.nrow()), [&](std::int64_t first, std::size_t n) {
    read_times(time_s, table, first, n);
    check_finite(time_s, first, path);
    double last = std::numeric_limits<double>::quiet_NaN();
    for (double time : time_s) {
      if (time != last) distinct.insert(time);
      last = time;
    }
  });
  const IntervalTimes chosen = choose_interval(distinct, selection_, path, "set");
  min_time_s_ = chosen.first_mjd_s;
  max_time_s_ = chosen.last_mjd_s;
}

bool MsRowSelection::wants(double time_s, int field, int data_description) const {
  if (time_s < min_time_s_ || time_s > max_time_s_ || time_s < selection_.min_time_mjd_s ||
      time_s > selection_.max_time_mjd_s)
    return false;
  return meta_.description(data_description).spw >= 0 && selected(selection_.fields, field);
}

void MsRowSelection::find_span(const casacore::Table& table, const std::string& path) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double first_s = infinity, last_s = -infinity, begin_s = infinity, end_s = -infinity;
  const char* exposures = table.tableDesc().isColumn("EXPOSURE") ? "EXPOSURE" : "INTERVAL";
  std::set<int> fields;
  int last_field = -1;
  double counted_time_s = infinity, counted_exposure_s = 0;  // neighbouring rows are mostly of one time
  casacore::Vector<double> time_s, interval_s, exposure_s;
  casacore::Vector<casacore::Int> field, data_description;
  casacore::Vector<casacore::Bool> flag_row;
  for_blocks(begin_row_, end_row_, [&](std::int64_t first, std::size_t n) {
    read_times(time_s, table, first, n);
    read_column(interval_s, table, "INTERVAL", first, n);
    read_column(exposure_s, table, exposures, first, n);
    read_column(field, table, "FIELD_ID", first, n);
    read_column(data_description, table, "DATA_DESC_ID", first, n);
    read_column(flag_row, table, "FLAG_ROW", first, n);
    check_finite(time_s, first, path);
    for (std::size_t i = 0; i < n; ++i) {
      if (field[i] < 0 || field[i] >= static_cast<int>(meta_.fields.size()))
        throw DataError("{}: row {}: FIELD_ID {}: the set has {} fields", path,
                        first + static_cast<std::int64_t>(i), field[i], meta_.fields.size());
      if (data_description[i] < 0 || data_description[i] >= static_cast<int>(meta_.data_descriptions.size()))
        throw DataError("{}: row {}: DATA_DESC_ID {}: the set has {}", path,
                        first + static_cast<std::int64_t>(i), data_description[i],
                        meta_.data_descriptions.size());
      if (!wants(time_s[i], field[i], data_description[i])) continue;
      ++span_.n_rows;
      if (field[i] != last_field) fields.insert(last_field = field[i]);
      first_s = std::min(first_s, time_s[i]);
      last_s = std::max(last_s, time_s[i]);
      // An invalid length counts as 0.
      const double half_s = interval_s[i] > 0 && std::isfinite(interval_s[i]) ? interval_s[i] / 2 : 0;
      begin_s = std::min(begin_s, time_s[i] - half_s);
      end_s = std::max(end_s, time_s[i] + half_s);
      if (flag_row[i] || (time_s[i] == counted_time_s && !(exposure_s[i] > counted_exposure_s))) continue;
      counted_time_s = time_s[i];
      counted_exposure_s = exposure_s[i];
      add_exposure(span_.exposures, time_s[i], exposure_s[i]);
    }
  });
  for (const int field : selection_.fields)
    if (fields.erase(field) > 0) span_.fields.push_back(field);
  span_.fields.insert(span_.fields.end(), fields.begin(), fields.end());
  if (span_.n_rows > 0) {
    span_.first_time_s = first_s;
    span_.last_time_s = last_s;
    span_.begin_s = begin_s;
    span_.end_s = end_s;
  }
}

void read_antennas(MsScalars& scalars, const casacore::Table& table, std::int64_t first, std::size_t n) {
  read_column(scalars.ant1, table, "ANTENNA1", first, n);
  read_column(scalars.ant2, table, "ANTENNA2", first, n);
}

void read_scans(casacore::Vector<casacore::Int>& scan, const casacore::Table& table, std::int64_t first,
                std::size_t n) {
  if (table.tableDesc().isColumn("SCAN_NUMBER"))
    read_column(scan, table, "SCAN_NUMBER", first, n);
  else
    scan = casacore::Vector<casacore::Int>(n, 0);
}

void read_scalars(MsScalars& scalars, const casacore::Table& table, std::int64_t first, std::size_t n,
                  bool details) {
  scalars.first_row = first;
  read_times(scalars.time_s, table, first, n);
  read_column(scalars.interval_s, table, "INTERVAL", first, n);
  read_antennas(scalars, table, first, n);
  read_column(scalars.field, table, "FIELD_ID", first, n);
  read_column(scalars.data_description, table, "DATA_DESC_ID", first, n);
  read_column(scalars.flag_row, table, "FLAG_ROW", first, n);
  if (!details) return;
  const auto has = [&](const char* name) { return table.tableDesc().isColumn(name); };
  read_column(scalars.exposure_s, table, has("EXPOSURE") ? "EXPOSURE" : "INTERVAL", first, n);
  if (has("SCAN_NUMBER"))
    read_column(scalars.scan, table, "SCAN_NUMBER", first, n);
  else
    scalars.scan.resize(n), scalars.scan = 1;
}

}  // namespace apsyn
