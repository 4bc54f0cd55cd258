// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/flags.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/columns.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/layout.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxFlags = std::size_t{1} << 22;

/// 0h of a date as FITS has them: 2024-01-31, with or without a time, or 31/01/99 of the 20th century.
double mjd_s_of_date(const std::string& where, const std::string& text) {
  std::string date = text.substr(0, 10);
  if (date.size() == 8 && date[2] == '/' && date[5] == '/')
    date = "19" + date.substr(6, 2) + "-" + date.substr(3, 2) + "-" + date.substr(0, 2);
  try {
    return parse_utc(date + "T00:00:00").mjd_seconds();
  } catch (const DataError&) {
    throw DataError("{}: RDATE '{}': a date is needed, to which its times are relative", where, text);
  }
}

/// Rows of one table, whose columns are found once.
class FlagTable {
 public:
  FlagTable(const UvfitsLayout& layout, const FitsUnit& unit)
      : layout_(layout),
        where_(fmt::format("{}: HDU {}, {}", layout.name, unit.number, layout.names.flags)),
        columns_(fits_columns(unit, where_)) {
    source_ = find({"SOURCE", "SOURCE_ID"}, 1);
    subarray_ = find({"SUBARRAY", "ARRAY"}, 1);
    frequency_ = find({"FREQ ID", "FREQID"}, 1);
    stations_ = find({"ANTS"}, 2);
    times_ = find({"TIME RANGE", "TIMERANG", "TIMERANGE"}, 2);
    ifs_ = find({"IFS"}, 2);
    bands_ = find({"BANDS"}, layout.if_.length);
    channels_ = find({"CHANS"}, 2);
    products_ = find({"PFLAGS"}, 0);
    for (const auto& [name, column] : {std::pair{"ANTS", stations_}, {"TIMERANG", times_}})
      if (column == nullptr)
        throw DataError("{}: no column {}: flags are needed as AIPS has them", where_, name);
    if (products_ != nullptr && (products_->repeat == 0 || products_->repeat > 32))
      throw DataError("{}: column PFLAGS has {} values: one for each product is needed", where_,
                      products_->repeat);
    const std::string date = unit.text("RDATE").value_or(layout.reference_date);
    if (columns_.n_rows > 0 && !date.empty()) begin_mjd_s_ = mjd_s_of_date(where_, date);
    if (columns_.n_rows > kMaxFlags)
      throw DataError("{}: {} rows: no more than {} are read", where_, columns_.n_rows, kMaxFlags);
  }

  std::size_t n_rows() const { return columns_.n_rows; }
  std::size_t row_bytes() const { return columns_.row_bytes; }

  void add(const std::uint8_t* row, std::size_t number, UvfitsFlags& flags) const {
    UvfitsFlag flag;
    if (source_ != nullptr) flag.source = whole(row, *source_, 0);
    if (subarray_ != nullptr) flag.subarray = whole(row, *subarray_, 0);
    if (frequency_ != nullptr) flag.frequency_id = std::max(0, whole(row, *frequency_, 0));
    flag.station1 = whole(row, *stations_, 0);
    flag.station2 = whole(row, *stations_, 1);
    take_times(row, number, flag);
    if (channels_ != nullptr) std::tie(flag.first_channel, flag.end_channel) = range(row, *channels_);
    if (products_ != nullptr) take_products(row, flag);
    if (flag.products == 0) return;
    if (ifs_ != nullptr) std::tie(flag.first_if, flag.end_if) = range(row, *ifs_);
    if (bands_ == nullptr) return flags.add(flag);
    const auto flagged = [&](std::size_t band) { return value(row, *bands_, band) != 0; };
    for (std::size_t band = 0; band < bands_->repeat; ++band) {
      if (!flagged(band)) continue;
      flag.first_if = band;
      while (band < bands_->repeat && flagged(band)) ++band;
      flag.end_if = band;
      flags.add(flag);
    }
  }

 private:
  const FitsColumn* find(std::initializer_list<std::string_view> names, std::size_t n_values) const {
    for (const FitsColumn& column : columns_.all)
      for (const std::string_view name : names) {
        if (trim(column.name) != name) continue;
        if (n_values > 0 && (column.repeat != n_values || !has_numbers(column)))
          throw DataError("{}: column {}: {} numbers in a row are needed", where_, name, n_values);
        if (!has_numbers(column)) throw DataError("{}: column {}: numbers or bits are needed", where_, name);
        return &column;
      }
    return nullptr;
  }
  static bool is_bits(const FitsColumn& column) {
    return column.bitpix == 0 && column.repeat > 0 && column.n_bytes == (column.repeat + 7) / 8;
  }
  static bool has_numbers(const FitsColumn& column) { return column.bitpix != 0 || is_bits(column); }

