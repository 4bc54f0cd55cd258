// SPDX-License-Identifier: GPL-3.0-or-later
// CLEAN as Hogbom (1974) wrote it: every iteration searches every pixel and subtracts the whole PSF.
#pragma once

#include <cstddef>
#include <vector>

namespace apsyn::reference {

struct HogbomImage {
  std::size_t nx = 0, ny = 0;
  std::vector<double> pixels;  ///< [y][x]
};

struct HogbomStep {
  std::size_t x, y;
  double flux;
};

/// image -= flux psf around (at_x, at_y).
void subtract(HogbomImage& image, const HogbomImage& psf, std::size_t at_x, std::size_t at_y, double flux);

/// Cleans `dirty` in place for at most n_steps or until |peak| <= threshold; the PSF's centre is (nx/2,
/// ny/2). Pixels that are not finite or whose `allowed` is false are not searched; with positive_only neither
/// are negative ones.
std::vector<HogbomStep> hogbom(HogbomImage& dirty, const HogbomImage& psf, const std::vector<bool>& allowed,
                               double gain, std::size_t n_steps, double threshold, bool positive_only);

}  // namespace apsyn::reference
