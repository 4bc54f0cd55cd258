// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

// 113 bits of mantissa: the product of a decimal text and an irrational factor is then off by at most 2^-110,
// and rounding it to 53 bits gives the nearest double but for texts within 2^-57 of a tie.
__extension__ typedef __float128 Quad;

constexpr Quad kPiQuad = Quad(3.141592653589793115997963468544185161590576171875) +
                         Quad(1.2246467991473531772260659322749979970830539012749e-16) +
                         Quad(-2.9947698097183396659e-33);

constexpr int kMaxDigits = 36;  // all digits of an __int128

/// A decimal number as digits * 10^exponent, exactly.
struct Decimal {
  bool negative = false;
  unsigned __int128 digits = 0;
  int exponent = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads sign, digits, point and exponent from the front of `text`; nothing when there is no number or more
/// than 36 significant digits.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal value;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) value.negative = text[at++] == '-';
  int n_digits = 0, n_significant = 0;
  bool point = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    ++n_digits;
    if (value.digits != 0 || text[at] != '0') ++n_significant;
    if (n_significant > kMaxDigits) return std::nullopt;
    value.digits = value.digits * 10 + static_cast<unsigned>(text[at] - '0');
    if (point) --value.exponent;
  }
  if (n_digits == 0) return std::nullopt;
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits_at = at + 1;
    if (text[digits_at] == '+' || text[digits_at] == '-') ++digits_at;
    if (digits_at < text.size() && is_digit(text[digits_at])) {
      int exponent = 0;
      std::size_t first = text[at + 1] == '+' ? at + 2 : at + 1;
      auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), exponent);
      if (error != std::errc() || exponent > 400 || exponent < -400) return std::nullopt;
      value.exponent += exponent;
      at = static_cast<std::size_t>(end - text.data());
    }
  }
  text.remove_prefix(at);
  return value;
}

/// The double nearest to the decimal times 10^shift, through the correctly rounding from_chars.
double to_double(const Decimal& value, int shift) {
  std::array<char, 64> digits;
  std::size_t n = digits.size();
  unsigned __int128 rest = value.digits;
  do {
    digits[--n] = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  std::string text(digits.data() + n, digits.size() - n);
  text += fmt::format("e{}", value.exponent + shift);
  double result = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), result).ec != std::errc()) return NAN;
  return value.negative ? -result : result;
}

Quad to_quad(const Decimal& value) {
  Quad result = static_cast<Quad>(value.digits);
  Quad power = 1, base = 10;
  for (int n = std::abs(value.exponent); n > 0; n >>= 1, base *= base)
    if (n & 1) power *= base;
  return value.exponent < 0 ? result / power : result * power;
}

/// How a unit scales to SI: by 10^decimal, and by `factor` (a whole number) on top.
struct Unit {
  std::string_view name;
  int decimal;
  std::uint64_t factor = 1;
};

std::string unit_list(std::span<const Unit> units) {
  std::string list;
  for (const Unit& unit : units) list += std::string(list.empty() ? "" : ", ") + std::string(unit.name);
  return list;
}

double parse_with_units(std::string_view text, std::string_view what, std::string_view example,
                        std::span<const Unit> units) {
  std::string_view rest = text;
  std::optional<Decimal> value = take_decimal(rest);
  if (!value)
    throw UsageError("'{}' is no {}: write a number and a unit, for example {}", text, what, example);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : units) {
    if (rest != unit.name) continue;
    double result = unit.factor == 1 ? to_double(*value, unit.decimal)
                                     : static_cast<double>(to_quad(*value) * Quad(unit.factor)) *
                                           (value->negative ? -1.0 : 1.0);
    if (!std::isfinite(result)) break;
    return result;
  }
  if (rest.empty()) throw UsageError("'{}' has no unit: write for example {}", text, example);
  throw UsageError("'{}' is no {}: its unit must be one of {}", text, what, unit_list(units));
}

constexpr std::string_view kAngleHelp = "10asec, 1.5deg, 0.1rad, 12h30m00.5s or -30d43m17s";

