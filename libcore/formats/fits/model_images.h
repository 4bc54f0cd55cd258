// SPDX-License-Identifier: GPL-3.0-or-later
// Models of the sky as images in JY/PIXEL or adu/pixel, several of them for parts of the band.
#pragma once

#include <string>
#include <vector>

#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

/// The planes of one part of the band. Pixel (x, y) lies at l = (n_x/2 - x) cell, m = (y - n_y/2) cell about
/// `centre` (integer division), SIN projection.
struct ModelGroup {
  struct Plane {
    std::string name;  ///< I, Q, U, V, XX, ...
    std::string path;
    std::size_t stokes = 0, freq = 0;  ///< where in the file
  };
  std::vector<Plane> planes;
  double freq_hz = 0, width_hz = 0;  ///< 0 = unknown
  SkyDirection centre;
  std::size_t n_x = 0, n_y = 0;
  double cell_rad = 0;
  FluxUnit flux_unit = FluxUnit::jansky;

  std::vector<std::string> names() const;
};

/// The groups that the files hold, by rising frequency. Stokes parameters may come in one file or in several
/// of the same geometry and frequency; every plane of a FREQ axis is a group of its own. Files whose
/// reference pixel is off the middle count as part of a larger image. DataError for images that are no
/// models: another unit, or one in Jy and one in adu, cells that are not square, a reference pixel between
/// pixels, a frequency that is needed and missing, planes that contradict each other or come twice, infinite
/// pixels.
std::vector<ModelGroup> find_models(const std::vector<std::string>& paths);

/// [plane][y][x]. DataError when a file is not what it was.
Buffer<double, 3> read_model(const ModelGroup& group);

/// The group that a channel takes: the narrowest one that holds it, or else the nearest. `inside`: the
/// channel lies in the band of that group. There is at least one group.
struct ModelChoice {
  std::size_t group = 0;
  bool inside = true;
};
ModelChoice choose_model(const std::vector<ModelGroup>& groups, double freq_hz);

}  // namespace apsyn
