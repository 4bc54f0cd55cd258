// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <cmath>
#include <span>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

using Separators = std::array<std::string, 3>;

Separators separators_of(const std::string& separator, const std::string& first) {
  return separator.empty() ? Separators{first, "m", "s"} : Separators{separator, separator, ""};
}

std::string sexagesimal_text(double seconds, int decimals, const Separators& separators, double wrap,
                             int width) {
  const double unit = std::pow(10.0, decimals);
  auto ticks = static_cast<std::int64_t>(std::llround(seconds * unit));
  const auto per_minute = static_cast<std::int64_t>(60 * unit);
  if (wrap > 0) ticks %= static_cast<std::int64_t>(wrap * unit);
  std::int64_t minutes = ticks / per_minute;
  double rest = static_cast<double>(ticks % per_minute) / unit;
  return fmt::format("{:0{}}{}{:02}{}{:0{}.{}f}{}", minutes / 60, width, separators[0], minutes % 60,
                     separators[1], rest, decimals > 0 ? decimals + 3 : 2, decimals, separators[2]);
}

struct Prefix {
  double from, divide;
  const char* unit;
};

std::string with_prefix(double value, std::span<const Prefix> prefixes) {
  for (const Prefix& prefix : prefixes)
    if (std::abs(value) >= prefix.from) return fmt::format("{:.6g} {}", value / prefix.divide, prefix.unit);
  return fmt::format("{:.6g} {}", value / prefixes.back().divide, prefixes.back().unit);
}

}  // namespace

std::string format_right_ascension(double ra_rad, int decimals, const std::string& separator) {
  double turns = ra_rad / kTwoPi;
  return sexagesimal_text((turns - std::floor(turns)) * 86400.0, decimals, separators_of(separator, "h"),
                          86400.0, 2);
}
std::string format_declination(double dec_rad, int decimals, const std::string& separator) {
  return (std::signbit(dec_rad) ? "-" : "+") + sexagesimal_text(std::abs(dec_rad) / kTwoPi * 1296000.0,
                                                                decimals, separators_of(separator, "d"), 0,
                                                                2);
}

std::string format_frequency(double hz) {
  static constexpr Prefix prefixes[] = {
      {1e9, 1e9, "GHz"}, {1e6, 1e6, "MHz"}, {1e3, 1e3, "kHz"}, {0, 1, "Hz"}};
  return with_prefix(hz, prefixes);
}

std::string format_bytes(double bytes) {
  static constexpr Prefix prefixes[] = {
      {1e12, 1e12, "TB"}, {1e9, 1e9, "GB"}, {1e6, 1e6, "MB"}, {1e3, 1e3, "kB"}, {0, 1, "B"}};
  for (const Prefix& prefix : prefixes)
    if (bytes >= prefix.from) return fmt::format("{:.3g} {}", bytes / prefix.divide, prefix.unit);
  return "0 B";
}

std::string format_bytes_upwards(double bytes) {
  constexpr double kDigits = 3;
  if (!(bytes > 1e3)) return format_bytes(std::ceil(bytes));
  const double step = std::pow(10, std::floor(std::log10(bytes)) + 1 - kDigits);
  return format_bytes(std::ceil(bytes / step * (1 - 1e-12)) * step);
}

std::string format_angle(double rad) {
  static constexpr Prefix prefixes[] = {{kRadPerDeg, kRadPerDeg, "deg"},
                                        {60 * kRadPerArcsec, 60 * kRadPerArcsec, "amin"},
                                        {0.1 * kRadPerArcsec, kRadPerArcsec, "asec"},
                                        {0, 1e-3 * kRadPerArcsec, "mas"}};
  return with_prefix(rad, prefixes);
}

std::string format_duration(double seconds) {
  static constexpr Prefix prefixes[] = {{86400, 86400, "d"}, {3600, 3600, "h"},  {120, 60, "min"},
                                        {1, 1, "s"},         {1e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
  return with_prefix(seconds, prefixes);
}

}  // namespace apsyn
