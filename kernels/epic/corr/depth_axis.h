// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels that hold w (depth_kernels.h) are along an axis, for the device, too.
#pragma once

namespace apsyn {

/// In the order of nodes x > 0, and, where both sides differ, of [x, -x].
struct DepthAxis {
  static constexpr int kTaps = 8, kNodes = 6, kTerms = 3;
  float node[kNodes];
  /// What a tap takes of F(x) + F(-x), and of -i (F(x) - F(-x)).
  float even[kNodes][kTaps], odd[kNodes][kTaps];
  float depth[2][kNodes];  ///< f or g
  float bend[2][kNodes];   ///< its derivative by the direction cosine of the axis
  float term[kTerms - 1][2][kNodes];
};

}  // namespace apsyn
