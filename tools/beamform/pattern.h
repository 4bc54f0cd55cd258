// SPDX-License-Identifier: GPL-3.0-or-later
// --pattern: what the beams see of the sky, as FITS images.
#pragma once

#include <functional>
#include <string>

#include "libcore/array/array_layout.h"
#include "libcore/cli/tool.h"
#include "tools/beamform/options.h"
#include "tools/beamform/setup.h"

namespace apsyn {

/// --element none, dipole:HEIGHT above a ground plane, or dish:DIAMETER that looks where the beam does.
std::function<double(const Vec3&)> parse_element(const std::string& text, const Vec3& steered,
                                                 double freq_hz);

void write_patterns(Tool& tool, const BeamformOptions& options, const BeamformSetup& setup);

}  // namespace apsyn
