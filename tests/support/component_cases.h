// SPDX-License-Identifier: GPL-3.0-or-later
// Skies and rows of which components are summed, and what the sums have to be: the measurement equation, term
// by term in float64.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "kernels/simulate/device_components.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::test {

struct ComponentCase {
  SkyModel sky;
  SkyDirection centre{5.5, -0.6};
  std::vector<double> hz;
  Buffer<double, 2> uvw_m;           ///< [row][3]
  Buffer<double, 1> path_m;          ///< [row]
  Buffer<std::uint32_t, 2> station;  ///< [row][p, q]
  std::size_t n_stations = 0;        ///< 0: all see the same
  std::int64_t slot = 0;             ///< of the matrices, which differ between slots

  std::size_t n_planes() const {
    for (const SkyComponent& component : sky.components)
      for (std::size_t s = 1; s < 4; ++s)
        if (component.stokes_jy[s] != 0) return 4;
    return n_stations > 0 ? 4 : 1;
  }
  /// Element [XX XY YX YY] of a station's matrix.
  std::complex<float> jones(std::size_t chan, std::size_t at, std::size_t component, std::size_t i) const {
    return std::polar(0.3f + 0.1f * float((i + component) % 5),
                      0.7f * float(at) - 1.3f * float(i * component % 7) + 0.1f * float(chan) + float(slot));
  }
};

/// Matrices of a case; `n_made` counts those of a channel.
inline simulate::StationMatrices station_matrices(const ComponentCase& of, std::size_t* n_made = nullptr) {
  return {of.slot, of.n_stations,
          [&of, n_made](std::size_t chan, std::size_t first, View<std::complex<float>, 3> jones) {
            for (std::size_t station = 0; station < jones.extent(0); ++station)
              for (std::size_t c = 0; c < jones.extent(1); ++c)
                for (std::size_t i = 0; i < 4; ++i)
                  jones(station, c, i) = of.jones(chan, station, first + c, i);
            if (n_made != nullptr) *n_made += jones.extent(1);
          }};
}

/// Even steps, a gap, a jump downwards: runs of all lengths, and channels by themselves.
inline std::vector<double> uneven_channels() {
  std::vector<double> hz;
  for (int i = 0; i < 75; ++i) hz.push_back(150e6 + 195.3125e3 * i);
  for (int i = 0; i < 5; ++i) hz.push_back(190e6 + 1e6 * i * i);
  hz.push_back(120e6);
  return hz;
}

struct ComponentCaseSettings {
  std::size_t n_components = 20, n_rows = 150, n_stations = 0;
  double radius_rad = 0.03, longest_m = 3e3;
  bool polarised = false, gaussians = false;
};

inline ComponentCase make_component_case(const ComponentCaseSettings& settings) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  ComponentCase made;
  made.hz = uneven_channels();
  made.n_stations = settings.n_stations;
  for (std::size_t i = 0; i < settings.n_components; ++i) {
    SkyComponent& component = made.sky.components.emplace_back();
    component.direction = {
        made.centre.ra_rad + settings.radius_rad * uniform(random) / std::cos(made.centre.dec_rad),
        made.centre.dec_rad + settings.radius_rad * uniform(random)};
    component.stokes_jy = {1 + uniform(random), 0, 0, 0};
    if (settings.polarised)
      for (std::size_t s = 1; s < 4; ++s) component.stokes_jy[s] = 0.3 * uniform(random);
    component.reference_freq_hz = 150e6;
    component.spectral_terms = {-0.7};
    if (settings.gaussians && i % 3 == 1) {
      component.major_rad = 2.0 / settings.longest_m;
      component.minor_rad = 0.7 / settings.longest_m;
      component.position_angle_rad = 3 * uniform(random);
    }
  }
  made.uvw_m.resize({settings.n_rows, 3});
  made.path_m.resize({settings.n_rows});
  for (double& value : made.uvw_m) value = settings.longest_m * uniform(random);
  for (double& value : made.path_m) value = settings.longest_m * uniform(random);
  if (settings.n_rows > 0)
    for (std::size_t axis = 0; axis < 3; ++axis) made.uvw_m(0, axis) = 0;  // an autocorrelation
  if (settings.n_stations > 0) {
    made.station.resize({settings.n_rows, 2});
    for (std::uint32_t& value : made.station)
      value = static_cast<std::uint32_t>(random() % settings.n_stations);
  }
  return made;
}

