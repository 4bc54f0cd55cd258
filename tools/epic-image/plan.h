// SPDX-License-Identifier: GPL-3.0-or-later
// From options and a stream's header to what each stage does.
#pragma once

#include <numbers>

#include "kernels/epic/epic.h"
#include "libcore/cli/tool.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "tools/epic-image/options.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

EpicPlan epic_plan(const Tool& tool, const EpicOptions& options, const EpicSetup& setup,
                   const OpenedVoltages& voltages);

EpicSetup make_setup(Tool& tool, const EpicOptions& options, OpenedVoltages& voltages, const Device& device);

}  // namespace apsyn
