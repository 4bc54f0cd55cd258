// SPDX-License-Identifier: GPL-3.0-or-later
#include <charconv>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/header/ascii_header.h"

namespace apsyn {
namespace {

bool is_plain(char letter) {
  return letter > 0x20 && letter < 0x7f;
}

}  // namespace

std::string format_scaled(double value, int exponent10) {
  if (!std::isfinite(value)) throw FailureError("a value of the header is {}: it must be finite", value);
  char text[32];
  const auto result = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  std::string_view shortest(text, static_cast<std::size_t>(result.ptr - text));
  const std::size_t e = shortest.find('e');
  std::string digits;
  bool negative = false;
  for (char letter : shortest.substr(0, e)) {
    if (letter == '-') negative = true;
    if (letter >= '0' && letter <= '9') digits += letter;
  }
  if (digits == "0") return negative ? "-0" : "0";
  const std::string_view exponent_text = shortest.substr(e + 1);
  int exponent = 0;
  std::from_chars(exponent_text.data() + (exponent_text[0] == '+' ? 1 : 0),
                  exponent_text.data() + exponent_text.size(), exponent);
  exponent += exponent10;  // of the first digit
  std::string plain = negative ? "-" : "";
  const int n = static_cast<int>(digits.size());
  if (exponent < -7 || exponent > 20) {
    plain += digits.substr(0, 1);
    if (n > 1) plain += "." + digits.substr(1);
    return plain + fmt::format("e{}", exponent);
  }
  if (exponent < 0) return plain + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (exponent >= n - 1) return plain + digits + std::string(static_cast<std::size_t>(exponent - n + 1), '0');
  const auto point = static_cast<std::size_t>(exponent + 1);
  return plain + digits.substr(0, point) + "." + digits.substr(point);
}

void HeaderWriter::verbatim(std::string_view key, std::string_view value) {
  lines_ += fmt::format("{:<16} {}\n", key, value);
}

void HeaderWriter::token(std::string_view key, std::string_view value) {
  std::string word(value.empty() ? "unknown" : value);
  for (char& letter : word)
    if (!is_plain(letter)) letter = '_';
  if (word.front() == '#') word.front() = '_';
  verbatim(key, word);
}

void HeaderWriter::number(std::string_view key, double value, int exponent10) {
  verbatim(key, format_scaled(value, exponent10));
}

void HeaderWriter::integer(std::string_view key, std::int64_t value) {
  verbatim(key, fmt::format("{}", value));
}

void HeaderWriter::size(std::string_view key, std::uint64_t value) {
  verbatim(key, fmt::format("{:<20}", value));
}

void HeaderWriter::angle(std::string_view key, double rad) {
  const long double degrees = static_cast<long double>(rad) * (180.0L / std::numbers::pi_v<long double>);
  // 20 digits always suffice, as 18 give an error well below half a unit in the last place of the radians.
  std::string text;
  for (int digits = 15; digits <= 20; ++digits) {
    text = fmt::format("{:.{}g}", degrees, digits);
    if (text.find('e') == std::string::npos && parse_angle(text + "deg") == rad) break;
  }
  if (text.find('e') != std::string::npos) text = fmt::format("{:.30f}", degrees);
  verbatim(key, text);
}

void HeaderWriter::flux_unit(FluxUnit unit) {
  token("FLUX_UNIT", name_of(unit));
}

void HeaderWriter::history(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string coded;
    for (char letter : lines[i]) {
      if (is_plain(letter) && letter != '%' && letter != '#')
        coded += letter;
      else
        coded += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    verbatim(fmt::format("HISTORY_{}", i + 1), coded);
  }
}

std::string HeaderWriter::finish() const {
  constexpr std::size_t kFront = 128;  // the three lines in front of the others are shorter
  const std::size_t size = (kFront + lines_.size() + kHeaderUnit - 1) / kHeaderUnit * kHeaderUnit;
  if (size > kMaxHeaderBytes)
    throw FailureError("the header takes {} bytes: at most {} are allowed", size, kMaxHeaderBytes);
  std::string header = fmt::format("{:<16} {}\n{:<16} {}\n{:<16} {}\n", "HEADER", "DADA", "HDR_VERSION",
                                   "1.0", "HDR_SIZE", size);
  header += lines_;
  header.resize(size, '\0');
  return header;
}

}  // namespace apsyn
