// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/capture/gap.h"

#include "libcore/base/error.h"

namespace apsyn {

void throw_gap(const Gap& gap) {
  const std::string parts =
      fmt::format("take the parts by themselves (head -c {}, tail -c +{})", gap.byte, gap.byte + 1);
  if (gap.seconds < 0)
    throw DataError("{}: {}: the recording goes on {:.6g} s earlier than it stopped: {}", gap.input,
                    gap.place, -gap.seconds, parts);
  throw DataError(
      "{}: {}: the recording goes on {:.6g} s after it stopped: more than --max-gap {:.6g}s: raise it to "
      "fill "
      "the pause with missing data, or {}",
      gap.input, gap.place, gap.seconds, gap.max_s, parts);
}

}  // namespace apsyn
