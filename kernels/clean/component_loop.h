// SPDX-License-Identifier: GPL-3.0-or-later
// The loop that all algorithms share: find the highest pixel, make a component, subtract it, until a limit is
// reached.
#pragma once

#include <cmath>
#include <functional>
#include <optional>

#include "kernels/clean/plane_set.h"

namespace apsyn {

/// Something that knows its highest pixel and can subtract components.
class PeakSource {
 public:
  virtual ~PeakSource() = default;
  /// The first (row-major) of the highest searched pixels; empty when all are zero or none is searched.
  virtual std::optional<SetPeak> find_peak() = 0;
  virtual void subtract(const SetComponent& component) = 0;
};

struct LoopLimits {
  double level_jy = 0;       ///< ends when the peak is not above it
  double divergence_jy = 0;  ///< ends when the peak is above it
  std::size_t max_components = 0;
  bool stop_at_negative = false;
  /// Ends when subtracting a component has changed the height of its own peak by less than this share. GPU
  /// loops do not check this.
  double min_fall = 0;
};

enum class LoopStop { level, iterations, negative, divergence, nothing_left, unexplained };

struct LoopEnd {
  LoopStop stop = LoopStop::level;
  SetPeak peak;  ///< the highest pixel when it ended; height 0 when there is none
};

/// `component_of(peak)` makes the component that is then subtracted and handed to `found`.
inline LoopEnd run_component_loop(PeakSource& source, const LoopLimits& limits,
                                  const std::function<SetComponent(const SetPeak&)>& component_of,
                                  const std::function<void(const SetComponent&, const SetPeak&)>& found) {
  SetPeak last;
  for (std::size_t n = 0;; ++n) {
    std::optional<SetPeak> peak = source.find_peak();
    if (!peak) return {LoopStop::nothing_left, {}};
    const auto height = static_cast<double>(peak->height);
    if (height <= limits.level_jy) return {LoopStop::level, *peak};
    if (n == limits.max_components) return {LoopStop::iterations, *peak};
    if (limits.stop_at_negative && peak->value < 0) return {LoopStop::negative, *peak};
    if (!(height <= limits.divergence_jy)) return {LoopStop::divergence, *peak};
    const bool again = n > 0 && peak->x == last.x && peak->y == last.y;
    if (again && std::abs(height - static_cast<double>(last.height)) < limits.min_fall * height)
      return {LoopStop::unexplained, *peak};
    const SetComponent component = component_of(*peak);
    source.subtract(component);
    found(component, *peak);
    last = *std::move(peak);
  }
}

}  // namespace apsyn
