// SPDX-License-Identifier: GPL-3.0-or-later
// How many samples went into each dedispersed one: w_d[t] = sum_c m[c][t + delay of c], m = 0 where a channel
// or a time was taken out or is beyond the end, so that missing data has weight 0. Evaluated from the few
// places where the weight of a sub-band changes, the delays within a sub-band left out.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/dedisperse/dedisperse.h"

namespace apsyn {

class DedispersedWeights {
 public:
  explicit DedispersedWeights(const DedispersionPlan& plan);
  /// The next samples of the input: which channels are good in all of them, and which times in all good
  /// channels. A multiple of the largest level's factor, but for the last ones.
  void append(std::span<const std::uint8_t> good_channel, std::span<const std::uint8_t> good_time);
  /// Forgets what lies before an input sample.
  void release(std::int64_t sample);
  /// w of n samples of one trial of a batch from sample `first` of its level on; in units of channels.
  /// Returns whether all are the same.
  bool weights(const DedispersionBatch& batch, std::size_t trial, std::int64_t first,
               std::span<float> out) const;
  /// The same n weights as the first, and what is added at later samples. Several may be at one sample.
  struct Changes {
    float first = 0;
    std::vector<std::pair<std::int64_t, float>> later;  ///< sample after `first`, above 0 and below n
  };
  Changes changes(const DedispersionBatch& batch, std::size_t trial, std::int64_t first,
                  std::int64_t n) const;

 private:
  struct Step {
    std::int64_t time = 0;
    float weight = 0;  ///< from here on
  };
  const DedispersionPlan& plan_;
  std::int64_t end_ = 0;                               ///< samples appended
  std::vector<std::vector<std::vector<Step>>> steps_;  ///< [level][sub-band]
};

}  // namespace apsyn
