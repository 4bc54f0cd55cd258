// SPDX-License-Identifier: GPL-3.0-or-later
// FITS standard 4.0, sections 3.1, 4.4.1 and 7: a data unit has |BITPIX|/8 GCOUNT (PCOUNT + NAXIS1 ...
// NAXISn) bytes, padded to 2880.
#include "libcore/formats/fits/walk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/scan.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

struct Unit {
  std::int64_t bitpix = 8, n_axis = 0, pcount = 0, gcount = 1;
  std::array<std::int64_t, 16> axes{};
  bool table = false;
  bool groups = false;  ///< random groups (section 6): NAXIS1 is 0 and counts as nothing
};

struct Walk {
  ByteSource source;
  bool tiles_too = false;        ///< compressed tiles are welcome
  std::string* cards = nullptr;  ///< takes those of each header

  std::int64_t integer(std::string_view keyword, std::string_view card, std::int64_t least,
                       std::int64_t most) const {
    const std::string_view text = trim(card.substr(10, card.find('/', 10) - 10));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
      throw DataError("{}: header before byte {}: {} = '{}': an integer from {} to {} is needed",
                      source.name(), source.offset(), keyword, text, least, most);
    return value;
  }

  /// The keyword that must stand in the card of this number: CFITSIO looks at some of them in their places
  /// only and goes on with what it had in its memory where they are missing.
  static std::string mandatory_keyword(const Unit& unit, std::uint64_t index) {
    const auto n_axis = static_cast<std::uint64_t>(unit.n_axis);
    if (index == 1) return "BITPIX";
    if (index == 2) return "NAXIS";
    if (index > 2 && index < 3 + n_axis) return fmt::format("NAXIS{}", index - 2);
    constexpr std::array kTable{"PCOUNT", "GCOUNT", "TFIELDS"};
    if (unit.table && index >= 3 + n_axis && index < 3 + n_axis + kTable.size())
      return kTable[index - 3 - n_axis];
    return "";
  }
  void check_mandatory(const Unit& unit, std::uint64_t index, std::string_view card,
                       std::uint64_t header_byte) const {
    const std::string keyword = mandatory_keyword(unit, index);
    if (keyword.empty() || card.substr(0, 10) == fmt::format("{:<8}= ", keyword)) return;
    throw DataError("{}: byte {}: card '{}' where {} must stand: not a standard FITS file", source.name(),
                    header_byte + index * kFitsCard, trim(card.substr(0, 8)), keyword);
  }

  void take_card(Unit& unit, std::string_view card) const {
    const std::string_view keyword = trim(card.substr(0, 8));
    constexpr std::int64_t kHuge = std::int64_t{1} << 48;
    if (keyword == "BITPIX") unit.bitpix = integer(keyword, card, -64, 64);
    if (keyword == "NAXIS") unit.n_axis = integer(keyword, card, 0, 16);
    if (keyword == "PCOUNT") unit.pcount = integer(keyword, card, 0, kHuge);
    // Primary HDUs of FITS-IDI say that they have no groups.
    if (keyword == "GCOUNT") unit.gcount = integer(keyword, card, unit.n_axis == 0 ? 0 : 1, kHuge);
    if (keyword == "TFIELDS") integer(keyword, card, 0, 999);  // CFITSIO allocates what is promised
    if (keyword == "GROUPS") unit.groups = trim(card.substr(10, card.find('/', 10) - 10)) == "T";
    if (!tiles_too && (keyword == "ZIMAGE" || keyword == "ZTABLE"))
      throw DataError("{}: {}: compressed HDUs are not read: unpack the file with funpack", source.name(),
                      keyword);
    if (keyword.size() > 5 && keyword.starts_with("NAXIS")) {
      std::size_t axis = 0;
      std::from_chars(keyword.data() + 5, keyword.data() + keyword.size(), axis);
      if (axis >= 1 && axis <= unit.axes.size()) unit.axes[axis - 1] = integer(keyword, card, 0, kHuge);
    }
  }

  Unit read_header(bool primary) {
    Unit unit;
    if (cards != nullptr) cards->clear();
    std::array<char, kFitsBlock> block;
    for (std::uint64_t read = 0;; read += kFitsBlock) {
      if (read >= kMaxFitsHeader)
        throw DataError("{}: byte {}: no END card in {} bytes: not a FITS header", source.name(),
                        source.offset(), kMaxFitsHeader);
      const std::size_t n = source.read(block.data(), kFitsBlock);
      if (n < kFitsBlock)
        throw DataError("{}: byte {}: the file ends inside a header: it is truncated or no FITS file",
                        source.name(), source.offset());
      const std::string_view first(block.data(), kFitsCard);
      if (read == 0 && !first.starts_with(primary ? kFitsMagic : "XTENSION="))
        throw DataError("{}: byte {}: '{}' does not start an HDU: not a FITS file{}", source.name(),
                        source.offset() - kFitsBlock, trim(first.substr(0, 8)),
                        primary ? foreign_hint({block.data(), n}, "fits") : "");
      if (read == 0) unit.table = !primary && first.find("TABLE") != first.npos;
      for (std::uint64_t at = 0; at < kFitsBlock; at += kFitsCard) {
        const std::string_view card(block.data() + at, kFitsCard);
        check_mandatory(unit, (read + at) / kFitsCard, card, source.offset() - kFitsBlock - read);
        if (is_end_card(card)) return unit;
        if (cards != nullptr) cards->append(card);
        if (resembles_end_card(card))
          throw DataError(
              "{}: byte {}: card '{}': END stands at a card's beginning and alone: not a FITS file",
              source.name(), source.offset() - kFitsBlock + at, trim(card));
        if (card.substr(8, 2) == "= ") take_card(unit, card);
      }
    }
  }

