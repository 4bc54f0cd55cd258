// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"

namespace apsyn {

struct SearchOptions {
  std::vector<std::string> inputs;
  std::string dm_range = "0:1000", dm_step = "auto", intensity = "auto", baseline = "auto", plot, cutouts,
              format = "csv";
  std::string widths;  ///< empty: 1:256, of images 1:8
  double threshold = 8, rfi_sigma = 5;
  bool zero_dm = false;
};

void declare(Tool& tool, SearchOptions& o);

}  // namespace apsyn
