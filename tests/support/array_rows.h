// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of a turning array, for tests of how they are cut into subgrids.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/idg/idg.h"

namespace apsyn::support {

struct ArrayRows {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<float, 3> weight;
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> row_slot, chan_slot;
  Buffer<std::complex<float>, 6> jones;
  Buffer<std::uint32_t, 3> response;  ///< [row slot][chan slot][station], or empty

  GridBlock block(bool aterms) const {
    GridBlock result;
    result.uvw_m = uvw_m;
    result.wavenumber = wavenumber;
    result.weight = weight;
    result.station = station;
    if (aterms) result.aterms = {row_slot, chan_slot, jones, response};
    return result;
  }
};

/// n_time integrations of all baselines of a turning array, a tenth of the data flagged.
inline ArrayRows observe_array(std::size_t n_station, std::size_t n_time, std::size_t n_chan) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> flat(-1, 1);
  std::vector<std::array<double, 3>> position(n_station);
  for (auto& p : position) p = {2000 * flat(random), 2000 * flat(random), 300 * flat(random)};
  const std::size_t n_baseline = n_station * (n_station - 1) / 2, n_row = n_baseline * n_time;
  ArrayRows d;
  d.uvw_m.resize({n_row, 3});
  d.wavenumber.resize({n_chan});
  d.weight.resize({n_row, n_chan, 1});
  d.station.resize({n_row, 2});
  d.row_slot.resize({n_row});
  d.chan_slot.resize({n_chan});
  d.jones.resize({3, 2, n_station, 1, 1, 4});
  for (std::size_t c = 0; c < n_chan; ++c) {
    d.wavenumber(c) = 0.5 + 0.002 * static_cast<double>(n_chan - c);  // falling
    d.chan_slot(c) = c < n_chan / 3 ? 0 : 1;
  }
  std::size_t row = 0;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t p = 0; p < n_station; ++p)
      for (std::size_t q = p + 1; q < n_station; ++q, ++row) {
        const double turn = 0.002 * static_cast<double>(t);
        const double e = position[p][0] - position[q][0], n = position[p][1] - position[q][1];
        d.uvw_m(row, 0) = e * std::cos(turn) - n * std::sin(turn);
        d.uvw_m(row, 1) = e * std::sin(turn) + n * std::cos(turn);
        d.uvw_m(row, 2) = position[p][2] - position[q][2] + 0.3 * n;
        d.station(row, 0) = static_cast<std::uint32_t>(p);
        d.station(row, 1) = static_cast<std::uint32_t>(q);
        d.row_slot(row) = static_cast<std::uint32_t>(3 * t / n_time);
        for (std::size_t c = 0; c < n_chan; ++c) d.weight(row, c, 0) = flat(random) < -0.8 ? 0 : 1;
      }
  return d;
}

/// Stations of two kinds, one of which is of the other kind in the second of three slots of time.
inline void share_responses(ArrayRows& d) {
  const std::size_t n_station = d.jones.extent(2);
  d.response.resize({3, 2, n_station});
  for (std::size_t slot = 0; slot < 3; ++slot)
    for (std::size_t chan_slot = 0; chan_slot < 2; ++chan_slot)
      for (std::size_t s = 0; s < n_station; ++s)
        d.response(slot, chan_slot, s) = s % 5 == 0 || (s == 1 && slot == 1) ? 1 : 0;
  d.jones.resize({3, 2, 2, 1, 1, 4});
}

/// Rows of three stations so close to each other that a subgrid's cells hold all of a row's channels, none of
/// them flagged.
inline ArrayRows observe_many_channels(std::size_t n_chan) {
  ArrayRows d = observe_array(3, 1, n_chan);
  for (double& coordinate : d.uvw_m) coordinate /= 1000;
  for (std::size_t c = 0; c < n_chan; ++c) d.wavenumber(c) = 0.5 - 1e-6 * static_cast<double>(c);
  d.weight.fill(1);
  return d;
}

/// [row][chan][1], with a variance of 1 in each part.
inline Buffer<std::complex<float>, 3> noise_for(const ArrayRows& d) {
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  Buffer<std::complex<float>, 3> data({d.uvw_m.extent(0), d.wavenumber.size(), 1});
  for (auto& value : data) value = {normal(random), normal(random)};
  return data;
}

/// In wavelengths; the first channel's are the shortest.
inline double longest_w(const ArrayRows& d) {
  double longest = 0;
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row)
    longest = std::max(longest, std::abs(d.uvw_m(row, 2)) * d.wavenumber(0));
  return longest;
}

}  // namespace apsyn::support
