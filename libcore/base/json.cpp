// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace apsyn {
namespace {

/// Bytes of the well-formed UTF-8 sequence at the front of `text`, which is not empty: 1 to 4, or 0 when none
/// begins there (RFC 3629, section 4: neither overlong ones nor surrogates nor what is beyond U+10FFFF).
std::size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t n = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (n == 0 || text.size() < n) return 0;
  const unsigned least = lead == 0xE0   ? 0xA0
                         : lead == 0xF0 ? 0x90
                                        : 0x80,
                 most = lead == 0xED   ? 0x9F
                        : lead == 0xF4 ? 0x8F
                                       : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < n; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return n;
}

/// UTF-8 passes; quotes, backslashes and control characters are escaped; each byte that begins no sequence
/// becomes U+FFFD: names come from files of any encoding, and a reader of JSON refuses such bytes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = sequence_bytes(text.substr(at));
    const char c = text[at];
    if (n == 0)
      out += "\\ufffd";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else
      out += text.substr(at, n);
    at += std::max<std::size_t>(n, 1);
  }
  return out + '"';
}

}  // namespace

Json::Json(double value) : text_(std::isfinite(value) ? fmt::format("{}", value) : "null") {}

Json::Json(std::string_view text) : text_(quoted(text)) {}

std::string Json::joined(const std::vector<std::string>& items, std::string_view separator) {
  return fmt::format("[{}]", fmt::join(items, separator));
}

std::string Json::in_lines() const {
  if (items_.empty() || !items_[0].starts_with('{')) return text_;
  return fmt::format("[\n    {}\n  ]", fmt::join(items_, ",\n    "));
}

JsonObject& JsonObject::add(std::string_view key, const Json& value) {
  const std::string name = quoted(key) + ": ";
  text_.pop_back();
  text_ += (lines_.empty() ? "" : ", ") + name + value.text() + "}";
  lines_.push_back(name + value.in_lines());
  return *this;
}

std::string JsonObject::document() const {
  return fmt::format("{{\n  {}\n}}", fmt::join(lines_, ",\n  "));
}

}  // namespace apsyn
