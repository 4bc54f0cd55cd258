// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of products over tiles -> means over n_integrate spectra, which may begin in one block of spectra and
// end in another.
#pragma once

#include "kernels/beamform/norm_rows.h"
#include "libcore/base/view.h"

namespace apsyn {

/// A few beams of one output channel over one tile; rows are kTileSpectra floats.
struct BeamRows {
  BeamRange beams;
  std::size_t chan = 0;           ///< output channel
  const float* sums = nullptr;    ///< [beam][value][row]
  const float* counts = nullptr;  ///< [beam][row] channels that are valid
  float* segment = nullptr;       ///< room for [beam][value], then [beam]
  float* out = nullptr;  ///< [beam][kTileSpectra times][value], every step-th: means that are complete
  std::size_t step = 1;
};

class BeamIntegration {
 public:
  explicit BeamIntegration(const BeamformPlan& plan);
  /// The output time of a spectrum.
  std::int64_t time_of(std::int64_t spectrum) const { return spectrum / n_integrate_; }
  /// Times count from that of the tile's first spectrum. Different rows may be added at once.
  void add(const BeamRows& rows, const Tile& tile);

 private:
  std::size_t n_value_;
  std::int64_t n_integrate_;
  Buffer<double, 3> sums_;    // [beam][out channel][value], of the open integration
  Buffer<double, 2> counts_;  // [beam][out channel]
};

}  // namespace apsyn
