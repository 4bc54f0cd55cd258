// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/solutions/fill.h"

#include <cmath>
#include <optional>

namespace apsyn {

SolutionTable fill_flagged(const SolutionTable& table) {
  SolutionTable result;
  result.type = table.type;
  result.term = table.term;
  result.time_mjd_s = table.time_mjd_s;
  result.interval_s = table.interval_s;
  result.freq_hz = table.freq_hz;
  result.width_hz = table.width_hz;
  result.direction = table.direction;
  const auto shape = table.values.shape();
  result.resize(shape[2], shape[4]);
  result.flag = {};
  const auto good = [&](std::size_t time, std::size_t dir, std::size_t ant, std::size_t chan,
                        std::size_t pol) {
    return table.weight(time, dir, ant, chan, pol) > 0 &&
           std::isfinite(std::abs(table.values(time, dir, ant, chan, pol)));
  };
  // The nearest index from `at` of `n` that `test` accepts.
  const auto nearest = [](std::size_t at, std::size_t n, const auto& test) -> std::optional<std::size_t> {
    for (std::size_t step = 0; step < n; ++step) {
      if (at >= step && test(at - step)) return at - step;
      if (at + step < n && test(at + step)) return at + step;
    }
    return std::nullopt;
  };
  for (std::size_t time = 0; time < shape[0]; ++time)
    for (std::size_t dir = 0; dir < shape[1]; ++dir)
      for (std::size_t ant = 0; ant < shape[2]; ++ant)
        for (std::size_t chan = 0; chan < shape[3]; ++chan)
          for (std::size_t pol = 0; pol < shape[4]; ++pol) {
            if (const auto at =
                    nearest(time, shape[0], [&](std::size_t t) { return good(t, dir, ant, chan, pol); }))
              result.values(time, dir, ant, chan, pol) = table.values(*at, dir, ant, chan, pol);
            else if (const auto at =
                         nearest(chan, shape[3], [&](std::size_t c) { return good(time, dir, ant, c, pol); }))
              result.values(time, dir, ant, chan, pol) = table.values(time, dir, ant, *at, pol);
          }
  return result;
}

}  // namespace apsyn
