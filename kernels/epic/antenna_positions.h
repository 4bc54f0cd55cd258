// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "kernels/epic/dft/cpu/tile.h"
#include "kernels/epic/epic.h"
#include "libcore/base/constants.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Positions and delays in seconds as turn_weights() reads them.
class AntennaPositions {
 public:
  AntennaPositions() = default;
  /// Padded with zeros to a multiple of `columns` antennas.
  AntennaPositions(const EpicGeometry& geometry, std::size_t columns)
      : n_ant_(geometry.enu_m.size()), seconds_({4, (n_ant_ + columns - 1) / columns * columns}) {
    for (std::size_t ant = 0; ant < n_ant_; ++ant) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        seconds_(axis, ant) = geometry.enu_m[ant][axis] / kSpeedOfLight_m_s;
      seconds_(3, ant) = geometry.delay_s[ant];
    }
  }
  std::size_t padded() const { return seconds_.extent(1); }
  /// DftWeights with the positions filled in; frequency, pixels and weights remain to be set. Weights of
  /// padding are 1.
  template <class T = float>
  DftWeights<T> weights() const {
    DftWeights<T> weights;
    weights.east_s = &seconds_(0, 0);
    weights.north_s = &seconds_(1, 0);
    weights.up_s = &seconds_(2, 0);
    weights.delay_s = &seconds_(3, 0);
    weights.n_ant = seconds_.extent(1);
    return weights;
  }

 private:
  std::size_t n_ant_ = 0;
  Buffer<double, 2> seconds_;  // [east, north, up, delay][ant, padded]
};

}  // namespace apsyn
