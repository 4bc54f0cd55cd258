// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging weights of pairs, for `corr` (EpicPlan::weighting): with N_ab the spectra in which antennas a and b
// are both valid and f_ab the factor of the pair,
//   I_pq(s) = sum_(a != b) f_ab sum_t E_a(s) conj(E_b(s)) / W,   W = sum_(a != b) f_ab N_ab,
// so that a source of flux 1 still appears as 1. Factors are scaled to 1 for the pair that weighs most in an
// image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/epic/epic.h"
#include "kernels/epic/weights.h"

namespace apsyn {

class PairWeights {
 public:
  /// `plan` must outlive it. Without a weighting all calls do nothing.
  explicit PairWeights(const EpicPlan& plan);
  bool any() const { return plan_.weighting.has_value(); }
  void start();
  void add(const SpectraBlock& block);
  /// Weighs the pairs for what has been added in this geometry, if they have moved by more than a step since
  /// they were weighed, or if a hundredth of the spectra of pairs is another, and hands W of each image
  /// channel to `weights`. Returns whether factors have changed.
  bool finish(const EpicGeometry& geometry, EpicWeights& weights);
  /// [pair a < b, row-major] f of a channel; null without a weighting.
  const float* of(std::size_t channel) const { return any() ? &factors_(channel, 0) : nullptr; }
  /// [channel][pair]
  const Buffer<float, 2>& factors() const { return factors_; }
  static std::uint64_t bytes(const EpicPlan& plan);

 private:
  std::size_t n_pair() const { return plan_.n_ant * (plan_.n_ant - 1) / 2; }
  /// N of a pair in an input channel.
  double count(std::size_t chan, std::size_t pair) const {
    return static_cast<double>(whole_[chan] + counts_(chan, pair));
  }
  /// Whether a pair is part of the image of a channel.
  bool counts(std::size_t channel, std::size_t pair) const {
    return used_[pair] != 0 && (plan_.left_out.empty() || plan_.left_out[channel] == 0);
  }
  bool keeps(const std::vector<std::array<double, 3>>& uvw_s) const;
  void weigh(const std::vector<std::array<double, 3>>& uvw_s);

  const EpicPlan& plan_;
  std::vector<std::int64_t> whole_;                   // [chan] spectra in which all antennas in use are valid
  Buffer<std::int64_t, 2> counts_;                    // [chan][pair] other spectra
  std::vector<std::uint8_t> used_;                    // [pair] both antennas are part of the array
  Buffer<float, 2> factors_;                          // [channel][pair]
  Buffer<double, 2> weighed_counts_;                  // [chan][pair] that the factors are for
  std::vector<std::array<double, 3>> weighed_uvw_s_;  // of antennas
};

}  // namespace apsyn
