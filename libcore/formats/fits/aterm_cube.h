// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms as FITS cubes in WSClean's layouts, apsyn-aterms(5): RA---SIN, DEC--SIN, [MATRIX,] ANTENNA, FREQ,
// TIME.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/units.h"

namespace apsyn {

struct AtermCubeAxes {
  bool tec = false;  ///< TEC in TECU; otherwise a MATRIX of Re XX, Im XX, Re YY, Im YY
  SkyDirection centre;
  std::size_t side = 0;  ///< pixels; the centre is at side / 2 from 0
  double cell_rad = 0;
  std::size_t n_antenna = 0, n_freq = 1, n_time = 1;
  double freq_hz = 0, freq_step_hz = 0;    ///< of the first
  double time_mjd_s = 0, time_step_s = 0;  ///< middle of the first step

  std::size_t n_matrix() const { return tec ? 1 : 4; }
  /// Pixels of one time.
  std::size_t step_size() const { return n_freq * n_antenna * n_matrix() * side * side; }
};

/// `step` fills the pixels [freq][antenna][matrix][y][x] of one time after the other. float32. FailureError.
void write_aterm_cube(const std::string& path, const AtermCubeAxes& axes,
                      const std::vector<std::string>& history, bool overwrite,
                      const std::function<void(std::size_t time, std::span<double> pixels)>& step);

}  // namespace apsyn
