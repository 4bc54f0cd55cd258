// SPDX-License-Identifier: GPL-3.0-or-later
// Dirty images and PSFs of a made-up uv coverage by direct sums of cosines, for tests of deconvolution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apsyn::reference {

struct UvSample {
  double u, v;  ///< cycles per pixel
};

/// Samples around ellipses (Earth rotation of random baselines), denser inwards; the longest are 0.3 cycles
/// per pixel, so that the PSF's main lobe is about 5 pixels wide.
std::vector<UvSample> make_coverage(std::size_t n_baselines, std::uint64_t seed);

struct PointSource {
  double x, y;  ///< pixels, fractions allowed
  double flux;
};

/// [y][x]: mean over the samples of sum of flux cos(2 pi (u (x - x_s) + v (y - y_s))).
std::vector<double> dirty_image(const std::vector<UvSample>& coverage,
                                const std::vector<PointSource>& sources, std::size_t nx, std::size_t ny);

}  // namespace apsyn::reference
