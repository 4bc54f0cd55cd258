// SPDX-License-Identifier: GPL-3.0-or-later
// What a transform takes: one series of samples for each input of a panel, weighted and folded by the
// filterbank when there is one.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/channelise/channelise.h"
#include "kernels/channelise/sample_store.h"

namespace apsyn {

/// Spectra that a thread makes one after the other; they share most of the samples behind their taps.
inline constexpr std::size_t kChunkSpectra = 8;

/// Floats from one input's series to the next, before and behind the transform: a whole number of cache
/// lines, not a power of two.
std::size_t series_stride(const ChannelisePlan& plan);

/// The series of one panel and spectrum, in the scratch memory of one thread.
class PanelSeries {
 public:
  explicit PanelSeries(const ChannelisePlan& plan);

  static std::uint64_t bytes(const ChannelisePlan& plan);
  /// To be called before the samples of another channel or panel.
  void restart();
  /// Takes `input` of the panel from sample `start` of input channel `chan`; all n_span samples must be held.
  /// `taps` are pfb_weights.
  struct Source {
    const SampleStore& store;
    const std::vector<float>& taps;
    std::size_t chan, panel;
  };
  void fill(const Source& source, std::size_t input, std::int64_t start);
  float* data() { return series_.data(); }  ///< [input][sample], complex or real

 private:
  void copy(const Source& source, std::size_t input, std::int64_t first, std::size_t n, float* to) const;

  std::size_t n_sample_, n_taps_, span_, values_;
  std::int64_t room_;  // samples of a run
  Buffer<float, 2> series_;
  // A run of each input's samples, kept from spectrum to spectrum because taps overlap; empty without them.
  Buffer<float, 2> run_;
  std::int64_t run_first_[kPanelInputs] = {}, run_end_[kPanelInputs] = {};
};

}  // namespace apsyn
