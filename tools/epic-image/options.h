// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/base/constants.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/cli/realtime.h"
#include "libcore/cli/tool.h"
#include "libcore/cli/voltage_options.h"

namespace apsyn {

inline constexpr double kAccumulate_s = 0.04;  ///< that images add up without a wish

struct EpicOptions {
  std::vector<std::string> inputs;
  VoltageOptions voltage;
  std::string method = "auto", products, pixels, regions, apertures, w = "kernel", shape = "kb", precision;
  std::string centre = "zenith";
  WeightName weight{"natural"};
  double rank_filter = 3;
  std::size_t size = 128, kernel_cells = 7;
  double scale_rad = std::numeric_limits<double>::quiet_NaN();  ///< NaN: of the field
  double field_rad = kPi;
  double accumulate_s = std::numeric_limits<double>::quiet_NaN();  ///< NaN: kAccumulate_s
  double padding = 0;                                              ///< 0 = as much as the kernel needs
  std::size_t n_fine = 1, n_taps = 0, n_average = 1;
  bool no_autos = false, electric_field = false, drop_incomplete = false;
  RealtimeOptions realtime;
};

/// The option that a CPU alone can do, or null.
const char* only_on_cpu(const EpicOptions& options);

EpicW parse_w(const std::string& name);

void declare(Tool& tool, EpicOptions& options);

}  // namespace apsyn
