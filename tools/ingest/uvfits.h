// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS -> Measurement Set.
#pragma once

#include "libcore/cli/tool.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "tools/ingest/options.h"

namespace apsyn {

/// What the process takes by itself.
inline constexpr double kIngestBytes = 38e6;

void print_plan(Tool& tool, const UvfitsReader& reader);

void run_uvfits(Tool& tool, const IngestOptions& o);

}  // namespace apsyn
