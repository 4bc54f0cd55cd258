// SPDX-License-Identifier: GPL-3.0-or-later
// Dirty images and point-source visibilities by the sums of their definitions, in float64.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::reference {

struct DftVisibility {
  double u, v, w;              ///< wavelengths
  std::complex<double> value;  ///< times its weight
};

struct DftPixel {
  double l, m;
};

/// Re sum value exp(-2 pi i (u l + v m + w (n - 1))) for every pixel, on all processors.
std::vector<double> dft_image(const std::vector<DftVisibility>& visibilities,
                              const std::vector<DftPixel>& pixels);

struct DftSource {
  double l, m, flux;
};

/// sum flux exp(+2 pi i (u l + v m + w (n - 1))).
std::complex<double> dft_visibility(const std::vector<DftSource>& sources, double u, double v, double w);

}  // namespace apsyn::reference
