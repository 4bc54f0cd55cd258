// SPDX-License-Identifier: GPL-3.0-or-later
// Multi-scale CLEAN as Offringa & Smirnov (2017, MNRAS 471, 301) describe it, by direct sums in float64:
// every stay smooths the residual by every scale anew.
#pragma once

#include <vector>

#include "tests/reference/hogbom.h"

namespace apsyn::reference {

struct ScaleStep {
  std::size_t scale, x, y;
  double flux;
};

struct MultiscaleTask {
  std::vector<double> widths;  ///< pixels; 0 = points
  double beam = 5, bias = 0.6, sub_minor_gain = 0.2, gain = 0.1;
  std::size_t n_steps = 0;
  std::vector<bool> allowed;  ///< [y][x]
  /// Pixels beyond which the PSF that was smoothed twice is taken as zero while components are searched.
  std::size_t search_reach = 0;
};

/// Cleans `dirty` in place.
std::vector<ScaleStep> multiscale(HogbomImage& dirty, const HogbomImage& psf, const MultiscaleTask& task);

}  // namespace apsyn::reference
