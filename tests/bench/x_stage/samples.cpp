// SPDX-License-Identifier: GPL-3.0-or-later
#include <random>

#include "tests/bench/x_stage/x_stage_bench.h"

namespace apsyn::bench {

Buffer<std::int8_t, 4> random_samples(const Case& c, unsigned n_bit) {
  Buffer<std::int8_t, 4> samples({c.n_time, c.n_chan, c.n_input(), 2});
  // one random run, repeated with a length that divides nothing
  std::vector<std::int8_t> run(std::min<std::size_t>(samples.size(), 4000037));
  std::mt19937 random(static_cast<unsigned>(c.n_ant));
  for (std::int8_t& value : run) {
    const unsigned r = random() >> 8;
    value =
        static_cast<std::int8_t>(n_bit == 8 ? static_cast<int>(r & 255) - 128 : static_cast<int>(r & 15) - 8);
  }
  for (std::size_t at = 0; at < samples.size(); at += run.size())
    std::copy_n(run.begin(), std::min(run.size(), samples.size() - at), samples.data() + at);
  return samples;
}

long count_wrong(const Buffer<std::int8_t, 4>& x, const Buffer<std::int64_t, 3>& sums) {
  std::mt19937 random(5);
  long n_wrong = 0;
  const std::size_t n_input = x.extent(2);
  for (int k = 0; k < 2000; ++k) {
    const std::size_t chan = random() % x.extent(1);
    std::size_t i = random() % n_input, j = random() % n_input;
    if (i > j) std::swap(i, j);
    std::int64_t re = 0, im = 0;
    for (std::size_t t = 0; t < x.extent(0); ++t) {
      const int ar = x(t, chan, i, 0), ai = x(t, chan, i, 1), br = x(t, chan, j, 0), bi = x(t, chan, j, 1);
      re += ar * br + ai * bi;
      im += ai * br - ar * bi;
    }
    const std::size_t pair = i * n_input - i * (i + 1) / 2 + j;
    n_wrong += sums(chan, pair, 0) != re || sums(chan, pair, 1) != im;
  }
  return n_wrong;
}

}  // namespace apsyn::bench
