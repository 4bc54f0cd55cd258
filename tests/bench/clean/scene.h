// SPDX-License-Identifier: GPL-3.0-or-later
// Dirty images and PSFs as an array with Earth rotation makes them, by FFT, for benchmarks of deconvolution.
#pragma once

#include <cstddef>

#include "libcore/base/view.h"

namespace apsyn::bench {

struct CleanScene {
  Buffer<float, 4> dirty;  ///< [group][1][y][x]
  Buffer<float, 4> psf;    ///< [group][1][y][x], psf_size pixels square
  double flux_jy = 0;      ///< of all sources
};

struct SceneSize {
  std::size_t n = 2048, psf_n = 4096, n_group = 1, n_source = 2000;
  double noise_jy = 1e-4;
  bool wide = false;  ///< every other source is a Gaussian, of 9 to 38 pixels FWHM and the points' brightness
};

/// Sources on pixels, their fluxes from 1 Jy down as a power law, a tenth of them Gaussians of up to 40
/// pixels; main lobe of about 4 pixels; the PSF scales with the group, 10 % over the band.
CleanScene make_clean_scene(const SceneSize& size);

}  // namespace apsyn::bench
