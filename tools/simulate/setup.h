// SPDX-License-Identifier: GPL-3.0-or-later
// What simulate asks of its kernels, and how it describes its outputs.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/simulate/random_ionosphere.h"
#include "kernels/simulate/visibilities.h"
#include "kernels/simulate/voltages.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/streams/voltage_stream.h"
#include "libcore/voltage/voltage.h"
#include "tools/simulate/options.h"

namespace apsyn {

simulate::VoltageSetup voltage_setup(const SimulateOptions& options, const Scene& scene);

VoltageHeader voltage_header(const Tool& tool, const SimulateOptions& options, const Scene& scene,
                             const simulate::VoltagePlan& plan);

/// --dry-run of voltages.
void print_plan(Tool& tool, const SimulateOptions& options, const Scene& scene,
                const simulate::VoltagePlan& plan, std::int64_t n_samples);

/// Prints with --dry-run what a run takes beside that; else refuses when it is too much.
void check_memory(Tool& tool, double bytes, const std::string& cure);

simulate::VisibilitySetup visibility_setup(const SimulateOptions& options, const Scene& scene);

MsDescription ms_description(const Tool& tool, const Scene& scene, const simulate::VisibilitySetup& setup,
                             const SkyDirection& phase_centre);

simulate::RandomIonosphere ionosphere_setup(const SimulateOptions& options);

}  // namespace apsyn
