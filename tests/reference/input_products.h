// SPDX-License-Identifier: GPL-3.0-or-later
// Samples to correlate, and all their products by an int64 loop.
#pragma once

#include <cstdint>
#include <random>

#include "libcore/core/view.h"

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

/// sums[chan][pair i <= j][re, im] += times * sum_t E_i conj(E_j), literally.
inline void add_products(const Buffer<std::int8_t, 4>& x, std::int64_t times, Buffer<std::int64_t, 3>& sums) {
  for (std::size_t chan = 0; chan < x.extent(1); ++chan) {
    std::size_t pair = 0;
    for (std::size_t i = 0; i < x.extent(2); ++i)
      for (std::size_t j = i; j < x.extent(2); ++j, ++pair) {
        std::int64_t re = 0, im = 0;
        for (std::size_t t = 0; t < x.extent(0); ++t) {
          const std::int64_t ar = x(t, chan, i, 0), ai = x(t, chan, i, 1), br = x(t, chan, j, 0),
                             bi = x(t, chan, j, 1);
          re += ar * br + ai * bi;
          im += ai * br - ar * bi;
        }
        sums(chan, pair, 0) += times * re;
        sums(chan, pair, 1) += times * im;
      }
  }
}

}  // namespace apsyn::reference
