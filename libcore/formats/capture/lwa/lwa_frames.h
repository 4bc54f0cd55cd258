// SPDX-License-Identifier: GPL-3.0-or-later
// What the frames of the LWA's recorders have in common: big-endian, a sync word 0xDEC0DE5C, times in units
// of 1/196e6 s since 1970 (as frames of LWA-1, LWA-SV and LWA-NA have them).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "libcore/formats/capture/frames/packets.h"

namespace apsyn {

constexpr double kLwaClock_hz = 196e6;
constexpr std::uint32_t kLwaSync = 0xDEC0DE5C;

/// The big-endian integer of `n_bytes` at `bytes`.
constexpr std::uint64_t big_endian(const std::uint8_t* bytes, std::size_t n_bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < n_bytes; ++i) value = value << 8 | bytes[i];
  return value;
}

inline bool is_lwa_frame(const std::uint8_t* header) {
  return big_endian(header, 4) == kLwaSync;
}

/// UTC of a time tag. The clock counts as Unix does, without leap seconds.
UtcTime lwa_time(std::int64_t tick);

/// Throws what find_lwa_frames does.
[[noreturn]] void throw_no_lwa_frames(const InputWindow& input, const char* what, std::string_view format);

/// Drops what lies before the first sync word that another follows after `frame_bytes(header)`, of at most
/// 1 MiB; a header has at least 32 bytes. `frame_bytes` gives 0 for what is no frame. DataError, which says
/// that `what` of --from `format` were expected, when there is none.
template <class FrameBytes>
void find_lwa_frames(InputWindow& input, const char* what, std::string_view format, FrameBytes frame_bytes) {
  constexpr std::size_t kMax = 1u << 20, kHeader = 32;
  for (std::size_t dropped = 0; dropped < kMax && input.hold(kHeader) == kHeader; ++dropped, input.drop(1)) {
    if (!is_lwa_frame(input.data())) continue;
    const std::size_t n = frame_bytes(input.data());
    if (n == 0) continue;
    const std::size_t held = input.hold(n + 4);
    if (held == n || (held == n + 4 && is_lwa_frame(input.data() + n))) return;
  }
  throw_no_lwa_frames(input, what, format);
}

}  // namespace apsyn
