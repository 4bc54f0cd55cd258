// SPDX-License-Identifier: GPL-3.0-or-later
// The average beam of an image gridded with A-terms: what an unpolarised source of Stokes I 1 becomes in the
// image of Stokes I, for each of its pixels, when the image is divided by the sum of the weights.
//
//   normalised  mean over the weights of 1 / N        (Hodgson 2025, section 3.3; aterm_math.h)
//   adjoint     mean over the weights of tr(A_p^H A_p A_q^H A_q) / 2
//
// The mean is taken on the coarse pixels of a subgrid, in float64, and brought to the image as the gridder
// brings a subgrid there: times the taper, by the Fourier series of as many terms as a subgrid has uv cells,
// over the taper.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn {

/// Rows whose weights of plane 0 are summed over the channels of each slot, as a GPU that keeps visibilities
/// gives them.
struct SlotWeights {
  View<const double, 2> sum;             ///< [row][chan slot]
  View<const std::uint32_t, 2> station;  ///< [row][p, q]
  AtermBlock aterms;                     ///< chan_slot is not used
};

class AverageBeam {
 public:
  /// std::invalid_argument without A-terms.
  AverageBeam(const IdgPlan& plan, const IdgSetup& setup);
  /// Adds the weights of plane 0 of a gridded block that belongs to `input`. Results do not depend on
  /// n_threads.
  void add(const GridBlock& block, std::size_t input = 0);
  void add(const SlotWeights& rows, std::size_t input = 0);
  /// [y][x] of the image; NaN where l^2 + m^2 >= 1; 0 when nothing had weight.
  Buffer<double, 2> finish() const;
  double weight_sum() const;
  std::size_t n_inputs() const { return inputs_.size(); }  ///< up to the last one to which blocks were added
  double weight_sum(std::size_t input) const { return inputs_[input].weight; }
  /// The average beam of one input, of weight above 0, at the image's centre pixel.
  double at_centre(std::size_t input) const;

 private:
  /// Row slot, channel slot, responses of both stations, the lower first: their order makes no difference.
  using PairSlots = std::array<std::uint32_t, 4>;
  using WeightSums = std::vector<std::pair<PairSlots, double>>;
  template <class Rows>
  static WeightSums sum_weights(const Rows& rows, std::size_t n_rows, unsigned n_threads);
  void add(const WeightSums& weights, const AtermBlock& aterms, std::size_t input);

  struct Sum {
    double weight = 0;
    Buffer<double, 2> beam;  ///< [y][x] coarse pixels of AtermBlock, times weights
  };
  IdgPlan plan_;
  IdgSetup setup_;
  std::vector<Sum> inputs_;
};

}  // namespace apsyn