[[noreturn]] void bad_angle(std::string_view text) {
  throw UsageError("'{}' is no angle: write for example {}", text, kAngleHelp);
}

/// Fractions of a turn: value * numerator / denominator turns.
struct AngleUnit {
  std::string_view name;
  std::uint64_t per_turn;
};
constexpr AngleUnit kAngleUnits[] = {
    {"deg", 360},      {"d", 360},          {"amin", 21600},     {"arcmin", 21600},
    {"asec", 1296000}, {"arcsec", 1296000}, {"mas", 1296000000}, {"uas", 1296000000000}};

double turns_to_rad(Quad turns_numerator, std::uint64_t per_turn, bool negative) {
  double rad = static_cast<double>(turns_numerator * (2 * kPiQuad) / Quad(per_turn));
  return negative ? -rad : rad;
}

/// "A<sep0>B<sep1>C<sep2>" with C fractional -> seconds of (hours or degrees), exactly; seconds per turn
/// follow from the kind. Minutes and seconds must be below 60.
double sexagesimal(std::string_view text, std::string_view separators, std::uint64_t seconds_per_turn) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  Quad seconds = 0;
  constexpr int kWeights[] = {3600, 60, 1};
  for (int part = 0; part < 3; ++part) {
    if (rest.empty()) {
      if (part == 0 || separators[2] == '\0') bad_angle(text);  // colon forms need all three parts
      break;
    }
    if (!is_digit(rest[0]) && rest[0] != '.') bad_angle(text);
    std::optional<Decimal> value = take_decimal(rest);
    if (!value) bad_angle(text);
    bool last = part == 2 || rest.size() == 1 || rest.empty();
    if (!last && value->exponent != 0) bad_angle(text);
    Quad number = to_quad(*value);
    if (part > 0 && number >= 60) bad_angle(text);
    seconds += number * kWeights[part];
    char separator = separators[part];
    if (separator != '\0') {
      if (rest.empty() || rest[0] != separator) bad_angle(text);
      rest.remove_prefix(1);
    } else if (!rest.empty()) {
      bad_angle(text);
    }
  }
  if (!rest.empty()) bad_angle(text);
  return turns_to_rad(seconds, seconds_per_turn, negative);
}

constexpr std::uint64_t kSecondsOfTime = 86400, kSecondsOfArc = 1296000;

double parse_angle_text(std::string_view text, std::uint64_t colon_seconds_per_turn) {
  if (text.find(':') != std::string_view::npos)
    return sexagesimal(text, std::string_view("::\0", 3), colon_seconds_per_turn);
  if (text.find('h') != std::string_view::npos) return sexagesimal(text, "hms", kSecondsOfTime);
  std::size_t d = text.find('d');
  if (d != std::string_view::npos && d + 1 < text.size() && (is_digit(text[d + 1])))
    return sexagesimal(text, "dms", kSecondsOfArc);
  std::string_view rest = text;
  std::optional<Decimal> value = take_decimal(rest);
  if (!value) bad_angle(text);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  double result = NAN;
  if (rest == "rad") result = to_double(*value, 0);
  if (rest == "mrad") result = to_double(*value, -3);
  for (const AngleUnit& unit : kAngleUnits)
    if (rest == unit.name) result = turns_to_rad(to_quad(*value), unit.per_turn, value->negative);
  if (rest.empty()) throw UsageError("'{}' has no unit: write for example {}", text, kAngleHelp);
  if (!std::isfinite(result)) bad_angle(text);
  return result;
}

}  // namespace

double parse_angle(std::string_view text) {
  return parse_angle_text(text, kSecondsOfArc);
}
double parse_right_ascension(std::string_view text) {
  const double wrapped = std::fmod(parse_angle_text(text, kSecondsOfTime), kTwoPi);
  return wrapped < 0 ? wrapped + kTwoPi : wrapped;
}

double parse_duration(std::string_view text) {
  static constexpr Unit units[] = {{"s", 0},    {"ms", -3},     {"us", -6},     {"ns", -9},
                                   {"ps", -12}, {"min", 0, 60}, {"h", 0, 3600}, {"d", 0, 86400}};
  return parse_with_units(text, "duration", "2s, 40ms or 10min", units);
}

