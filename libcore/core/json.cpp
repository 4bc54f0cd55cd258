// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/json.h"

#include <fmt/format.h>

#include <cmath>

namespace apsyn {
namespace {

/// Bytes of UTF-8 pass; quotes, backslashes and control characters are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
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
