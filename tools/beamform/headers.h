// SPDX-License-Identifier: GPL-3.0-or-later
// What the headers of beams say.
#pragma once

#include <cstddef>

#include "libcore/cli/tool.h"
#include "libcore/formats/filterbank/file.h"
#include "libcore/voltage/voltage.h"
#include "tools/beamform/setup.h"

namespace apsyn {

VoltageHeader dada_header(const Tool& tool, const BeamformSetup& setup, std::size_t beam);
FilterbankHeader filterbank_header(const Tool& tool, const BeamformSetup& setup, std::size_t beam);

}  // namespace apsyn
