// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of idg-degrid.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "tools/imaging/prediction/prediction_options.h"

namespace apsyn::idg_degrid {

using namespace imaging;

struct Options : PredictionOptions {
  std::vector<std::string> inputs, models;
  std::string sky;
  std::vector<CLI::Option*> for_images, for_combining;
  CLI::Option* column_given = nullptr;
};

void declare(Tool& tool, Options& options);

void check_options(Tool& tool, Options& options);

}  // namespace apsyn::idg_degrid
