// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"

namespace apsyn {

struct SearchOptions {
  std::vector<std::string> inputs;
  std::string dm_range = "0:1000", dm_step = "auto", widths = "1:256", intensity = "auto", baseline = "auto",
              plot, format = "csv";
  double threshold = 8, rfi_sigma = 5;
  bool zero_dm = false;
};

void declare(Tool& tool, SearchOptions& o);

}  // namespace apsyn
