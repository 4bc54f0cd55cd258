// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/hogbom.h"

#include <cmath>

namespace apsyn::reference {

void subtract(HogbomImage& image, const HogbomImage& psf, std::size_t at_x, std::size_t at_y, double flux) {
  const long nx = static_cast<long>(image.nx), ny = static_cast<long>(image.ny);
  const long px = static_cast<long>(psf.nx), py = static_cast<long>(psf.ny);
  for (long y = 0; y < ny; ++y)
    for (long x = 0; x < nx; ++x) {
      const long j = y - static_cast<long>(at_y) + py / 2, i = x - static_cast<long>(at_x) + px / 2;
      if (i < 0 || j < 0 || i >= px || j >= py) continue;
      image.pixels[static_cast<std::size_t>(y * nx + x)] -=
          flux * psf.pixels[static_cast<std::size_t>(j * px + i)];
    }
}

std::vector<HogbomStep> hogbom(HogbomImage& dirty, const HogbomImage& psf, const std::vector<bool>& allowed,
                               double gain, std::size_t n_steps, double threshold, bool positive_only) {
  std::vector<HogbomStep> steps;
  const long nx = static_cast<long>(dirty.nx), ny = static_cast<long>(dirty.ny);
  while (steps.size() < n_steps) {
    long best_x = -1, best_y = -1;
    double best = 0;
    for (long y = 0; y < ny; ++y)
      for (long x = 0; x < nx; ++x) {
        const double value = dirty.pixels[static_cast<std::size_t>(y * nx + x)];
        if (!allowed[static_cast<std::size_t>(y * nx + x)] || !std::isfinite(value)) continue;
        const double height = positive_only ? value : std::fabs(value);
        if (height > best) {
          best = height;
          best_x = x;
          best_y = y;
        }
      }
    if (best_x < 0 || best <= threshold) break;
    const double flux = gain * dirty.pixels[static_cast<std::size_t>(best_y * nx + best_x)];
    subtract(dirty, psf, static_cast<std::size_t>(best_x), static_cast<std::size_t>(best_y), flux);
    steps.push_back({static_cast<std::size_t>(best_x), static_cast<std::size_t>(best_y), flux});
  }
  return steps;
}

}  // namespace apsyn::reference
