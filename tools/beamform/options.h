// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/beamform/beamform.h"
#include "libcore/base/constants.h"
#include "libcore/cli/filterbank_options.h"
#include "libcore/cli/tool.h"
#include "libcore/cli/voltage_options.h"

namespace apsyn {

struct BeamformOptions : FilterbankOptions {
  std::vector<std::string> inputs;
  VoltageOptions voltage;
  std::string beams, centre, weights, subarray, write_beams;
  double tile_rad = -1, overlap = 0.5;
  std::string product_name = "power", format;
  unsigned n_bit = 0;  ///< 0 = the format's own
  std::size_t n_integrate = 1;
  bool incoherent = false;
  std::string precision = "auto";
  std::string pattern, element = "none";
  double field_rad = kPi;
  std::size_t size = 512;

  BeamProduct product() const;
};

void declare(Tool& tool, BeamformOptions& options);

}  // namespace apsyn
