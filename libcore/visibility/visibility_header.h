// SPDX-License-Identifier: GPL-3.0-or-later
// The header of a visibility stream, apsyn-visibility(5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libcore/visibility/visibility.h"

namespace apsyn {

/// What the header says of the stream itself.
struct VisibilityStreamKeys {
  std::optional<std::uint64_t> file_size;
  bool trailer = false, foreign = false;
};

/// DataError naming the missing or offending key.
VisibilityHeader parse_visibility_header(std::string_view bytes, const std::string& source,
                                         VisibilityStreamKeys& keys);
/// Its size does not depend on file_size. UsageError when the channels are not evenly spaced by
/// channel_width_hz or the baselines are not all_baselines() of the layout: a stream cannot describe them.
std::string format_visibility_header(const VisibilityHeader& header, const VisibilityStreamKeys& keys);

/// Bytes of one record: complex64 and float32 for each [baseline][chan][product].
std::uint64_t visibility_record_bytes(const VisibilityHeader& header);

}  // namespace apsyn
