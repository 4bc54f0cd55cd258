// SPDX-License-Identifier: GPL-3.0-or-later
// The text of an A-term configuration, apsyn-aterms(5): "aterms = [ tec, beam ]", "tec.images = [ a.fits ]".
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/base/error.h"

namespace apsyn {

/// One item of the list `aterms` and its parameters.
class AtermEntry {
 public:
  struct Value {
    std::size_t line = 0;
    std::vector<std::string> words;
  };

  AtermEntry(std::string source, std::string name, std::size_t line)
      : source_(std::move(source)), name_(std::move(name)), line_(line) {}

  const std::string& name() const { return name_; }
  std::string type() const { return text("type", name_); }
  bool has(const std::string& key) const { return values_.contains(key); }
  /// "FILE: line N: NAME.KEY" of a parameter, or of the entry when the parameter is missing: begins errors.
  std::string where(const std::string& key) const;

  /// DataError when the parameter is missing and has no default, or is a list or of another form.
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  double number(const std::string& key, double otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
  /// parse(words joined by blanks), a parser of libcore/base/units.h; DataError in place of its UsageError.
  template <class Parse>
  auto quantity(const std::string& key, Parse parse) const {
    const std::vector<std::string> words = list(key);
    std::string joined = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) joined += " " + words[i];
    try {
      return parse(joined);
    } catch (const UsageError& error) {
      throw DataError("{}: {}", where(key), error.what());
    }
  }
  /// The words of a list; a single word is a list of one.
  std::vector<std::string> list(const std::string& key) const;
  /// An existing file: as named, or else below the configuration's folder.
  std::string file(const std::string& key) const;
  std::vector<std::string> files(const std::string& key) const;
  /// A file of that name, which the value of `key` stands for.
  std::string found_file(const std::string& key, const std::string& word) const;
  /// DataError when a parameter is not among these (`type` always is).
  void allow(std::initializer_list<std::string_view> keys) const;

  void set(const std::string& key, Value value) { values_[key] = std::move(value); }
  const std::map<std::string, Value>& values() const { return values_; }

 private:
  std::string source_, name_;
  std::size_t line_;
  std::map<std::string, Value> values_;
};

/// The entries in the order of the list. DataError "source: line N: ..." when malformed. Parameters of names
/// that the list leaves out are ignored with a warning.
std::vector<AtermEntry> parse_aterm_config(std::string_view text, const std::string& source);

}  // namespace apsyn
