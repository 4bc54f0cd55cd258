// SPDX-License-Identifier: GPL-3.0-or-later
// Samples to correlate, and all their products by an int64 loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn::reference {

enum class Values { full_range, four_bit, all_lowest, all_lowest_four_bit };

/// [time][chan][input][re, im].
inline Buffer<std::int8_t, 4> random_samples(std::size_t n_time, std::size_t n_chan, std::size_t n_input,
                                             Values values, unsigned seed) {
  Buffer<std::int8_t, 4> samples({n_time, n_chan, n_input, 2});
  std::mt19937 random(seed);
  for (std::int8_t& value : samples) {
    const unsigned r = random();
    if (values == Values::full_range) value = r % 16 == 0 ? -128 : static_cast<std::int8_t>(r >> 8);
    if (values == Values::four_bit) value = static_cast<std::int8_t>(static_cast<int>(r >> 8 & 15) - 8);
    if (values == Values::all_lowest) value = -128;
    if (values == Values::all_lowest_four_bit) value = -8;
  }
  return samples;
}

/// sums[chan][pair i <= j][re, im] += times * sum_t E_i conj(E_j), literally, in runs of time that int32
/// holds.
inline void add_products(const Buffer<std::int8_t, 4>& x, std::int64_t times, Buffer<std::int64_t, 3>& sums) {
  constexpr std::size_t kRun = 1024;
  const std::size_t n_input = x.extent(2);
  std::vector<std::int16_t> re(n_input * kRun), im(n_input * kRun);
  for (std::size_t chan = 0; chan < x.extent(1); ++chan)
    for (std::size_t first = 0; first < x.extent(0); first += kRun) {
      const std::size_t n = std::min(kRun, x.extent(0) - first);
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t i = 0; i < n_input; ++i) {
          re[i * kRun + t] = x(first + t, chan, i, 0);
          im[i * kRun + t] = x(first + t, chan, i, 1);
        }
      std::size_t pair = 0;
      for (std::size_t i = 0; i < n_input; ++i)
        for (std::size_t j = i; j < n_input; ++j, ++pair) {
          const std::int16_t *ar = &re[i * kRun], *ai = &im[i * kRun], *br = &re[j * kRun],
                             *bi = &im[j * kRun];
          std::int32_t sum_re = 0, sum_im = 0;
          for (std::size_t t = 0; t < n; ++t) {
            sum_re += ar[t] * br[t] + ai[t] * bi[t];
            sum_im += ai[t] * br[t] - ar[t] * bi[t];
          }
          sums(chan, pair, 0) += times * sum_re;
          sums(chan, pair, 1) += times * sum_im;
        }
    }
}

}  // namespace apsyn::reference
