// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"

namespace apsyn {

struct FoldOptions {
  std::vector<std::string> inputs;
  std::string period, par, site, plot, ifs, title, colour_map = "ember";
  std::optional<double> dm_pc_cm3;
  std::size_t n_bin = 256, n_subint = 64, n_band = 64, size = 1000;
  bool search = false;
};

void declare(Tool& tool, FoldOptions& options);

/// Pulsar tables give seconds, so a plain number is one too.
double parse_period(const std::string& text);

}  // namespace apsyn
