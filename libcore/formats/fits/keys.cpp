// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "libcore/base/error.h"

namespace apsyn {

namespace {

/// Keywords that describe the file or the coordinates: they are rebuilt on writing, never handed on.
bool is_structural(std::string_view keyword) {
  static constexpr std::array kExact{"SIMPLE", "BITPIX",  "EXTEND",   "BSCALE",  "BZERO",   "BLANK",
                                     "BMAJ",   "BMIN",    "BPA",      "LONPOLE", "LATPOLE", "EQUINOX",
                                     "EPOCH",  "RESTFRQ", "RESTFREQ", "DATAMIN", "DATAMAX", "PCOUNT",
                                     "GCOUNT", "VELREF",  "ALTRVAL",  "ALTRPIX", "MJD-OBS", "WCSAXES"};
  static constexpr std::array kNumbered{"NAXIS", "CRVAL", "CDELT", "CRPIX", "CROTA", "CD", "PC", "PV"};
  if (std::find(kExact.begin(), kExact.end(), keyword) != kExact.end()) return true;
  for (const std::string_view stem : kNumbered)
    if (keyword.starts_with(stem) &&
        keyword.substr(stem.size()).find_first_not_of("0123456789_") == std::string_view::npos)
      return true;
  return false;
}

std::optional<double> parse_fits_number(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), 'D', 'E');
  const char* begin = plain.data() + (plain.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, plain.data() + plain.size(), value);
  if (plain.empty() || error != std::errc() || end != plain.data() + plain.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

}  // namespace

std::string fits_error_text(int status) {
  char text[FLEN_STATUS] = "", detail[FLEN_ERRMSG] = "", message[FLEN_ERRMSG];
  fits_get_errstatus(status, text);
  fits_read_errmsg(detail);
  while (fits_read_errmsg(message) != 0) {
  }
  return detail[0] ? fmt::format("{} ({})", text, detail) : text;
}

const std::vector<std::pair<int, std::string>>& stokes_numbers() {
  static const std::vector<std::pair<int, std::string>> table{{1, "I"},   {2, "Q"},   {3, "U"},   {4, "V"},
                                                              {-1, "RR"}, {-2, "LL"}, {-3, "RL"}, {-4, "LR"},
                                                              {-5, "XX"}, {-6, "YY"}, {-7, "XY"}, {-8, "YX"}};
  return table;
}

int feed_number(std::string_view label) {
  const std::size_t at = std::string_view("XYRL").find(label);
  return label.size() == 1 && at != label.npos ? static_cast<int>(at) + 1 : 0;
}

std::string feed_label(double number) {
  for (const char* label : {"X", "Y", "R", "L"})
    if (std::abs(feed_number(label) - number) < 0.01) return label;
  return {};
}

bool FitsKeys::found(const std::string& keyword, int status) const {
  if (status == 0) return true;
  const std::string text = fits_error_text(status);
  if (status == KEY_NO_EXIST || status == VALUE_UNDEFINED) return false;
  throw DataError("{}: {}: {}", name_, keyword, text);
}

std::optional<double> FitsKeys::number(const std::string& keyword) const {
  int status = 0;
  double value = 0;
  fits_read_key(fits_, TDOUBLE, keyword.c_str(), &value, nullptr, &status);
  if (!found(keyword, status)) return std::nullopt;
  if (!std::isfinite(value)) throw DataError("{}: {} = {}: a finite number is needed", name_, keyword, value);
  return value;
}

std::optional<std::string> FitsKeys::text(const std::string& keyword) const {
  int status = 0;
  char value[FLEN_VALUE] = "";
  fits_read_key(fits_, TSTRING, keyword.c_str(), value, nullptr, &status);
  if (!found(keyword, status)) return std::nullopt;
  return std::string(trim_blanks(value));
}

bool FitsKeys::flag(const std::string& keyword) const {
  int status = 0, value = 0;
  fits_read_key(fits_, TLOGICAL, keyword.c_str(), &value, nullptr, &status);
  return found(keyword, status) && value != 0;
}

std::optional<std::string> other_equinox(const FitsKeys& keys) {
  for (const char* keyword : {"EQUINOX", "EPOCH"}) {
    const std::string text = keys.text(keyword).value_or("");
    const auto year = parse_fits_number(std::string_view(text).substr(text.starts_with('J') ? 1 : 0));
    if (text.empty() || year == 0.0) continue;
    if (year == 2000.0) return std::nullopt;
    return fmt::format("{} = {}", keyword, text);
  }
  return std::nullopt;
}

std::vector<std::string> fits_history(const FitsPrimary& fits) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < fits.n_cards(); ++i) {
    const std::string_view card = fits.card(i);
    if (!card.starts_with("HISTORY ")) continue;
    const std::string_view line = card.substr(8);
    lines.emplace_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

double header_number(const FitsPrimary& fits, std::string_view keyword) {
  for (std::size_t i = 0; i < fits.n_cards(); ++i) {
    const std::string_view card = fits.card(i);
    if (trim_blanks(card.substr(0, 8)) != keyword || card.substr(8, 2) != "= ") continue;
    const std::string_view value = card.substr(10);
    return parse_fits_number(trim_blanks(value.substr(0, value.find('/')))).value_or(0);
  }
  return 0;
}

std::vector<std::pair<std::string, double>> other_numeric_keywords(const FitsPrimary& fits) {
  std::vector<std::pair<std::string, double>> keywords;
  for (std::size_t i = 0; i < fits.n_cards(); ++i) {
    const std::string_view card = fits.card(i);
    const std::string_view keyword = trim_blanks(card.substr(0, 8));
    if (card.substr(8, 2) != "= " || is_structural(keyword)) continue;
    const std::string_view value = card.substr(10);
    if (const auto number = parse_fits_number(trim_blanks(value.substr(0, value.find('/')))))
      keywords.emplace_back(keyword, *number);
  }
  return keywords;
}

}  // namespace apsyn