/// Rows of an array in several time steps: pairs of stations in either order and each with itself, all but
/// one in seven and those of one station, in no order. Coordinates of a station change from step to step.
inline ComponentCase make_array_case(ComponentCaseSettings settings, std::size_t n_steps) {
  struct Row {
    std::size_t step;
    std::uint32_t p, q;
  };
  std::mt19937 random(17);
  std::vector<Row> rows;
  const auto n_stations = static_cast<std::uint32_t>(settings.n_stations);
  for (std::size_t step = 0; step < n_steps; ++step)
    for (std::uint32_t p = 0; p < n_stations; ++p)
      for (std::uint32_t q = p; q < n_stations; ++q)
        if (random() % 7 != 0 && p != n_stations / 2 && q != n_stations / 2)
          rows.push_back(random() % 5 == 0 ? Row{step, q, p} : Row{step, p, q});
  std::shuffle(rows.begin(), rows.end(), random);
  settings.n_rows = rows.size();
  ComponentCase made = make_component_case(settings);
  Buffer<double, 3> place_m({n_steps, settings.n_stations, 4});
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (double& value : place_m) value = settings.longest_m * uniform(random);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [step, p, q] = rows[i];
    for (std::size_t axis = 0; axis < 3; ++axis)
      made.uvw_m(i, axis) = place_m(step, p, axis) - place_m(step, q, axis);
    made.path_m(i) = place_m(step, p, 3) - place_m(step, q, 3);
    made.station(i, 0) = p;
    made.station(i, 1) = q;
  }
  return made;
}

/// Every `step`-th row of a case.
inline ComponentCase thinned(const ComponentCase& of, std::size_t step) {
  ComponentCase made;
  made.sky = of.sky, made.centre = of.centre, made.hz = of.hz;
  made.n_stations = of.n_stations, made.slot = of.slot;
  const std::size_t n_rows = (of.uvw_m.extent(0) + step - 1) / step;
  made.uvw_m.resize({n_rows, 3}), made.path_m.resize({n_rows}), made.station.resize({n_rows, 2});
  for (std::size_t row = 0; row < n_rows; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) made.uvw_m(row, axis) = of.uvw_m(row * step, axis);
    made.path_m(row) = of.path_m(row * step);
    for (std::size_t side = 0; side < 2; ++side) made.station(row, side) = of.station(row * step, side);
  }
  return made;
}

using Vector = std::array<double, 3>;
inline double product(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
/// East, north and the direction itself as equatorial vectors.
inline std::array<Vector, 3> axes_at(const SkyDirection& at) {
  const double a = at.ra_rad, d = at.dec_rad;
  return {Vector{-std::sin(a), std::cos(a), 0},
          Vector{-std::sin(d) * std::cos(a), -std::sin(d) * std::sin(a), std::cos(d)},
          Vector{std::cos(d) * std::cos(a), std::cos(d) * std::sin(a), std::sin(d)}};
}

/// [plane] of one row and channel: I, I Q U V, or XX XY YX YY through matrices.
inline std::array<std::complex<double>, 4> expected_sum(const ComponentCase& of, std::size_t row,
                                                        std::size_t chan) {
  using Complex = std::complex<double>;
  const double pi = std::acos(-1.0), per_m = of.hz[chan] / 299792458.0;
  const auto centre = axes_at(of.centre);
  Vector baseline_m{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis) baseline_m[i] += of.uvw_m(row, axis) * centre[axis][i];
  std::array<Complex, 4> sum{};
  for (std::size_t c = 0; c < of.sky.components.size(); ++c) {
    const SkyComponent& component = of.sky.components[c];
    const auto own = axes_at(component.direction);
    const Vector shift{own[2][0] - centre[2][0], own[2][1] - centre[2][1], own[2][2] - centre[2][2]};
    const double turns = (product(baseline_m, shift) + (of.path_m.size() > 0 ? of.path_m(row) : 0.0)) * per_m;
    const double u = product(baseline_m, own[0]) * per_m, v = product(baseline_m, own[1]) * per_m;
    const double cos_pa = std::cos(component.position_angle_rad),
                 sin_pa = std::sin(component.position_angle_rad);
    const double along = component.major_rad * (u * sin_pa + v * cos_pa),
                 across = component.minor_rad * (u * cos_pa - v * sin_pa);
    const double shape = std::exp(-pi * pi / (4 * std::log(2.0)) * (along * along + across * across));
    const Complex phasor = std::polar(
        shape * std::pow(of.hz[chan] / component.reference_freq_hz, component.spectral_terms.at(0)),
        2 * pi * std::remainder(turns, 1.0));
    const auto& s = component.stokes_jy;
    if (of.n_stations == 0) {
      for (std::size_t plane = 0; plane < of.n_planes(); ++plane) sum[plane] += s[plane] * phasor;
      continue;
    }
    const Complex b[2][2] = {{s[0] + s[1], {s[2], s[3]}}, {{s[2], -s[3]}, s[0] - s[1]}};
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t a = 0; a < 2; ++a)
          for (std::size_t e = 0; e < 2; ++e)
            sum[2 * i + k] += Complex(of.jones(chan, of.station(row, 0), c, 2 * i + a)) * b[a][e] *
                              std::conj(Complex(of.jones(chan, of.station(row, 1), c, 2 * k + e))) * phasor;
  }
  return sum;
}

}  // namespace apsyn::test
