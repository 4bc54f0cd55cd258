// SPDX-License-Identifier: GPL-3.0-or-later
// The outer loops of Clark's and of multi-scale CLEAN, whatever processor the inner ones run on.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/clean/cpu/active_pixels.h"

namespace apsyn {

/// Number of levels between zero and the highest pixel among which Clark's cutoff is chosen.
inline constexpr std::size_t kHeightLevels = 256;
/// The lowest level that selects few enough pixels to clean among, at least `level_jy`.
float choose_cutoff(const Heights& heights, double level_jy);

/// `measure()`: Heights in kHeightLevels levels. `clean(cutoff, limits, n_found)`: runs the loop among the
/// pixels above the cutoff and subtracts what it found from the whole image.
template <class Measure, class Clean>
LoopStop run_clark_loop(LoopLimits limits, Measure&& measure, Clean&& clean) {
  const double level_jy = limits.level_jy;
  while (true) {
    const Heights heights = measure();
    const auto highest = static_cast<double>(heights.highest);
    if (highest == 0) return LoopStop::nothing_left;
    if (highest <= level_jy) return LoopStop::level;
    if (!(highest <= limits.divergence_jy)) return LoopStop::divergence;
    const float cutoff = choose_cutoff(heights, level_jy);
    // The level can lie above the peak when it is rounded to a float.
    if (!(cutoff < heights.highest)) return LoopStop::level;
    limits.level_jy = static_cast<double>(cutoff);
    std::size_t n_found = 0;
    const LoopStop stop = clean(cutoff, limits, n_found);
    limits.max_components -= n_found;
    if (stop != LoopStop::level && stop != LoopStop::nothing_left) return stop;
  }
}

/// A scale of multi-scale CLEAN, by index, and the height of its smoothed residual's peak, not biased.
struct ScaleChoice {
  std::size_t scale = 0;
  float height = 0;
};

/// The scale with the highest biased peak. `bounds`: for each scale a height that its peak does not exceed;
/// `biased( choice)`: its height in the units that scales are compared in; `measure(scale)`: the true height
/// of that scale's peak, called in falling order of the bounds until no other scale can be higher.
///
/// Joined polarisations are searched by the norm of their smoothed planes. Smoothing the norm itself takes
/// one convolution instead of one for each plane, but gives only an upper bound: the norm of noise is
/// positive everywhere and does not average out, so that wide scales would always seem to have a peak that no
/// component of theirs can remove.
template <class Biased, class Measure>
ScaleChoice highest_scale(std::vector<ScaleChoice> bounds, Biased&& biased, Measure&& measure) {
  std::stable_sort(bounds.begin(), bounds.end(),
                   [&](const ScaleChoice& a, const ScaleChoice& b) { return biased(a) > biased(b); });
  ScaleChoice best;
  for (ScaleChoice choice : bounds) {
    if (!(biased(choice) > biased(best))) break;
    choice.height = std::min(choice.height, measure(choice.scale));
    if (biased(choice) > biased(best)) best = choice;
  }
  return best;
}

/// `choose()`: the scale with the highest biased peak; `height_of(choice)`: that peak. `clean(choice, limits,
/// n_found)`: a round at that scale.
template <class Choose, class HeightOf, class Clean>
LoopStop run_scale_loop(LoopLimits limits, Choose&& choose, HeightOf&& height_of, Clean&& clean) {
  while (true) {
    const auto choice = choose();
    const double height = height_of(choice);
    if (height == 0) return LoopStop::nothing_left;
    if (height <= limits.level_jy) return LoopStop::level;
    if (!(height <= limits.divergence_jy)) return LoopStop::divergence;
    std::size_t n_found = 0;
    const LoopStop stop = clean(choice, limits, n_found);
    limits.max_components -= n_found;
    if (stop != LoopStop::level && stop != LoopStop::nothing_left) return stop;
    if (n_found == 0) return LoopStop::level;
  }
}

}  // namespace apsyn
