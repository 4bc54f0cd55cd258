// SPDX-License-Identifier: GPL-3.0-or-later
// What chains and directions share: the reference antenna that is named, and samples that are left out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "libcore/cli/imaging_options.h"
#include "tools/calibrate/input.h"

namespace apsyn::calibrate {

/// Nothing for "auto". UsageError for an antenna that is none of the data.
std::optional<std::size_t> named_reference(const std::string& wanted, const InputInfo& info);

/// Weight 0 for samples of other uv distances than --minuv-l and --maxuv-l allow.
void drop_short_and_long(const ImagingOptions& selection, const InputInfo& info, MsRows& rows);

}  // namespace apsyn::calibrate
