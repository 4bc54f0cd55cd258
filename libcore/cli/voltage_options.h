// SPDX-License-Identifier: GPL-3.0-or-later
// What every tool that reads voltages takes: --antennas, --metafits, --site, --flag-antennas, --gains,
// --samples.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/cli/tool.h"
#include "libcore/core/voltage.h"

namespace apsyn {

struct VoltageOptions {
  std::string antennas, metafits, site, flag_antennas, gains, samples;
  std::int64_t first_sample = 0;
  std::int64_t n_samples = -1;  ///< -1 = to the end
};

void add_voltage_options(Tool& tool, VoltageOptions& options);
/// Parses --samples FIRST:COUNT into the two fields; UsageError.
void parse_sample_range(VoltageOptions& options);

}  // namespace apsyn
