// SPDX-License-Identifier: GPL-3.0-or-later
// The beams that are asked for: a table, a field covered with them, one direction, or all antennas' powers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/time.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/voltage.h"
#include "tools/beamform/options.h"

namespace apsyn {

/// Antennas that a list names; all when it is empty. Flagged ones are never among them.
std::vector<std::uint8_t> antennas_of(const ArrayLayout& layout, const std::string& list);

std::vector<BeamDirection> tile(const BeamformOptions& options, const VoltageHeader& header);

std::vector<BeamDirection> beams_of(const BeamformOptions& options, const VoltageHeader& header);

/// The first instant counts; a beam's antennas may see it rise later.
void warn_of_horizon(const std::vector<BeamDirection>& beams, const SkyFrame* sky, const UtcTime& start);

/// --write-beams: a table for --beams. `member` [beam][ant].
void write_beams(Tool& tool, const BeamformOptions& options, const ArrayLayout& layout,
                 std::vector<BeamDirection> beams, const View<const std::uint8_t, 2>& member);

}  // namespace apsyn
