// SPDX-License-Identifier: GPL-3.0-or-later
// Geometric and cable delays of an array whose phase centre moves over the sky.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/delays.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/measures/coordinates.h"
#include "libcore/measures/direction_track.h"

namespace apsyn {

/// What the voltages are to be aligned to, and what they are aligned to already.
struct DelayTarget {
  std::optional<SkyDirection> centre;   ///< absent: the zenith of every instant, which needs no tracking
  std::optional<SkyDirection> applied;  ///< already tracked by whoever wrote the stream
};

/// tau_i(t) = r_i . (s(t) - s_applied(t)) / c - cable_i, positions relative to the antenna nearest to the
/// mean position (which changes no visibility). s(t) as in direction_track.h.
class DelayTracker final : public DelaySource {
 public:
  /// t = 0 is `start`. `layout` needs a site.
  DelayTracker(const ArrayLayout& layout, const UtcTime& start, const DelayTarget& target);
  /// Whether all delays are 0 at all times.
  bool nothing_to_do() const;
  void prepare(double begin_s, double end_s) override;
  double delay_s(std::size_t ant, double t_s) const override;
  double max_delay_s() const override { return max_delay_s_; }

 private:
  std::vector<double> make_segment(std::int64_t index) const;

  SkyFrame frame_;
  UtcTime start_;
  DelayTarget target_;
  std::vector<Vec3> offset_m_;  // [ant]
  std::vector<double> cable_s_;
  double max_delay_s_ = 0;
  TrackSegments<std::vector<double>> segments_;  // [ant][4] coefficients of x = (t - begin) / 10 s
};

}  // namespace apsyn