double parse_frequency(std::string_view text) {
  static constexpr Unit units[] = {{"Hz", 0}, {"kHz", 3}, {"MHz", 6}, {"GHz", 9}};
  return parse_with_units(text, "frequency", "150MHz", units);
}

double parse_length(std::string_view text) {
  static constexpr Unit units[] = {{"m", 0}, {"km", 3}, {"cm", -2}, {"mm", -3}};
  return parse_with_units(text, "length", "21cm or 3km", units);
}

double parse_flux(std::string_view text) {
  static constexpr Unit units[] = {{"Jy", 0}, {"mJy", -3}, {"uJy", -6}, {"kJy", 3}, {"MJy", 6}};
  return parse_with_units(text, "flux density", "10Jy or 5mJy", units);
}

double parse_flux_or_adu(std::string_view text, FluxUnit& unit) {
  static constexpr Unit units[] = {{"Jy", 0}, {"mJy", -3}, {"uJy", -6}, {"kJy", 3}, {"MJy", 6}, {"adu", 0}};
  unit = text.ends_with("adu") ? FluxUnit::adu : FluxUnit::jansky;
  return parse_with_units(text, "flux density", "10Jy, 5mJy or 300adu", units);
}

double parse_tec(std::string_view text) {
  static constexpr Unit units[] = {{"TECU", 0}, {"mTECU", -3}};
  return parse_with_units(text, "electron content", "0.1TECU or 5mTECU", units);
}

std::uint64_t parse_bytes(std::string_view text) {
  static constexpr Unit units[] = {{"B", 0},   {"kB", 3},           {"MB", 6},           {"GB", 9},
                                   {"TB", 12}, {"KiB", 0, 1 << 10}, {"MiB", 0, 1 << 20}, {"GiB", 0, 1 << 30}};
  double bytes = parse_with_units(text, "size", "8GB or 512MiB", units);
  if (bytes < 0 || bytes >= 0x1p63) throw UsageError("'{}' is no size: write for example 8GB", text);
  return static_cast<std::uint64_t>(bytes);
}

double parse_number(std::string_view text) {
  std::string_view rest = text;
  std::optional<Decimal> value = take_decimal(rest);
  if (!value || !rest.empty()) throw UsageError("'{}' is no number", text);
  double result = to_double(*value, 0);
  if (!std::isfinite(result)) throw UsageError("'{}' is out of range", text);
  return result;
}

SkyDirection parse_sky_direction(std::string_view text) {
  auto cure = [&]() -> UsageError {
    return UsageError("'{}' is no sky direction: write for example '12h30m00.5s -30d43m17s'", text);
  };
  std::size_t split = text.find_first_of(" ,\t");
  if (split == std::string_view::npos) throw cure();
  std::size_t next = text.find_first_not_of(" ,\t", split);
  if (next == std::string_view::npos) throw cure();
  std::string_view second = text.substr(next);
  while (!second.empty() && second.back() == ' ') second.remove_suffix(1);
  SkyDirection direction{parse_right_ascension(text.substr(0, split)), parse_angle(second)};
  if (!(std::abs(direction.dec_rad) <= kPi / 2))
    throw UsageError("'{}': the declination is beyond 90 deg", text);
  return direction;
}

std::optional<FluxUnit> find_flux_unit(std::string_view name) {
  for (const FluxUnit unit : {FluxUnit::adu, FluxUnit::jansky})
    if (name == name_of(unit)) return unit;
  return std::nullopt;
}

FluxUnit unit_of_image(std::string_view bunit) {
  constexpr std::string_view kAdu = "adu";
  const bool arbitrary =
      bunit.size() >= kAdu.size() && std::equal(kAdu.begin(), kAdu.end(), bunit.begin(), [](char a, char b) {
        return a == std::tolower(static_cast<unsigned char>(b));
      });
  return arbitrary ? FluxUnit::adu : FluxUnit::jansky;
}

}  // namespace apsyn
