// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/projection/image_check.h"

#include "libcore/system/parallel.h"

namespace apsyn::projection {
namespace {

std::complex<double> unit(double turns) {
  return std::polar(1.0, 2 * std::numbers::pi * (turns - std::round(turns)));
}

}  // namespace

std::vector<Direction> choose_directions(std::size_t n, std::size_t n_pixels, double cell_rad) {
  std::mt19937_64 random(11);
  const auto half = static_cast<double>(n_pixels / 2);
  std::vector<Direction> at(n);
  for (Direction& d : at) {
    d.l = (static_cast<double>(random() % n_pixels) - half) * cell_rad;
    d.m = (static_cast<double>(random() % n_pixels) - half) * cell_rad;
  }
  return at;
}

std::vector<std::complex<double>> sums_by_definition(const Workload& workload,
                                                     const std::vector<Direction>& at, bool with_aterms,
                                                     unsigned n_threads) {
  std::vector<std::complex<double>> sums(at.size());
  parallel_for(n_threads, at.size(), [&](std::size_t i, unsigned) {
    const auto [l, m] = at[i];
    const double n_1 = std::sqrt(1 - l * l - m * m) - 1;
    for (std::size_t row = 0; row < workload.uvw_m.extent(0); ++row) {
      const double path =
          workload.uvw_m(row, 0) * l + workload.uvw_m(row, 1) * m + workload.uvw_m(row, 2) * n_1;
      std::complex<double> sum = 0;
      for (std::size_t chan = 0; chan < workload.wavenumber.size(); ++chan)
        sum += static_cast<double>(workload.weight(row, chan, 0)) *
               std::complex<double>(workload.data(row, chan, 0)) * unit(-path * workload.wavenumber(chan));
      const std::size_t interval = row / workload.interval;
      if (with_aterms)
        sum *= aterm(workload.station(interval, 0), l, m) *
               std::conj(aterm(workload.station(interval, 1), l, m));
      sums[i] += sum;
    }
  });
  return sums;
}

std::vector<std::complex<double>> sums_from_grid(View<const std::complex<float>, 3> grid, double cell_rad,
                                                 const Taper& taper, const std::vector<Direction>& at,
                                                 unsigned n_threads) {
  const std::size_t n = grid.extent(0);
  const auto half = static_cast<double>(n / 2);
  const double field = static_cast<double>(n) * cell_rad;
  std::vector<std::complex<double>> sums(at.size());
  parallel_for(n_threads, at.size(), [&](std::size_t i, unsigned) {
    const auto [l, m] = at[i];
    std::vector<std::complex<double>> wave(n);
    for (std::size_t u = 0; u < n; ++u) wave[u] = unit(-(static_cast<double>(u) - half) * l / field);
    for (std::size_t v = 0; v < n; ++v) {
      double re = 0, im = 0;
      for (std::size_t u = 0; u < n; ++u) {
        const std::complex<double> cell(grid(v, 0, u));
        re += cell.real() * wave[u].real() - cell.imag() * wave[u].imag();
        im += cell.real() * wave[u].imag() + cell.imag() * wave[u].real();
      }
      sums[i] += std::complex<double>(re, im) * unit(-(static_cast<double>(v) - half) * m / field);
    }
    sums[i] /= taper(2 * l / field) * taper(2 * m / field);
  });
  return sums;
}

Buffer<std::complex<float>, 3> grid_of_sources(std::size_t n_grid, double cell_rad, const Taper& taper,
                                               const std::vector<Direction>& sources, unsigned n_threads) {
  const double field = static_cast<double>(n_grid) * cell_rad, half = static_cast<double>(n_grid / 2);
  Buffer<std::complex<double>, 2> along_u({sources.size(), n_grid}), along_v({sources.size(), n_grid});
  for (std::size_t s = 0; s < sources.size(); ++s)
    for (std::size_t i = 0; i < n_grid; ++i) {
      const double cell = (static_cast<double>(i) - half) / field;
      const auto [l, m] = sources[s];
      along_u(s, i) = unit(cell * l) / (taper(2 * l / field) * taper(2 * m / field));
      along_v(s, i) = unit(cell * m);
    }
  Buffer<std::complex<float>, 3> grid({n_grid, n_pol, n_grid});
  parallel_for(n_threads, n_grid, [&](std::size_t v, unsigned) {
    for (std::size_t u = 0; u < n_grid; ++u) {
      double re = 0, im = 0;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        const auto a = along_u(s, u), b = along_v(s, v);
        re += a.real() * b.real() - a.imag() * b.imag();
        im += a.real() * b.imag() + a.imag() * b.real();
      }
      for (std::size_t pol = 0; pol < n_pol; ++pol)
        grid(v, pol, u) = {static_cast<float>(re), static_cast<float>(im)};
    }
  });
  return grid;
}

Buffer<std::complex<double>, 2> visibilities_by_definition(const Workload& workload,
                                                           const std::vector<Direction>& sources,
                                                           bool with_aterms, unsigned n_threads) {
  Buffer<std::complex<double>, 2> out({workload.uvw_m.extent(0), workload.wavenumber.size()});
  parallel_for(n_threads, out.extent(0), [&](std::size_t row, unsigned) {
    const std::size_t interval = row / workload.interval;
    for (const auto [l, m] : sources) {
      const double path = workload.uvw_m(row, 0) * l + workload.uvw_m(row, 1) * m +
                          workload.uvw_m(row, 2) * (std::sqrt(1 - l * l - m * m) - 1);
      std::complex<double> gain = 1;
      if (with_aterms)
        gain = aterm(workload.station(interval, 1), l, m) *
               std::conj(aterm(workload.station(interval, 0), l, m));
      for (std::size_t chan = 0; chan < out.extent(1); ++chan)
        out(row, chan) += gain * unit(path * workload.wavenumber(chan));
    }
  });
  return out;
}

double image_error(const std::vector<std::complex<double>>& got,
                   const std::vector<std::complex<double>>& want) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(got[i].real() - want[i].real(), 2);
    power += std::pow(want[i].real(), 2);
  }
  return std::sqrt(error / power);
}

double visibility_error(View<const std::complex<float>, 3> got, View<const std::complex<double>, 2> want) {
  double error = 0, power = 0;
  for (std::size_t row = 0; row < want.extent(0); ++row)
    for (std::size_t chan = 0; chan < want.extent(1); ++chan)
      for (std::size_t pol = 0; pol < n_pol; ++pol) {
        error += std::norm(std::complex<double>(got(row, chan, pol)) - want(row, chan));
        power += std::norm(want(row, chan));
      }
  return std::sqrt(error / power);
}

}  // namespace apsyn::projection
