// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions with other values everywhere, for tests of their files and readers.
#pragma once

#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "libcore/solutions/solutions.h"

namespace some_solutions {

struct Shape {
  std::size_t n_time = 3, n_ant = 4, n_chan = 2, n_pol = 2;
  std::vector<std::uint32_t> direction{};
};

constexpr double kFirst_mjd_s = 5e9, kInterval_s = 8, kFirst_hz = 150e6, kWidth_hz = 1e6;

/// Different for every index, of moderate size.
inline double number(std::size_t table, std::size_t index) {
  return std::sin(1.0 + 12.9898 * static_cast<double>(index) + 78.233 * static_cast<double>(table));
}

/// Centres 8 s and 1 MHz apart that touch; a single time holds at all times, and a single gain at all
/// frequencies.
inline apsyn::SolutionTable table(apsyn::SolutionType type, const Shape& shape, std::size_t seed) {
  using apsyn::SolutionType;
  apsyn::SolutionTable table;
  table.type = type;
  table.term = std::string(apsyn::solution_type_name(type));
  for (std::size_t i = 0; i < shape.n_time; ++i) {
    table.time_mjd_s.push_back(kFirst_mjd_s + kInterval_s * static_cast<double>(i));
    table.interval_s.push_back(shape.n_time > 1 ? kInterval_s : 0);
  }
  for (std::size_t i = 0; i < shape.n_chan; ++i) {
    table.freq_hz.push_back(kFirst_hz + kWidth_hz * static_cast<double>(i));
    table.width_hz.push_back(shape.n_chan > 1 || apsyn::is_dispersive(type) ? kWidth_hz : 0);
  }
  table.direction = shape.direction;
  table.resize(shape.n_ant, shape.n_pol);
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    const double a = number(seed, 2 * i), b = number(seed, 2 * i + 1);
    std::complex<double>& value = table.values.data()[i];
    switch (type) {
      case SolutionType::gain:
        value = shape.n_pol == 4 && i % 4 != 0 && i % 4 != 3 ? 0.1 * std::complex(a, b)
                                                             : std::polar(1.2 + 0.5 * a, 3 * b);
        break;
      case SolutionType::phase:
        value = std::polar(1.0, 3 * b);
        break;
      case SolutionType::amplitude:
        value = 1.2 + 0.5 * a;
        break;
      case SolutionType::leakage:
        value = i % 4 == 0 || i % 4 == 3 ? std::complex(1.0) : 0.05 * std::complex(a, b);
        break;
      case SolutionType::delay_s:
        value = 1e-8 * a;
        break;
      case SolutionType::tec_tecu:
        value = 0.01 * a;
        break;
    }
  }
  return table;
}

template <class... Tables>
apsyn::Solutions solutions(Tables&&... given) {
  std::vector<apsyn::SolutionTable> tables;
  (tables.push_back(std::forward<Tables>(given)), ...);
  const std::size_t n_ant = tables.front().values.extent(2);
  apsyn::Solutions solutions;
  solutions.source = "some solutions";
  for (std::size_t i = 0; i < n_ant; ++i)
    solutions.antennas.push_back(
        {"ant" + std::to_string(i), {1000.0 * static_cast<double>(i) + 0.5, 2000.0, 3000.0}});
  solutions.field_centre = apsyn::SkyDirection{0.3, -0.5};
  for (const apsyn::SolutionTable& table : tables)
    if (!table.direction.empty()) solutions.directions = {{"east", {0.32, -0.5}}, {"west", {0.28, -0.5}}};
  solutions.tables = std::move(tables);
  solutions.history = {"apsyn 0.1", "calibrate some.ms"};
  return solutions;
}

/// Takes a solution away.
inline void flag(apsyn::SolutionTable& table, std::size_t time, std::size_t ant, std::size_t chan,
                 std::size_t pol, apsyn::SolutionFlag why) {
  for (std::size_t dir = 0; dir < table.n_direction(); ++dir) {
    table.weight(time, dir, ant, chan, pol) = 0;
    table.flag(time, dir, ant, chan, pol) = why;
  }
}

}  // namespace some_solutions
