// SPDX-License-Identifier: GPL-3.0-or-later
// Pauses in a recording: short ones are filled with missing data, long ones are the user's to decide about.
#pragma once

#include <cstdint>
#include <string>

namespace apsyn {

struct Gap {
  std::string input, place;  ///< place: "frame 12 at byte 3456", where the recording goes on
  std::uint64_t byte = 0;    ///< of that place
  double seconds = 0;        ///< from where it stopped; negative: it goes on at an earlier time
  double max_s = 0;          ///< what is filled
};

/// DataError that tells both cures: to fill the pause, or to take the parts by themselves.
[[noreturn]] void throw_gap(const Gap& gap);

}  // namespace apsyn
