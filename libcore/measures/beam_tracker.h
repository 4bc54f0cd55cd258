// SPDX-License-Identifier: GPL-3.0-or-later
// Where beams look, and the delays of an array's antennas towards them.
#pragma once

#include <optional>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/array/delays.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/measures/coordinates.h"
#include "libcore/measures/direction_track.h"

namespace apsyn {

/// tau_bi(t) = r_i . (s_b(t) - s_applied(t)) / c - cable_i, positions relative to the reference antenna
/// (reference_antenna()), which is the beam's phase and time centre.
/// With `align` on, r_i . (mean of all s_b - s_applied) / c - cable_i is left to the F stage (reference()),
/// and delays_s() is the rest. Directions as in direction_track.h.
class BeamTracker final : public BeamDelaySource {
 public:
  /// t = 0 is `start`. `layout` needs a site. `applied` is what the stream was tracked to.
  BeamTracker(const ArrayLayout& layout, const UtcTime& start, std::vector<BeamDirection> beams,
              const std::optional<SkyDirection>& applied, bool align);

  void prepare(double begin_s, double end_s) override;
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override;
  /// A bound on the change of any of these delays, s/s.
  double max_rate() const { return max_rate_; }
  /// What the F stage aligns, null without `align`.
  DelaySource* reference() { return align_ ? &reference_ : nullptr; }

 private:
  using Nodes = std::array<Vec3, 4>;                   // of a segment
  using Segments = TrackSegments<std::vector<Nodes>>;  // [beam, then mean of beams]

  class Reference final : public DelaySource {
   public:
    explicit Reference(BeamTracker& tracker) : tracker_(tracker) {}
    void prepare(double begin_s, double end_s) override;
    double delay_s(std::size_t ant, double t_s) const override;
    double max_delay_s() const override { return tracker_.max_delay_s_; }

   private:
    BeamTracker& tracker_;
    Segments segments_;
  };
  std::vector<Nodes> make_segment(std::int64_t index) const;
  static Vec3 interpolate(const Segments& segments, std::size_t which, double t_s);

  SkyFrame frame_;
  UtcTime start_;
  std::vector<BeamDirection> beams_;
  std::optional<SkyDirection> applied_;
  bool align_;
  std::vector<Vec3> offset_m_;  // [ant]
  std::vector<double> cable_s_;
  double max_delay_s_ = 0, max_rate_ = 0;
  Segments segments_;
  Reference reference_{*this};
};

}  // namespace apsyn
