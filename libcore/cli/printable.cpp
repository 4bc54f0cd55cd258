// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace apsyn {
namespace {

constexpr std::size_t kLongestWord = 300, kHead = 200, kTail = 50, kLongestText = 4000;

/// Length of the UTF-8 sequence at the beginning and its code point; length 0 where there is none (RFC 3629).
struct Sequence {
  std::size_t length = 0;
  std::uint32_t code = 0;
};
Sequence decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t code = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least[length] || code > 0x10FFFF || surrogate) return {};
  return {length, code};
}

bool is_shown(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
  const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
                         code == 0x200E || code == 0x200F;
  return !control && !direction && code != 0xFEFF;
}

/// The greatest place up to `at` that lies between two characters.
std::size_t before_character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0u) == 0x80) --at;
  return at;
}

}  // namespace

std::string escape_controls(std::string_view text, std::string_view allowed) {
  std::string result;
  while (!text.empty()) {
    const Sequence next = decode(text);
    const std::size_t length = std::max<std::size_t>(1, next.length);
    if (next.length > 0 && (is_shown(next.code) || allowed.find(text[0]) != allowed.npos))
      result += text.substr(0, length);
    else
      for (const char byte : text.substr(0, length))
        result += fmt::format("\\x{:02X}", static_cast<std::uint8_t>(byte));
    text.remove_prefix(length);
  }
  return result;
}

std::string shorten(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    if (length > kLongestWord) {
      const std::size_t head = before_character(text, kHead), tail = before_character(text, length - kTail);
      result += fmt::format("{}...({} characters)...{}", text.substr(0, head), tail - head,
                            text.substr(tail, length - tail));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
    if (!text.empty()) result += ' ', text.remove_prefix(1);
  }
  if (result.size() > kLongestText) {
    const std::size_t end = before_character(result, kLongestText);
    result = fmt::format("{}... ({} more characters)", result.substr(0, end), result.size() - end);
  }
  return result;
}

}  // namespace apsyn
