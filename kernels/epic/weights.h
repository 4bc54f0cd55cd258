// SPDX-License-Identifier: GPL-3.0-or-later
// W of epic.h: pairs of antennas that are valid, over the spectra and channels of an accumulation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

class EpicWeights {
 public:
  explicit EpicWeights(const EpicPlan& plan);
  void start();
  void add(const SpectraBlock& block);
  /// W of an image channel.
  std::int64_t pairs(std::size_t image_channel) const { return pairs_[image_channel]; }
  /// Replaces W of an image channel until the next start().
  void weigh(std::size_t image_channel, double sum) { sums_[image_channel] = sum; }
  /// W, or what replaces it.
  double sum(std::size_t image_channel) const {
    return sums_[image_channel].value_or(static_cast<double>(pairs_[image_channel]));
  }
  /// Of pairs: W divided by its value if all unflagged antennas were valid in all spectra; 0 if nothing has
  /// been added.
  double share(std::size_t image_channel) const;
  /// Spectra of one channel so far.
  std::int64_t n_spectra() const { return n_channel_spectra_ / n_channel_; }

 private:
  std::size_t n_fine_, n_average_;
  bool autos_;
  std::vector<std::uint8_t> flagged_, left_out_;
  std::int64_t n_used_ = 0, n_channel_, n_channel_spectra_ = 0;
  std::vector<std::int64_t> pairs_, full_;   // [image channel]
  std::vector<std::optional<double>> sums_;  // [image channel]
};

}  // namespace apsyn
