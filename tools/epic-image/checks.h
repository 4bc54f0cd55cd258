// SPDX-License-Identifier: GPL-3.0-or-later
// Options that contradict each other or the stream.
#pragma once

#include <string>
#include <vector>

#include "kernels/epic/epic_cuda.h"
#include "libcore/files/input.h"
#include "libcore/sky/regions.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "tools/epic-image/options.h"

namespace apsyn {

/// What a GPU makes; without a wish, what is fastest: half on a GPU. A CPU makes nothing less than single.
EpicPrecision parse_precision(const std::string& name, const Device& device);

void check_options(const EpicOptions& options, const OpenedVoltages& voltages);

std::vector<Region> read_regions(const std::string& path);

/// The field is that of one spectrum and one channel, with all antennas alike, and it has no power to leave
/// out.
void check_field(const EpicOptions& options);

}  // namespace apsyn
