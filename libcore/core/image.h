// SPDX-License-Identifier: GPL-3.0-or-later
// Images of the sky with the coordinates they carry. Pixel (x, y) from 0; the reference pixel is x = nx/2, y
// = ny/2 (integer division), CRPIX = N/2 + 1 in FITS. East is towards smaller x: l = (nx/2 - x) cell, m = (y
// - ny/2) cell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/core/time.h"
#include "libcore/core/units.h"
#include "libcore/core/view.h"

namespace apsyn {

struct RestoringBeam {
  double major_rad = 0, minor_rad = 0;  ///< FWHM
  double position_angle_rad = 0;        ///< of the major axis, north through east
};

struct ImageInfo {
  SkyDirection centre;                   ///< CRVAL, RA---SIN/DEC--SIN
  double cell_rad = 0;                   ///< |CDELT| of both axes (square cells)
  double cell_y_rad = 0;                 ///< 0 = the same as cell_rad
  double freq_hz = 0, bandwidth_hz = 0;  ///< first plane's centre, its width (also the plane step)
  std::vector<std::string> stokes{"I"};  ///< one per Stokes plane, labelled truly
  std::string unit = "JY/BEAM";
  std::string object = "unknown", telescope = "unknown";
  std::optional<UtcTime> time;  ///< DATE-OBS
  std::optional<RestoringBeam> beam;
  std::vector<std::string> history;
  /// Other keywords that tools hand on to each other, for example WSCNORMF or the sum of weights.
  std::vector<std::pair<std::string, double>> keywords;
};

struct Image {
  ImageInfo info;
  Buffer<double, 4> pixels;  ///< [stokes][freq][y][x]
};

}  // namespace apsyn
