// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/scan.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

// Pipes do not tell their size: their data are taken in pieces, so that a false promise costs no memory.
constexpr std::size_t kPiece = 16u << 20;

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool is_end_card(std::string_view card) {
  return card.starts_with("END") && trim_blanks(card) == "END";
}

bool resembles_end_card(std::string_view card) {
  return !is_end_card(card) && (trim_blanks(card) == "END" || trim_blanks(card.substr(0, 8)) == "END");
}

namespace {

/// The value of a mandatory card as text, without its comment.
std::string_view mandatory_value(const FitsPrimary& fits, std::size_t index, std::string_view keyword) {
  const std::string_view card = fits.card(index);
  if (trim_blanks(card.substr(0, 8)) != keyword || card[0] == ' ' || card.substr(8, 2) != "= ")
    throw DataError("{}: byte {}: card '{}' where {} must stand: not a standard FITS image", fits.name,
                    index * kFitsCard, trim_blanks(card), keyword);
  std::string_view value = card.substr(10);
  return trim_blanks(value.substr(0, value.find('/')));
}

long mandatory_integer(const FitsPrimary& fits, std::size_t index, const std::string& keyword) {
  const std::string_view text = mandatory_value(fits, index, keyword);
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw DataError("{}: byte {}: {} = '{}': an integer is needed", fits.name, index * kFitsCard, keyword,
                    text);
  return value;
}

/// True at the END card; checks that each card is printable ASCII.
bool scan_block(FitsPrimary& fits, std::size_t first_card) {
  for (std::size_t index = first_card; index < first_card + kFitsBlock / kFitsCard; ++index) {
    const std::string_view card = fits.card(index);
    for (std::size_t i = 0; i < kFitsCard; ++i)
      if (card[i] < 0x20 || card[i] > 0x7e)
        throw DataError("{}: byte {}: value {:#04x} in the header, which holds text only: not a FITS header",
                        fits.name, index * kFitsCard + i, static_cast<unsigned char>(card[i]));
    if (is_end_card(card)) return true;
    if (resembles_end_card(card))
      throw DataError("{}: byte {}: card '{}': END stands at a card's beginning and alone: not a FITS header",
                      fits.name, index * kFitsCard, trim_blanks(card));
  }
  return false;
}

void read_header(ByteSource& source, FitsPrimary& fits) {
  for (bool ended = false; !ended; fits.header_bytes += kFitsBlock) {
    if (fits.header_bytes >= kMaxFitsHeader)
      throw DataError("{}: no END card in the first {} bytes: not a FITS header", fits.name, kMaxFitsHeader);
    fits.bytes.resize(fits.header_bytes + kFitsBlock);
    const std::size_t n = source.read(fits.bytes.data() + fits.header_bytes, kFitsBlock);
    if (fits.header_bytes == 0 && !std::string_view(fits.bytes.data(), n).starts_with(kFitsMagic))
      throw DataError("{}: does not begin with '{}' ({} bytes read): not a plain FITS file{}", fits.name,
                      kFitsMagic, n, foreign_hint({fits.bytes.data(), n}, "fits"));
    if (n < kFitsBlock)
      throw DataError("{}: ends at byte {}, inside the header: the file is truncated", fits.name,
                      fits.header_bytes + n);
    ended = scan_block(fits, fits.header_bytes / kFitsCard);
  }
}

/// Bytes of the data unit without padding.
std::size_t check_mandatory_cards(FitsPrimary& fits, long max_axes) {
  if (mandatory_value(fits, 0, "SIMPLE") != "T")
    throw DataError("{}: SIMPLE is not T: not a standard FITS file", fits.name);
  const long bitpix = mandatory_integer(fits, 1, "BITPIX");
  if (bitpix != 8 && bitpix != 16 && bitpix != 32 && bitpix != 64 && bitpix != -32 && bitpix != -64)
    throw DataError("{}: BITPIX = {}: 8, 16, 32, 64, -32 or -64 is needed", fits.name, bitpix);
  fits.bitpix = static_cast<int>(bitpix);
  const long n_axis = mandatory_integer(fits, 2, "NAXIS");
  if (n_axis == 0)
    throw DataError("{}: NAXIS = 0: the primary HDU holds no image; copy the image's extension to a file",
                    fits.name);
  if (n_axis < 2 || n_axis > max_axes)
    throw DataError("{}: NAXIS = {}: 2 to {} axes are needed", fits.name, n_axis, max_axes);
  std::size_t n_bytes = static_cast<std::size_t>(bitpix < 0 ? -bitpix : bitpix) / 8;
  for (long i = 1; i <= n_axis; ++i) {
    const std::string keyword = fmt::format("NAXIS{}", i);
    const long length = mandatory_integer(fits, static_cast<std::size_t>(2 + i), keyword);
    if (length < 1) throw DataError("{}: {} = {}: at least 1 is needed", fits.name, keyword, length);
    if (__builtin_mul_overflow(n_bytes, static_cast<std::size_t>(length), &n_bytes) ||
        n_bytes > std::numeric_limits<std::size_t>::max() / 4)
      throw DataError("{}: {} = {}: more data than any machine holds", fits.name, keyword, length);
    fits.axes.push_back(length);
  }
  for (std::size_t index = 0; index < fits.n_cards(); ++index) {
    const std::string_view keyword = trim_blanks(fits.card(index).substr(0, 8));
    if (keyword == "END") break;
    const std::string_view value = fits.card(index).substr(10);
    const std::string_view text = trim_blanks(value.substr(0, value.find('/')));
    if ((keyword == "GROUPS" && text != "F") || (keyword == "PCOUNT" && text != "0") ||
        (keyword == "GCOUNT" && text != "1"))
      throw DataError("{}: byte {}: {} = {}: random groups (visibilities), not an image", fits.name,
                      index * kFitsCard, keyword, text);
    if (index > static_cast<std::size_t>(2 + n_axis) &&
        (keyword == "SIMPLE" || keyword == "BITPIX" || keyword.substr(0, 5) == "NAXIS"))
      throw DataError("{}: byte {}: {} a second time: not a standard FITS image", fits.name,
                      index * kFitsCard, keyword);
  }
  return n_bytes;
}

}  // namespace

