// SPDX-License-Identifier: GPL-3.0-or-later
// The JSON lines that benchmarks print: flat objects of strings and numbers.
#pragma once

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace apsyn {

class JsonLine {
 public:
  /// Text that is no flat object gives what can be read of it.
  explicit JsonLine(std::string_view line) {
    for (std::size_t at = 0;;) {
      const std::size_t key = line.find('"', at), key_end = line.find('"', key + 1);
      if (key == std::string_view::npos || key_end == std::string_view::npos) return;
      const std::size_t colon = line.find_first_not_of(" \t", key_end + 1);
      if (colon == std::string_view::npos || line[colon] != ':') return;
      std::size_t value = line.find_first_not_of(" \t", colon + 1);
      if (value == std::string_view::npos) return;
      const bool quoted = line[value] == '"';
      if (quoted) ++value;
      at = std::min(line.find_first_of(quoted ? "\"" : ",}", value), line.size());
      fields_[std::string(line.substr(key + 1, key_end - key - 1))] = line.substr(value, at - value);
      if (quoted) ++at;
    }
  }
  bool has(const std::string& key) const { return fields_.count(key) > 0; }
  std::string text(const std::string& key) const { return has(key) ? fields_.at(key) : ""; }
  /// 0 when there is no such number.
  double number(const std::string& key) const { return std::strtod(text(key).c_str(), nullptr); }

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace apsyn
