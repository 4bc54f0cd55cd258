// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/time.h"

#include <charconv>
#include <cmath>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
constexpr std::int64_t kPsPerDay = 86400 * kPsPerSecond;

// Days from 0000-03-01 in the proleptic Gregorian calendar, counted from March so that the leap day comes
// last.
std::int64_t mjd_from_civil(std::int64_t year, int month, int day) {
  if (month <= 2) --year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 678881;
}

struct Civil {
  std::int64_t year;
  int month, day;
};

Civil civil_from_mjd(std::int64_t mjd) {
  const std::int64_t days = mjd + 678881;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int days_in_month(std::int64_t year, int month) {
  static constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days[month - 1];
}

}  // namespace

UtcTime add_picoseconds(const UtcTime& time, __int128 picoseconds) {
  const __int128 total = time.picoseconds + picoseconds;
  __int128 days = total / kPsPerDay;
  __int128 rest = total % kPsPerDay;
  if (rest < 0) {
    rest += kPsPerDay;
    --days;
  }
  return {time.mjd + static_cast<std::int64_t>(days), static_cast<std::int64_t>(rest)};
}

UtcTime sample_time(const UtcTime& start, std::int64_t index, double sample_s) {
  // index * sample_s in picoseconds to better than 1 ps: whole picoseconds exactly, the fraction in long
  // double.
  const long double sample_ps = static_cast<long double>(sample_s) * 1e12L;
  const long double whole = std::nearbyint(sample_ps);
  // A double of seconds resolves about 1e-16 of itself: a sample within that of whole picoseconds means them.
  const long double fraction =
      std::abs(sample_ps - whole) <= std::abs(sample_ps) * 3e-16L ? 0.0L : sample_ps - whole;
  const __int128 ps = static_cast<__int128>(whole) * index +
                      static_cast<__int128>(std::nearbyint(fraction * static_cast<long double>(index)));
  return add_picoseconds(start, ps);
}

double seconds_between(const UtcTime& earlier, const UtcTime& later) {
  return static_cast<double>(later.mjd - earlier.mjd) * 86400.0 +
         static_cast<double>(later.picoseconds - earlier.picoseconds) * 1e-12;
}

UtcTime from_mjd_seconds(double mjd_seconds) {
  const double day = std::floor(mjd_seconds / 86400.0);
  const long double rest = static_cast<long double>(mjd_seconds) - static_cast<long double>(day) * 86400.0L;
  return add_picoseconds({static_cast<std::int64_t>(day), 0},
                         static_cast<__int128>(std::nearbyint(rest * 1e12L)));
}

UtcTime parse_utc(std::string_view text) {
  auto malformed = [&]() -> DataError {
    return DataError("'{}' is no UTC time: write for example 2026-01-31-12:00:00 or 2026-01-31T12:00:00.5",
                     text);
  };
  static constexpr std::string_view shape = "dddd-dd-dd-dd:dd:dd";
  if (text.size() < shape.size()) throw malformed();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (shape[i] == 'd' ? !digit : (text[i] != shape[i] && !(i == 10 && (text[i] == 'T' || text[i] == ' '))))
      throw malformed();
  }
  auto field = [&](std::size_t at, std::size_t n) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + n, value);
    return value;
  };
  const int year = field(0, 4), month = field(5, 2), day = field(8, 2);
  const int hour = field(11, 2), minute = field(14, 2), second = field(17, 2);
  if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 ||
      second > 60)
    throw malformed();
  std::int64_t ps = 0;
  std::string_view rest = text.substr(shape.size());
  if (!rest.empty() && rest.back() == 'Z') rest.remove_suffix(1);
  if (!rest.empty()) {
    if (rest[0] != '.' || rest.size() > 40) throw malformed();
    std::int64_t unit = kPsPerSecond / 10;
    for (char c : rest.substr(1)) {
      if (c < '0' || c > '9') throw malformed();
      ps += (c - '0') * unit;  // digits beyond picoseconds add 0
      unit /= 10;
    }
  }
  const std::int64_t seconds = (hour * 60 + minute) * 60 + second;
  return add_picoseconds({mjd_from_civil(year, month, day), 0},
                         static_cast<__int128>(seconds) * kPsPerSecond + ps);
}

std::string format_dada_utc(const UtcTime& time) {
  const Civil date = civil_from_mjd(time.mjd);
  const std::int64_t seconds = time.picoseconds / kPsPerSecond;
  return fmt::format("{:04}-{:02}-{:02}-{:02}:{:02}:{:02}", date.year, date.month, date.day, seconds / 3600,
                     seconds / 60 % 60, seconds % 60);
}

std::string format_fits_utc(const UtcTime& time, int decimals) {
  std::int64_t unit = kPsPerSecond;
  for (int i = 0; i < decimals; ++i) unit /= 10;
  if (unit < 1) throw UsageError("{} decimals of a second: at most 12", decimals);
  const UtcTime rounded = add_picoseconds({time.mjd, 0}, (time.picoseconds + unit / 2) / unit * unit);
  std::string text = format_dada_utc(rounded);
  text[10] = 'T';
  if (decimals > 0) text += fmt::format(".{:0{}}", rounded.picoseconds % kPsPerSecond / unit, decimals);
  return text;
}

}  // namespace apsyn
