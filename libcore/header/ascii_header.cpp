// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/header/ascii_header.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::string_view kBlank = " \t\r\v\f";

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(kBlank));
}

// A '#' at the start of a value or after a blank begins a comment; inside a word it is text.
std::string_view without_comment(std::string_view value) {
  for (std::size_t at = value.find('#'); at != std::string_view::npos; at = value.find('#', at + 1))
    if (at == 0 || kBlank.find(value[at - 1]) != std::string_view::npos) return trim(value.substr(0, at));
  return trim(value);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    if (text[at] == '%' && at + 2 < text.size()) {
      const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + at + 3, value, 16);
      if (error == std::errc() && end == text.data() + at + 3) {
        decoded += static_cast<char>(value);
        at += 2;
        continue;
      }
    }
    decoded += text[at];
  }
  return decoded;
}

}  // namespace

std::optional<double> scaled_number(std::string_view text, int exponent10) {
  // Shifting the exponent of the text keeps the one rounding of the conversion.
  std::int64_t exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    const auto given = parse_integer(text.substr(e + 1));
    if (!given || std::abs(*given) > 10000) return std::nullopt;
    exponent = *given;
    text = text.substr(0, e);
  }
  if (text.empty() || text.find_first_not_of("+-.0123456789") != std::string_view::npos) return std::nullopt;
  return finite_number(fmt::format("{}e{}", text, exponent + exponent10));
}

std::size_t header_size(std::string_view first_unit, const std::string& source) {
  if (first_unit.substr(0, kHeaderUnit).find("HDR_SIZE") == std::string_view::npos)
    throw DataError("{}: byte 0: no HDR_SIZE in the first {} bytes: a PSRDADA header is needed", source,
                    kHeaderUnit);
  HeaderReader reader(first_unit.substr(0, kHeaderUnit), source);
  const auto size = static_cast<std::size_t>(reader.require_integer("HDR_SIZE", 0, kMaxHeaderBytes));
  if (size == 0 || size % kHeaderUnit != 0)
    throw DataError("{}: HDR_SIZE {}: a multiple of {} is needed", source, size, kHeaderUnit);
  return size;
}

HeaderReader::HeaderReader(std::string_view bytes, std::string source) : source_(std::move(source)) {
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  // The rest of the header is filled with NULs. Text behind one would be keys that nobody reads.
  if (const std::size_t behind = bytes.find_first_not_of('\0', text.size()); behind != std::string_view::npos)
    throw DataError(
        "{}: byte {}: a NUL ends the header, and there is more of it at byte {}: the header is damaged",
        source_, text.size(), behind);
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(at, end - at);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      if (byte >= 0x7f || (byte < 0x20 && kBlank.find(line[i]) == std::string_view::npos))
        throw DataError("{}: byte {}: value {:#04x} in the header, which is plain text up to its first NUL",
                        source_, at + i, byte);
    }
    at = end + 1;
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    const std::string_view key = first_word(content);
    entries_.push_back(
        {std::string(key), std::string(without_comment(trim(content.substr(key.size())))), false});
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) index_.emplace_back(entries_[i].key, i);
  std::sort(index_.begin(), index_.end());
}

HeaderReader::Entry* HeaderReader::find(std::string_view key) {
  Entry* found = nullptr;
  const auto less = [](const auto& entry, std::string_view wanted) { return entry.first < wanted; };
  for (auto at = std::lower_bound(index_.begin(), index_.end(), key, less);
       at != index_.end() && at->first == key; ++at) {
    entries_[at->second].known = true;
    if (found == nullptr) found = &entries_[at->second];
  }
  return found;
}

void HeaderReader::ignore(std::string_view key) {
  find(key);
}

std::optional<std::string> HeaderReader::text(std::string_view key) {
  const Entry* entry = find(key);
  if (entry == nullptr || entry->value.empty()) return std::nullopt;
  return std::string(first_word(entry->value));
}

std::string HeaderReader::text_or(std::string_view key, std::string_view otherwise) {
  return text(key).value_or(std::string(otherwise));
}

std::string HeaderReader::require_text(std::string_view key) {
  auto value = text(key);
  if (!value) throw DataError("{}: {} is missing: add it to the header", source_, key);
  return *value;
}

std::optional<double> HeaderReader::number(std::string_view key, int exponent10) {
  const auto word = text(key);
  if (!word) return std::nullopt;
  const auto value = scaled_number(*word, exponent10);
  if (!value) throw DataError("{}: {} {}: a finite number is needed", source_, key, *word);
  return value;
}

double HeaderReader::require_number(std::string_view key, int exponent10) {
  require_text(key);
  return *number(key, exponent10);
}

std::optional<std::int64_t> HeaderReader::integer(std::string_view key, std::int64_t least,
                                                  std::int64_t most) {
  const auto word = text(key);
  if (!word) return std::nullopt;
  const auto value = parse_integer(*word);
  if (!value || *value < least || *value > most)
    throw DataError("{}: {} {}: an integer from {} to {} is needed", source_, key, *word, least, most);
  return value;
}

std::int64_t HeaderReader::require_integer(std::string_view key, std::int64_t least, std::int64_t most) {
  require_text(key);
  return *integer(key, least, most);
}

std::int64_t HeaderReader::integer_or(std::string_view key, std::int64_t least, std::int64_t most,
                                      std::int64_t otherwise) {
  return integer(key, least, most).value_or(otherwise);
}

std::optional<double> HeaderReader::angle(std::string_view key) {
  const auto value = number(key);
  if (!value) return std::nullopt;
  if (std::abs(*value) > 720)
    throw DataError("{}: {} {}: an angle in degrees is needed", source_, key, *value);
  return parse_angle(*text(key) + "deg");
}

FluxUnit HeaderReader::flux_unit() {
  const std::string word = text_or("FLUX_UNIT", name_of(FluxUnit::adu));
  if (const auto unit = find_flux_unit(word)) return *unit;
  throw DataError("{}: FLUX_UNIT {}: Jy, of calibrated samples, or adu, as without the key, is needed",
                  source_, word);
}

std::vector<std::string> HeaderReader::history() {
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (Entry& entry : entries_) {
    if (!entry.key.starts_with("HISTORY_")) continue;
    const auto n = parse_integer(std::string_view(entry.key).substr(8));
    if (!n) continue;
    entry.known = true;
    lines.emplace_back(*n, percent_decoded(entry.value));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> history;
  for (auto& [n, line] : lines) history.push_back(std::move(line));
  return history;
}

std::vector<std::pair<std::string, std::string>> HeaderReader::rest() const {
  std::vector<std::pair<std::string, std::string>> others;
  for (const Entry& entry : entries_)
    if (!entry.known && entry.key != "HEADER") others.emplace_back(entry.key, entry.value);
  return others;
}

}  // namespace apsyn
