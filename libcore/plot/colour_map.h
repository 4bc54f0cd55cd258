// SPDX-License-Identifier: GPL-3.0-or-later
// Colour maps computed from equations. "ember" and "phase" are laid out in the OKLab space (Ottosson 2020,
// bottosson.github.io/posts/oklab), where equal steps look equally large: ember's lightness is linear in the
// value, phase goes round the hues at one lightness. "helix" is Green's cubehelix (2011, Bull. Astr. Soc.
// India 39, 289, equations 1-2: start 0.5, rotations -1.5, hue 1.2, gamma 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/plot/canvas.h"

namespace apsyn {

class ColourMap {
 public:
  /// "ember", "ink" (white to dark, for counts), "helix", "grey", "phase" (cyclic); UsageError otherwise.
  explicit ColourMap(std::string_view name);
  /// `value` in 0..1, clamped; NaN gives the map's `missing` colour.
  Colour operator()(double value) const;
  Colour missing() const { return missing_; }
  void set_missing(Colour colour) { missing_ = colour; }
  static std::vector<std::string> names();

 private:
  std::vector<Colour> table_;  ///< 1024 colours
  Colour missing_{0.80f, 0.80f, 0.82f};
};

/// sRGB of an OKLab colour given as lightness, chroma and hue; components outside sRGB are cut by lowering
/// the chroma, so lightness and hue stay.
Colour from_oklch(double lightness, double chroma, double hue_rad);

}  // namespace apsyn
