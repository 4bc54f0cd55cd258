// SPDX-License-Identifier: GPL-3.0-or-later
// Results for scripts: JSON texts (RFC 8259), members in the order in which they were added.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace apsyn {

/// One value as text.
class Json {
 public:
  /// Written with the digits that lead back to the same double. What is not finite becomes null, because JSON
  /// has neither NaN nor infinities.
  Json(double value);
  Json(bool value) : text_(value ? "true" : "false") {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : text_(std::to_string(value)) {}
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  template <class T>
  Json(const std::vector<T>& values) {
    for (const T& value : values) items_.push_back(Json(value).text());
    text_ = joined(items_, ", ");
  }
  const std::string& text() const { return text_; }
  /// With each item of a list on a line of its own when they are objects.
  std::string in_lines() const;

 protected:
  Json() = default;
  static std::string joined(const std::vector<std::string>& items, std::string_view separator);
  std::string text_;
  std::vector<std::string> items_;
};

class JsonObject : public Json {
 public:
  JsonObject() { text_ = "{}"; }
  JsonObject& add(std::string_view key, const Json& value);
  /// One member a line.
  std::string document() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace apsyn
