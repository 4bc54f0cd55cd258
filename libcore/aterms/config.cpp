// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"

namespace apsyn {
namespace {

struct Token {
  std::string text;
  std::size_t line = 0;
  bool quoted = false;

  bool is(std::string_view symbol) const { return !quoted && text == symbol; }
};

/// Words, the symbols = [ ], and "\n" at the ends of lines; commas separate words as blanks do.
class Tokens {
 public:
  Tokens(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::optional<Token> next() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\' && text_.substr(at_ + 1).starts_with('\n')) {
        at_ += 2;
        ++line_;
      } else if (c == '\n') {
        ++at_;
        return Token{"\n", line_++};
      } else if (is_blank(c) || c == ',') {
        ++at_;
      } else if (is_symbol(c)) {
        ++at_;
        return Token{std::string(1, c), line_};
      } else {
        return c == '"' || c == '\'' ? quoted() : word();
      }
    }
    return std::nullopt;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool is_symbol(char c) { return c == '=' || c == '[' || c == ']'; }
  Token word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && !is_symbol(text_[at_]) && text_[at_] != ',' &&
           text_[at_] != '\n' && text_[at_] != '#')
      ++at_;
    return {std::string(text_.substr(begin, at_ - begin)), line_};
  }
  Token quoted() {
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos || text_.substr(at_, end - at_).find('\n') != std::string_view::npos)
      throw DataError("{}: line {}: a quotation mark is not closed on its line: close it", source_, line_);
    Token token{std::string(text_.substr(at_ + 1, end - at_ - 1)), line_, true};
    at_ = end + 1;
    return token;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0, line_ = 1;
};

using Assignments = std::vector<std::pair<std::string, AtermEntry::Value>>;

Assignments parse_assignments(std::string_view text, const std::string& source) {
  Tokens tokens(text, source);
  Assignments assignments;
  while (auto key = tokens.next()) {
    if (key->is("\n")) continue;
    const auto equals = tokens.next();
    if (key->is("=") || key->is("[") || key->is("]") || !equals || !equals->is("="))
      throw DataError("{}: line {}: '{}' where 'NAME = VALUE' is needed", source, key->line, key->text);
    AtermEntry::Value value{key->line, {}};
    bool in_list = false, closed = false;
    std::optional<Token> token;
    while ((token = tokens.next())) {
      if (token->is("\n")) {
        if (!in_list) break;
      } else if (token->is("[") && !in_list && !closed && value.words.empty()) {
        in_list = true;
      } else if (token->is("]") && in_list) {
        in_list = false;
        closed = true;
      } else if (token->is("=") || token->is("[") || token->is("]") || closed) {
        throw DataError("{}: line {}: '{}' out of place after '{} =': write '{} = [ WORD WORD ]'", source,
                        token->line, token->text, key->text, key->text);
      } else {
        value.words.push_back(token->text);
      }
    }
    if (in_list)
      throw DataError("{}: line {}: the list of '{}' is not closed: add ']'", source, key->line, key->text);
    if (!closed && value.words.empty())
      throw DataError("{}: line {}: '{}' has no value: give one after '='", source, key->line, key->text);
    for (const auto& [other, earlier] : assignments)
      if (other == key->text)
        throw DataError("{}: line {}: '{}' is set a second time, first in line {}: keep one", source,
                        key->line, key->text, earlier.line);
    assignments.emplace_back(key->text, std::move(value));
  }
  return assignments;
}

}  // namespace

std::string AtermEntry::where(const std::string& key) const {
  const auto at = values_.find(key);
  return fmt::format("{}: line {}: {}.{}", source_, at == values_.end() ? line_ : at->second.line, name_,
                     key);
}

std::string AtermEntry::text(const std::string& key) const {
  if (!has(key)) throw DataError("{}: is missing: set it", where(key));
  const auto& words = values_.at(key).words;
  if (words.size() != 1) throw DataError("{}: {} words: one is needed", where(key), words.size());
  return words.front();
}

std::string AtermEntry::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

double AtermEntry::number(const std::string& key, double otherwise) const {
  if (!has(key)) return otherwise;
  const auto value = finite_number(text(key));
  if (!value) throw DataError("{} = '{}': a finite number is needed", where(key), text(key));
  return *value;
}

bool AtermEntry::flag(const std::string& key, bool otherwise) const {
  const std::string word = text(key, otherwise ? "true" : "false");
  if (word == "true" || word == "True" || word == "T" || word == "1") return true;
  if (word == "false" || word == "False" || word == "F" || word == "0") return false;
  throw DataError("{} = '{}': true or false is needed", where(key), word);
}

std::vector<std::string> AtermEntry::list(const std::string& key) const {
  if (!has(key)) throw DataError("{}: is missing: set it", where(key));
  const auto& words = values_.at(key).words;
  if (words.empty()) throw DataError("{}: the list is empty: name at least one", where(key));
  return words;
}

std::string AtermEntry::found_file(const std::string& key, const std::string& word) const {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path beside = fs::path(source_).parent_path() / word;
  const bool here = fs::exists(word, error);
  if (!here && !fs::exists(beside, error))
    throw DataError(
        "{}: {}: no such file, neither in the working folder nor beside the configuration: correct the name",
        where(key), word);
  const std::string path = here ? word : beside.string();
  protect_input(path);
  return path;
}

std::string AtermEntry::file(const std::string& key) const {
  return found_file(key, text(key));
}

std::vector<std::string> AtermEntry::files(const std::string& key) const {
  std::vector<std::string> paths;
  for (const std::string& word : list(key)) paths.push_back(found_file(key, word));
  return paths;
}

void AtermEntry::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : values_)
    if (key != "type" && std::find(keys.begin(), keys.end(), key) == keys.end())
      throw DataError("{}: unknown parameter: {} knows {}", where(key), type(), fmt::join(keys, ", "));
}

std::vector<AtermEntry> parse_aterm_config(std::string_view text, const std::string& source) {
  const Assignments assignments = parse_assignments(text, source);
  const auto terms = std::find_if(assignments.begin(), assignments.end(),
                                  [](const auto& assignment) { return assignment.first == "aterms"; });
  if (terms == assignments.end() || terms->second.words.empty())
    throw DataError("{}: lists no A-terms: write for example 'aterms = [ tec, beam ]'", source);

  std::vector<AtermEntry> entries;
  const auto find = [&](std::string_view name) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const AtermEntry& entry) { return entry.name() == name; });
  };
  for (const std::string& name : terms->second.words) {
    if (find(name) != entries.end())
      throw DataError("{}: line {}: '{}' twice in the list: give the second another name and its 'NAME.type'",
                      source, terms->second.line, name);
    entries.emplace_back(source, name, terms->second.line);
  }
  for (const auto& [key, value] : assignments) {
    if (key == "aterms") continue;
    const std::size_t dot = key.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == key.size())
      throw DataError("{}: line {}: unknown key '{}': 'aterms' or 'NAME.PARAMETER' is needed", source,
                      value.line, key);
    if (const auto entry = find(std::string_view(key).substr(0, dot)); entry != entries.end())
      entry->set(key.substr(dot + 1), value);
    else
      log_warning("{}: line {}: '{}' is ignored: 'aterms' does not list '{}'", source, value.line, key,
                  key.substr(0, dot));
  }
  return entries;
}

}  // namespace apsyn
