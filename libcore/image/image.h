// SPDX-License-Identifier: GPL-3.0-or-later
// Images of the sky with the coordinates they carry. Pixel (x, y) from 0; the reference pixel is x = nx/2, y
// = ny/2 (integer division), CRPIX = N/2 + 1 in FITS. East is towards smaller x: l = (nx/2 - x) cell, m = (y
// - ny/2) cell.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

struct RestoringBeam {
  double major_rad = 0, minor_rad = 0;  ///< FWHM
  double position_angle_rad = 0;        ///< of the major axis, north through east
};

struct ImageInfo {
  SkyDirection centre;    ///< CRVAL, RA---SIN/DEC--SIN
  double cell_rad = 0;    ///< |CDELT| of both axes (square cells)
  double cell_y_rad = 0;  ///< 0 = the same as cell_rad
  /// Where `centre` lies when not at {nx/2, ny/2}: {x, y} from 0, possibly a fraction or outside the image,
  /// as in cut-outs and in images made by others.
  std::optional<std::array<double, 2>> reference_pixel;
  /// First plane's centre, 0 = unknown; its width, also the plane step: negative when frequencies descend, 0
  /// = unknown (1 Hz in the file, because FITS coordinates must not be singular).
  double freq_hz = 0, bandwidth_hz = 0;
  std::vector<std::string> stokes{"I"};  ///< one per Stokes plane, labelled truly
  std::string unit = "JY/BEAM";
  std::string object = "unknown", telescope = "unknown";
  std::optional<UtcTime> time;    ///< DATE-OBS and DATE-BEG: when the data begin
  std::optional<UtcTime> end;     ///< DATE-END
  std::optional<UtcTime> middle;  ///< DATE-AVG; without it, half way between the two where they are known
  std::string observer{};         ///< OBSERVER; empty = unknown
  std::optional<RestoringBeam> beam;
  std::vector<std::string> history;
  /// Other keywords that tools hand on to each other, for example WSCNORMF or the sum of weights.
  std::vector<std::pair<std::string, double>> keywords;
  std::string frequency_frame = "TOPOCENT";  ///< SPECSYS
};

struct Image {
  ImageInfo info;
  Buffer<double, 4> pixels;  ///< [stokes][freq][y][x]
};

/// {x, y} from 0 of `info.centre` in an image of nx by ny pixels.
inline std::array<double, 2> reference_pixel(const ImageInfo& info, std::size_t nx, std::size_t ny) {
  if (info.reference_pixel) return *info.reference_pixel;
  return {static_cast<double>(nx / 2), static_cast<double>(ny / 2)};
}

}  // namespace apsyn
