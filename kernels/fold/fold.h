// SPDX-License-Identifier: GPL-3.0-or-later
// Folds powers at a pulsar's period, each channel advanced by its dispersion delay:
//
//   phi(t, nu) = x - PDOT x^2 / 2,   x = (t - kDispersion DM / nu^2) / P
//
// t counts from the start of the data to the middle of the sample, nu is the channel's centre; or phi is
// what FoldPlan::phases says. A sample goes whole into the bin that holds the fraction of phi, evaluated for
// each sample and channel in float64: no delay is rounded to samples. Channels are brought to mean 0 and
// variance 1 by their first valid samples, so that gains do not weigh and all channels of like sensitivity
// count alike.
//
// A thread owns whole bands of channels; sums are float64 in the order of time: results do not depend on the
// number of threads or on how the data arrive.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "libcore/powers/folded_pulses.h"

namespace apsyn {

struct FoldPlan {
  double sample_s = 0;
  std::vector<double> channel_hz;
  double period_s = 1, period_dot = 0, dm_pc_cm3 = 0;
  /// Where set, phi = turns - stretch (kDispersion DM / nu^2) / P instead, with P = period_s: it fills in
  /// `turns` and `stretch` for ascending times, in seconds from the start of the data. Called by one thread.
  std::function<void(std::span<const double> at_s, std::span<double> turns, std::span<double> stretch)>
      phases;
  std::size_t n_bin = 256;
  std::size_t n_subint = 64;  ///< at most; their length doubles when there are more
  double subint_s = 1;        ///< to begin with
  std::size_t n_band = 64;    ///< at most, of neighbouring channels
  unsigned n_threads = 1;
};

/// Bytes that a Folder holds besides what it is given.
std::uint64_t folder_bytes(const FoldPlan& plan);

class Folder {
 public:
  /// std::logic_error for a plan without channels, bins, bands or time.
  explicit Folder(FoldPlan plan);
  /// samples [time][channel], the next ones; what is not finite is missing.
  void add(View<const float, 2> samples);
  /// All so far, without the pulse; unused sub-integrations are cut off.
  FoldedPulses finish();

 private:
  void hold(View<const float, 2> samples);
  void learn_scales();
  void fold(View<const float, 2> samples, std::int64_t first);
  void fold_band(View<const float, 2> samples, std::size_t begin, std::size_t end, std::size_t band);
  void double_subints();
  double time_s(std::int64_t sample) const { return (static_cast<double>(sample) + 0.5) * plan_.sample_s; }
  std::size_t first_channel(std::size_t band) const { return band * plan_.channel_hz.size() / plan_.n_band; }

  FoldPlan plan_;
  std::vector<double> delay_turns_;   // [channel]
  std::vector<double> mean_, scale_;  // [channel]; scale 0: no data to tell it
  std::vector<float> stored_;         // rows until the scales are known
  std::int64_t stored_first_ = 0, n_time_ = 0;
  std::size_t stored_valid_ = 0;
  bool scaled_ = false;
  Buffer<double, 3> sum_, count_;               // [subint][band][bin]
  std::vector<double> square_;                  // [band]
  std::vector<double> at_s_, turns_, stretch_;  // of the samples that are being folded
};

}  // namespace apsyn
