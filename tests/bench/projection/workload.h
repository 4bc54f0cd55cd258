// SPDX-License-Identifier: GPL-3.0-or-later
// The observation that gridding benchmarks grid: that of bench_idg, and A-terms for it.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

#include "tests/bench/projection/projection.h"

namespace apsyn::projection {

constexpr std::size_t n_stations = 64;

struct Workload {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  Buffer<std::uint32_t, 2> station;
  std::size_t interval = 128;  ///< consecutive rows of a baseline that turns slowly
  double max_w_lambda = 0;
  Visibilities view() const { return {uvw_m, wavenumber, data, weight, station}; }
};

inline Workload make_workload(std::size_t n_row, std::size_t n_chan, double cell_rad) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1, 1);
  Workload w;
  w.uvw_m.resize({n_row, 3});
  w.wavenumber.resize({n_chan});
  w.data.resize({n_row, n_chan, n_pol});
  w.weight.resize({n_row, n_chan, n_pol});
  w.station.resize({(n_row + w.interval - 1) / w.interval, 2});
  const double longest_m = 0.4 / cell_rad * 2.0;
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    w.wavenumber(chan) = (150e6 + 0.1e6 * static_cast<double>(chan)) / 299792458.0;
  for (std::size_t first = 0; first < n_row; first += w.interval) {
    const double length = longest_m * std::pow(std::abs(flat(random)), 2),
                 angle = std::numbers::pi * flat(random);
    for (std::size_t r = first; r < std::min(n_row, first + w.interval); ++r) {
      const double turned = angle + 7.3e-5 * 8 * static_cast<double>(r - first);
      w.uvw_m(r, 0) = length * std::cos(turned);
      w.uvw_m(r, 1) = length * std::sin(turned) * 0.9;
      w.uvw_m(r, 2) = length * std::sin(turned) * 0.1;
      w.max_w_lambda = std::max(w.max_w_lambda, std::abs(w.uvw_m(r, 2)) * w.wavenumber(n_chan - 1));
    }
  }
  for (auto& value : w.data) value = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
  w.weight.fill(1);
  for (std::size_t i = 0; i < w.station.extent(0); ++i) {
    w.station(i, 0) = static_cast<std::uint32_t>(random() % n_stations);
    w.station(i, 1) =
        static_cast<std::uint32_t>((w.station(i, 0) + 1 + random() % (n_stations - 1)) % n_stations);
  }
  return w;
}

/// A station's A-term: a broad beam, pointed a little off, behind an ionospheric wedge.
inline std::complex<double> aterm(std::uint32_t station, double l, double m) {
  const double a = std::cos(2.4 * station), b = std::sin(2.4 * station);
  const double dl = l - 0.005 * a, dm = m - 0.005 * b;
  return std::polar(std::exp(-20 * (dl * dl + dm * dm)), 12 * (a * l + b * m));
}

}  // namespace apsyn::projection
