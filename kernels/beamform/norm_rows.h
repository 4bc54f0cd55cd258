// SPDX-License-Identifier: GPL-3.0-or-later
// One over the sums of weights, along the spectra of tiles: constant within a run of validity.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/beamform/beam_weights.h"
#include "kernels/common/spectra/spectra.h"

namespace apsyn {

/// Spectra during which the same antennas are valid: what the sum of weights depends on.
struct ValidityRun {
  std::size_t begin = 0, end = 0;  ///< spectra of the block
};

/// Runs of one row of the block's validity, consecutive and covering the block; antennas with used[ant] = 0
/// are not looked at.
std::vector<ValidityRun> validity_runs(const SpectraBlock& block, std::size_t row,
                                       const std::vector<std::uint8_t>& used);

/// Spectra of one tile within a block.
struct Tile {
  std::size_t begin = 0, n = 0;
  std::int64_t first = 0;  ///< of all spectra
};

class NormRows {
 public:
  /// The norms of all runs of the block, for n_chan channels and a few beams. All but `weights` must outlive
  /// the calls of fill().
  void prepare(const BeamformPlan& plan, const BeamWeights& weights, const BeamRange& beams,
               std::size_t first_chan, std::size_t n_chan, const SpectraBlock& block,
               const std::vector<std::vector<ValidityRun>>& runs);
  /// norm[beam][XX, YY, XY][row] of a channel (coherent beams use X and Y, the first two); counts[beam][row]
  /// += 1 where there are valid antennas. Behind the tile's end norms are 0.
  void fill(std::size_t channel, const Tile& tile, float* norm, float* counts) const;

 private:
  std::size_t row_of(std::size_t channel) const {
    return n_valid_row_ == 1 ? 0 : channel / n_fine_ - first_input_chan_;
  }

  const std::vector<std::vector<ValidityRun>>* runs_ = nullptr;
  std::size_t n_beam_ = 0, n_row_ = 0, first_chan_ = 0, n_fine_ = 1, first_input_chan_ = 0, n_valid_row_ = 1;
  std::size_t stride_ = 0;     // from channel to channel, 0 when one serves all
  std::vector<float> values_;  // [channel or 1][run][beam][XX, YY, XY]
};

}  // namespace apsyn
