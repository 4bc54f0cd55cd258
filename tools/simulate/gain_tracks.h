// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of drifting gains: `antenna[,pol][,time_s],gain_amplitude,phase_rad`, what antennas do to the sky's
// field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/simulate/gain_track.h"
#include "libcore/array/array_layout.h"

namespace apsyn {

/// [ant * 2 + pol]. Rows of an input are linear pieces between their times; a row without pol is for both.
/// Without rows an input has none. DataError when malformed, an amplitude is below 0, or times of an input do
/// not rise.
std::vector<simulate::GainTrack> parse_gain_tracks(std::string_view text, const std::string& source,
                                                   const ArrayLayout& layout);
std::vector<simulate::GainTrack> read_gain_tracks(const std::string& path, const ArrayLayout& layout);

}  // namespace apsyn
