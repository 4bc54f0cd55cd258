// SPDX-License-Identifier: GPL-3.0-or-later
// What the X stage's benchmarks share.
#pragma once

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn::bench {

struct Case {
  std::size_t n_ant, n_chan, n_time;
  std::size_t n_input() const { return 2 * n_ant; }
  /// 8 for each complex product of the triangle with autocorrelations.
  double operations() const {
    return 8.0 * static_cast<double>(n_chan * n_time) * static_cast<double>(n_input()) *
           static_cast<double>(n_input() + 1) / 2;
  }
};

struct Times {
  double min_s, median_s, sustained_s;
};

/// `launch` queues one integration's products. Short = single launches, sustained = back to back for
/// `sustained_s`, when the power limit lowers the clock.
template <class Stage, class Launch>
Times time_launches(Stage& stage, Launch launch, int n_single, double sustained_s) {
  const auto seconds_of = [&](int launches) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < launches; ++k) launch();
    stage.synchronise();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds_of(1);
  std::vector<double> single;
  for (int k = 0; k < n_single; ++k) single.push_back(seconds_of(1));
  std::sort(single.begin(), single.end());
  const double median = single[single.size() / 2];
  const int n_launches = std::max(3, static_cast<int>(sustained_s / median));
  return {single[0], median, seconds_of(n_launches) / n_launches};
}

/// Random samples [time][chan][input][re, im]: int8, or -8..7 with 4 bits.
Buffer<std::int8_t, 4> random_samples(const Case& c, unsigned n_bit);
/// Of 2000 random pairs, how many differ from an int64 loop.
long count_wrong(const Buffer<std::int8_t, 4>& samples, const Buffer<std::int64_t, 3>& sums);

void run_integers(const std::vector<std::size_t>& antennas);
void run_float(const std::vector<std::size_t>& antennas);
void run_paper();
void run_pack();

/// Bytes read and written per second by a large copy on the device.
double device_copy_rate();

inline bool chosen(const std::vector<std::size_t>& antennas, std::size_t n_ant) {
  return antennas.empty() || std::find(antennas.begin(), antennas.end(), n_ant) != antennas.end();
}

}  // namespace apsyn::bench
