// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of flag.
#pragma once

#include <string>
#include <vector>

#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"

namespace apsyn::flag {

struct Options {
  std::vector<std::string> inputs;
  ImagingOptions selection;
  std::string strategy;  ///< empty: none
  std::string antennas;  ///< list, as given
  bool autos = false, shadow = false, non_finite = false;
  double quack_s = 0;
  std::size_t edges = 0;  ///< channels at each end of every window
  double elevation_rad = -10;
  std::size_t chunk = 0;  ///< integrations that a strategy sees at once; 0: all of a set
  bool no_write = false;
  std::string report, save, undo;

  bool has_rules() const {
    return !antennas.empty() || autos || shadow || non_finite || quack_s > 0 || edges > 0 ||
           elevation_rad > -10;
  }
};

/// Integrations of a stream that a strategy sees at once where --chunk-size does not say.
inline constexpr std::size_t kStreamChunk = 256;

void declare(Tool& tool, Options& options);
/// What the parser of the command line leaves to do.
void check_options(const Tool& tool, Options& options);

}  // namespace apsyn::flag
