// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/lwa/lwa_frames.h"

#include "libcore/base/error.h"

namespace apsyn {

UtcTime lwa_time(std::int64_t tick) {
  constexpr std::int64_t kUnixEpochMjd = 40587;
  // 1e12 / 196e6 = 250000 / 49 picoseconds, rounded once.
  const __int128 ps = static_cast<__int128>(tick) * 250000;
  return add_picoseconds(UtcTime{kUnixEpochMjd, 0}, (ps + 24) / 49);
}

void throw_no_lwa_frames(const InputWindow& input, const char* what, std::string_view format) {
  throw DataError(
      "{}: byte {}: no {} frames up to here: each begins with 0xDEC0DE5C and the next follows it{}",
      input.source().name(), input.offset(), what, foreign_hint(input.beginning(), format));
}

}  // namespace apsyn
