// SPDX-License-Identifier: GPL-3.0-or-later
// PSRDADA headers: lines of "KEY value # comment", padded with NUL to HDR_SIZE bytes, a multiple of 4096.
// Shared by voltage and visibility streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"

namespace apsyn {

inline constexpr std::size_t kHeaderUnit = 4096;  ///< HDR_SIZE is a multiple; the first unit names HDR_SIZE
inline constexpr std::size_t kMaxHeaderBytes = 64u << 20;

/// HDR_SIZE from the first 4096 bytes; DataError when it is missing, no multiple of 4096 or beyond
/// kMaxHeaderBytes.
std::size_t header_size(std::string_view first_unit, const std::string& source);

/// Reads the keys of one header. A key that was asked for counts as known; rest() gives the others. All
/// getters throw DataError "source: KEY value: cure" for values out of range, require_* also for missing
/// keys. A value is the line's first word; an empty value counts as missing; of a key given twice the first
/// holds.
class HeaderReader {
 public:
  /// DataError when the bytes are no text.
  HeaderReader(std::string_view bytes, std::string source);

  std::optional<std::string> text(std::string_view key);
  std::string text_or(std::string_view key, std::string_view otherwise);
  std::string require_text(std::string_view key);
  /// The double nearest to value * 10^exponent10: MHz and us become Hz and s without a second rounding.
  std::optional<double> number(std::string_view key, int exponent10 = 0);
  double require_number(std::string_view key, int exponent10 = 0);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::int64_t require_integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::int64_t integer_or(std::string_view key, std::int64_t least, std::int64_t most,
                          std::int64_t otherwise);
  /// Degrees -> radians.
  std::optional<double> angle(std::string_view key);
  void ignore(std::string_view key);

  /// UTC_START and PICOSECONDS, which wins over the fraction.
  UtcTime start_time();
  /// SITE_XYZ or SITE_LAT SITE_LON SITE_ALT, and ANT_nnn with ANT_FRAME: all of 0 .. n_ant-1 or none.
  ArrayLayout layout(std::size_t n_ant);
  /// PHASE_RA, PHASE_DEC.
  std::optional<SkyDirection> phase_centre();
  /// FLUX_UNIT; adu without it.
  FluxUnit flux_unit();
  /// HISTORY_n by rising n, percent-coding undone.
  std::vector<std::string> history();

  const std::string& source() const { return source_; }
  /// Keys nobody asked for, with the whole of their lines' values, in order.
  std::vector<std::pair<std::string, std::string>> rest() const;

 private:
  struct Entry {
    std::string key, value;  ///< the value without its comment
    bool known = false;
  };
  Entry* find(std::string_view key);

  std::string source_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::size_t>> index_;  ///< sorted by key, then by place
};

/// Builds a header text.
class HeaderWriter {
 public:
  /// A token: blanks inside become '_', an empty one "unknown".
  void token(std::string_view key, std::string_view value);
  /// The shortest decimal that reads back as value when it is scaled by 10^-exponent10 again.
  void number(std::string_view key, double value, int exponent10 = 0);
  void integer(std::string_view key, std::int64_t value);
  /// An unsigned integer in a field of 20 characters, so that it can be rewritten in place.
  void size(std::string_view key, std::uint64_t value);
  void angle(std::string_view key, double rad);  ///< in degrees, reading back as the same radians
  void verbatim(std::string_view key, std::string_view value);

  void start_time(const UtcTime& time);
  void layout(const ArrayLayout& layout);
  void phase_centre(const std::optional<SkyDirection>& direction);
  void flux_unit(FluxUnit unit);
  void history(const std::vector<std::string>& lines);

  /// With HDR_VERSION and HDR_SIZE in front, padded.
  std::string finish() const;

 private:
  std::string lines_;
};

/// The double nearest to the decimal text times 10^exponent10; absent when it is no finite number.
std::optional<double> scaled_number(std::string_view text, int exponent10);
/// The shortest decimal text of value * 10^exponent10 (exact shift of the shortest decimal of value).
std::string format_scaled(double value, int exponent10);

}  // namespace apsyn
