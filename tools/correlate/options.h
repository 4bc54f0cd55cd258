// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "kernels/channelise/requantise.h"
#include "libcore/cli/filterbank_options.h"
#include "libcore/cli/realtime.h"
#include "libcore/cli/tool.h"
#include "libcore/cli/voltage_options.h"

namespace apsyn {

struct CorrelateOptions : FilterbankOptions {
  std::vector<std::string> inputs;
  VoltageOptions voltage;
  double integration_s = 1;
  std::string phase_centre;
  bool no_autos = false;
  bool van_vleck = false;
  bool drop_incomplete = false;
  std::string bandpass;
  std::string requantise = "none", algorithm = "auto";
  bool dither = false;
  RealtimeOptions realtime;
};

Requantisation requantisation_of(const CorrelateOptions& options);

void declare(Tool& tool, CorrelateOptions& options);

}  // namespace apsyn