FitsPrimary read_fits_header(const std::string& path, long max_axes) {
  ByteSource source(path);
  FitsPrimary fits;
  fits.name = source.name();
  read_header(source, fits);
  check_mandatory_cards(fits, max_axes);
  return fits;
}

FitsPrimary read_fits_primary(const std::string& path) {
  ByteSource source(path);
  FitsPrimary fits;
  fits.name = source.name();
  read_header(source, fits);
  const std::size_t data_bytes = check_mandatory_cards(fits, kMaxImageAxes);
  const std::size_t end = fits.header_bytes + (data_bytes + kFitsBlock - 1) / kFitsBlock * kFitsBlock;
  if (source.size() && *source.size() < end)
    throw DataError("{}: ends at byte {}, its header promises {}: the file is truncated", fits.name,
                    *source.size(), end);
  const std::size_t piece = source.size() ? end : kPiece;
  while (fits.bytes.size() < end) {
    const std::size_t at = fits.bytes.size();
    const std::size_t wanted = std::min(piece, end - at);
    fits.bytes.resize(at + wanted);
    const std::size_t n = source.read(fits.bytes.data() + at, wanted);
    if (n < wanted)
      throw DataError("{}: ends at byte {}, its header promises {}: the file is truncated", fits.name, at + n,
                      end);
  }
  // What feeds a pipe may still be writing extensions; let it end normally.
  if (!source.size())
    for (std::vector<char> rest(64u << 10); source.read(rest.data(), rest.size()) > 0;) {
    }
  return fits;
}

}  // namespace apsyn
