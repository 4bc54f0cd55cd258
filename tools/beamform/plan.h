// SPDX-License-Identifier: GPL-3.0-or-later
// From options and a stream's header to what each stage does, and what it costs.
#pragma once

#include <cstdint>

#include "libcore/array/array_layout.h"
#include "libcore/cli/tool.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "libcore/voltage/voltage.h"
#include "tools/beamform/options.h"
#include "tools/beamform/setup.h"

namespace apsyn {

/// What --samples needs besides: nothing when samples are taken as they are.
std::int64_t margin_of(const BeamformOptions& options, const VoltageHeader& header,
                       const ArrayLayout& layout);

/// The gains that were last read, as beams take them.
BeamGains beam_gains(const BeamformSetup& setup, const OpenedVoltages& voltages);

BeamformSetup make_setup(Tool& tool, const BeamformOptions& options, OpenedVoltages& voltages,
                         const Device& device);

}  // namespace apsyn