  double value(const std::uint8_t* row, const FitsColumn& column, std::size_t index) const {
    const std::uint8_t* bytes = row + column.byte;
    if (column.bitpix == 0) return bytes[index / 8] >> (7 - index % 8) & 1;
    return stored_number(bytes + index * bytes_of(column.bitpix), column.bitpix);
  }
  int whole(const std::uint8_t* row, const FitsColumn& column, std::size_t index) const {
    const double number = value(row, column, index);
    if (!(std::abs(number) < 1e9))
      throw DataError("{}: {} = {}: a number is needed", where_, column.name, number);
    return static_cast<int>(number);
  }
  /// First and last from 1, 0 for the first and the last there are, as indices first and end.
  std::pair<std::size_t, std::size_t> range(const std::uint8_t* row, const FitsColumn& column) const {
    const int first = whole(row, column, 0), last = whole(row, column, 1);
    return {first > 0 ? static_cast<std::size_t>(first) - 1 : 0,
            last > 0 ? static_cast<std::size_t>(last) : SIZE_MAX};
  }

  /// Days after 0h of the reference date, in the time system of the data; both 0 are all times.
  void take_times(const std::uint8_t* row, std::size_t number, UvfitsFlag& flag) const {
    const double begin_days = value(row, *times_, 0), end_days = value(row, *times_, 1);
    if (begin_days == 0 && end_days == 0) return;
    if (!(std::abs(begin_days) < 1e7) || !(std::abs(end_days) < 1e7))
      throw DataError("{}: row {}: times {} to {} days: numbers are needed", where_, number + 1, begin_days,
                      end_days);
    if (!begin_mjd_s_)
      throw DataError("{}: no RDATE, here or in {}, to which its times are relative", where_,
                      layout_.names.antennas);
    // Half of the last digit of a float32: an end that is the time of a row holds for that row.
    const auto resolution_s = [&](double days) {
      return times_->bitpix == -32 ? std::abs(days) * 86400 * 0x1p-24 : 0;
    };
    const double zero_s = *begin_mjd_s_ + layout_.utc_offset_s;
    flag.begin_mjd_s = zero_s + begin_days * 86400 - resolution_s(begin_days);
    flag.end_mjd_s = zero_s + end_days * 86400 + resolution_s(end_days);
  }

  void take_products(const std::uint8_t* row, UvfitsFlag& flag) const {
    flag.products = 0;
    for (std::size_t s = 0; s < products_->repeat; ++s)
      if (value(row, *products_, s) != 0) flag.products |= 1u << s;
  }

  const UvfitsLayout& layout_;
  std::string where_;
  FitsColumns columns_;
  const FitsColumn *source_, *subarray_, *frequency_, *stations_, *times_, *ifs_, *bands_, *channels_,
      *products_;
  std::optional<double> begin_mjd_s_;
};

}  // namespace

bool UvfitsFlag::holds(const UvfitsGroup& group, std::size_t if_number) const {
  // Files of one source or setup may give it no number.
  const auto same = [](int wanted, int number) { return wanted == 0 || number == 0 || wanted == number; };
  return if_number >= first_if && if_number < end_if && group.time_mjd_s >= begin_mjd_s &&
         group.time_mjd_s <= end_mjd_s && same(source, group.source) && same(subarray, group.subarray) &&
         same(frequency_id, group.frequency_id);
}

void UvfitsFlags::add(const UvfitsFlag& flag) {
  const Stations stations{std::min(flag.station1, flag.station2), std::max(flag.station1, flag.station2)};
  flags_[stations.key()].push_back({flag, 0});
  ++n_flags_;
}

void UvfitsFlags::sort() {
  for (auto& [key, entries] : flags_) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.flag.begin_mjd_s < b.flag.begin_mjd_s; });
    double last_s = -std::numeric_limits<double>::infinity();
    for (Entry& entry : entries) entry.last_end_mjd_s = last_s = std::max(last_s, entry.flag.end_mjd_s);
  }
}

void read_uvfits_flags(UvfitsLayout& layout) {
  int newest = 0;
  for (const auto& [name, version] : layout.tables)
    if (name == layout.names.flags) newest = std::max(newest, version);
  if (newest == 0) return;
  const ByteSource source(layout.name);
  walk_fits(layout.name, [&](const FitsUnit& unit) {
    if (unit.number == 1 || unit.text("EXTNAME").value_or("") != layout.names.flags) return;
    if (!layout.idi && unit.number_of("EXTVER").value_or(1) != newest) return;
    const FlagTable table(layout, unit);
    constexpr std::size_t kRowsAtOnce = 1024;
    std::vector<std::uint8_t> bytes;
    for (std::size_t first = 0; first < table.n_rows(); first += kRowsAtOnce) {
      const std::size_t n = std::min(kRowsAtOnce, table.n_rows() - first);
      bytes.resize(n * table.row_bytes());
      if (source.read_at(unit.data_byte + first * table.row_bytes(), bytes.data(), bytes.size()) <
          bytes.size())
        throw DataError("{}: HDU {}: the file has become shorter", layout.name, unit.number);
      for (std::size_t i = 0; i < n; ++i)
        table.add(bytes.data() + i * table.row_bytes(), first + i, layout.flags);
    }
  });
  layout.flags.sort();
}

}  // namespace apsyn