  /// Returns the bytes of the data, without padding.
  std::uint64_t skip_data(const Unit& unit) {
    std::uint64_t elements = unit.n_axis > 0 ? 1 : 0;
    bool overflow = false;
    const bool groups = unit.groups && unit.axes[0] == 0;
    for (std::int64_t axis = groups ? 1 : 0; axis < unit.n_axis; ++axis)
      overflow |= __builtin_mul_overflow(
          elements, static_cast<std::uint64_t>(unit.axes[static_cast<std::size_t>(axis)]), &elements);
    overflow |= __builtin_add_overflow(elements, static_cast<std::uint64_t>(unit.pcount), &elements);
    overflow |= __builtin_mul_overflow(elements, static_cast<std::uint64_t>(unit.gcount), &elements);
    overflow |= __builtin_mul_overflow(
        elements, static_cast<std::uint64_t>(unit.bitpix < 0 ? -unit.bitpix : unit.bitpix) / 8, &elements);
    const std::uint64_t left = *source.size() - source.offset();
    // Some writers leave out the padding of the last HDU.
    if (overflow || elements > left)
      throw DataError("{}: byte {}: the header promises more data than the {} bytes left: it is truncated",
                      source.name(), source.offset(), left);
    source.skip(std::min(left, (elements + kFitsBlock - 1) / kFitsBlock * kFitsBlock));
    return elements;
  }

  void run(const std::function<void(const FitsUnit&)>& look) {
    if (!source.size()) throw FailureError("{}: is no regular file: copy it to a file first", source.name());
    FitsUnit seen;
    cards = look ? &seen.cards : nullptr;
    // A tail shorter than a block is padding that other tools leave behind.
    while (seen.number == 0 || *source.size() - source.offset() >= kFitsBlock) {
      seen.header_byte = source.offset();
      const Unit unit = read_header(++seen.number == 1);
      seen.data_byte = source.offset();
      seen.data_bytes = skip_data(unit);
      if (look) look(seen);
    }
  }
};

/// The value of a card: text between quotes, or what stands before the comment.
std::string card_value(std::string_view card) {
  std::string_view rest = card.substr(10);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  if (!rest.starts_with('\'')) return std::string(trim(rest.substr(0, rest.find('/'))));
  std::string value;
  for (std::size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == '\'' && (++at >= rest.size() || rest[at] != '\'')) break;  // two stand for one
    value.push_back(rest[at]);
  }
  return std::string(trim(value));
}

}  // namespace

void check_fits_structure(const std::string& path) {
  Walk{ByteSource(path)}.run(nullptr);
}

void walk_fits(const std::string& path, const std::function<void(const FitsUnit&)>& look) {
  Walk{ByteSource(path), true}.run(look);
}

std::optional<std::string> FitsUnit::text(std::string_view keyword) const {
  const std::string wanted = fmt::format("{:<8}= ", keyword);
  for (std::size_t at = 0; at < cards.size(); at += kFitsCard) {
    if (std::string_view(cards).substr(at, 10) != wanted) continue;
    std::string value = card_value(std::string_view(cards).substr(at, kFitsCard));
    while (value.ends_with('&') && (at += kFitsCard) < cards.size() &&
           std::string_view(cards).substr(at, 10) == "CONTINUE  ") {
      value.pop_back();
      value += card_value(std::string_view(cards).substr(at, kFitsCard));
    }
    return value;
  }
  return std::nullopt;
}

std::optional<double> FitsUnit::number_of(std::string_view keyword) const {
  std::optional<std::string> value = text(keyword);
  if (!value) return std::nullopt;
  std::replace(value->begin(), value->end(), 'D', 'E');
  return finite_number(*value);
}

std::int64_t FitsUnit::whole(std::string_view keyword, double least, double most,
                             std::string_view where) const {
  const auto value = number_of(keyword);
  if (!value || *value < least || *value > most || *value != std::floor(*value))
    throw DataError("{}: {} = '{}': a whole number from {} to {} is needed", where, keyword,
                    text(keyword).value_or(""), least, most);
  return static_cast<std::int64_t>(*value);
}

}  // namespace apsyn
