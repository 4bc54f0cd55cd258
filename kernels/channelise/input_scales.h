// SPDX-License-Identifier: GPL-3.0-or-later
// The scales by which spectra become integers (kernels/channelise/requantise.h), from a stream's samples.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "kernels/channelise/channelise.h"

namespace apsyn {

class InputScales {
 public:
  /// Integrations of n_spectra spectra, requantised to n_bit bits. `plan` must outlive the object.
  InputScales(const ChannelisePlan& plan, std::int64_t n_spectra, unsigned n_bit);

  static std::uint64_t bytes(const ChannelisePlan& plan);
  /// Takes the samples that follow those taken already.
  void append(const VoltageBlock& block);
  void end_of_stream();
  /// Spectra from the first on whose scales are settled.
  std::int64_t available() const { return settled_; }
  /// [chan][input] s of an integration of which a spectrum is available; 1 where there is none yet.
  View<const float, 2> scales(std::int64_t integration) const;
  /// First spectrum of the integration from which the antenna has a scale.
  std::int64_t first_usable(std::int64_t integration, std::size_t ant) const;
  /// Integrations before `integration` may be forgotten.
  void release(std::int64_t integration);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  struct Integration {
    std::int64_t index = 0;
    std::size_t n_pending = 0;               // antennas without a scale
    std::vector<std::int64_t> first_usable;  // [ant]
    Buffer<float, 2> scale;                  // [chan][input]
  };
  const Integration& find(std::int64_t integration) const;
  void open_window(std::int64_t sample);
  void close_window();
  void add(const VoltageBlock& block, std::size_t first, std::size_t n);
  template <class T>
  void add_integers(const VoltageBlock& block, std::size_t first, std::size_t n, const T* samples,
                    std::size_t n_value);
  void add_floats(const VoltageBlock& block, std::size_t first, std::size_t n);

  const ChannelisePlan& plan_;
  std::int64_t n_spectra_;
  unsigned n_bit_;
  std::int64_t window_spectra_;
  std::int64_t taken_ = 0;                          // samples since plan_.first_sample
  std::int64_t window_begin_ = 0, window_end_ = 0;  // likewise
  std::int64_t settled_ = 0;
  std::deque<Integration> integrations_;  // the last one is that of the window
  Buffer<std::int64_t, 2> sum_i64_;       // [chan][input] of the window
  Buffer<double, 2> sum_f64_;
  Buffer<std::int64_t, 2> count_;  // [chan][ant]
};

}  // namespace apsyn
