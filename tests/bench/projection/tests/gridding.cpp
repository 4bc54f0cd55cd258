// SPDX-License-Identifier: GPL-3.0-or-later
// The comparison gridders of tests/bench/projection against the literal convolution in float64.
// tests/bench/projection/tests/cuda/gridding.cpp runs the same tests on a GPU.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>
#include <random>

#include "tests/bench/projection/projection.h"
#include "tests/reference/convolution_gridding.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using namespace apsyn::projection;

BOOST_AUTO_TEST_SUITE(gridding)

namespace {

constexpr std::size_t n_stations = 3;

struct Case {
  std::size_t size, n_rows, n_chan;
  bool aterms;
};

Setup make_setup(const Case& c) {
  Setup setup;
  setup.size = c.size;
  setup.n_grid = 128;
  setup.cell_rad = 0.004;
  setup.interval = 5;
  setup.n_w_planes = 9;
  setup.max_w_lambda = 12;
  setup.max_weight_bytes =
      5 * 64 * c.size * c.size * sizeof(std::complex<float>) / 2;  // two tables at a time
  const auto n = static_cast<double>(c.size);
  for (std::size_t i = 0; i < c.size; ++i)
    setup.taper.push_back(std::pow(std::cos(std::numbers::pi * (static_cast<double>(i) - n / 2) / n), 2));
  if (!c.aterms) return setup;
  setup.aterms.resize({n_stations, c.size, c.size});
  for (std::size_t s = 0; s < n_stations; ++s)
    for (std::size_t y = 0; y < c.size; ++y)
      for (std::size_t x = 0; x < c.size; ++x) {
        const auto at = static_cast<double>(s + 1);
        const double dx = static_cast<double>(x) / n - 0.5, dy = static_cast<double>(y) / n - 0.5;
        setup.aterms(s, y, x) = std::complex<float>(
            std::polar(std::exp(-at * (dx * dx + 2 * dy * dy)), 2 * at * dx - dy * (3 - at)));
      }
  return setup;
}

struct Data {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  Buffer<std::uint32_t, 2> station;
  Visibilities view() const { return {uvw_m, wavenumber, data, weight, station}; }
};

/// Baselines that turn and now and then leave the grid over its edge; some visibilities have no weight.
Data make_data(const Case& c, const Setup& setup) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> flat(-1, 1);
  Data d;
  d.uvw_m.resize({c.n_rows, 3});
  d.wavenumber.resize({c.n_chan});
  d.data.resize({c.n_rows, c.n_chan, n_pol});
  d.weight.resize({c.n_rows, c.n_chan, n_pol});
  d.station.resize({(c.n_rows + setup.interval - 1) / setup.interval, 2});
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    d.wavenumber(chan) = 0.5 + 0.004 * static_cast<double>(chan);
  double length = 0, angle = 0;
  for (std::size_t row = 0; row < c.n_rows; ++row) {
    if (row % setup.interval == 0) length = 230 * flat(random), angle = 3 * flat(random);
    angle += 0.002;
    d.uvw_m(row, 0) = length * std::cos(angle);
    d.uvw_m(row, 1) = length * std::sin(angle);
    d.uvw_m(row, 2) = 20 * length / 230 * std::cos(angle + 1);
  }
  for (auto& value : d.data) value = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
  for (auto& weight : d.weight) weight = static_cast<float>(std::max(0.0, flat(random) + 0.6));
  for (std::size_t i = 0; i < d.weight.size(); ++i)
    if (d.weight.data()[i] == 0) d.data.data()[i] = {NAN, NAN};
  for (std::size_t i = 0; i < d.station.extent(0); ++i)
    d.station(i, 0) = static_cast<std::uint32_t>(i % n_stations),
                 d.station(i, 1) = static_cast<std::uint32_t>((i + 1) % n_stations);
  return d;
}

/// Calls work(row, chan, S, u, v) for all visibilities, with u and v in cells.
template <class Work>
void for_visibilities(const Case& c, const Setup& setup, const Data& d, Work work) {
  const auto n = static_cast<int>(c.size);
  const double field = static_cast<double>(setup.n_grid) * setup.cell_rad;
  double mean_wavenumber = 0;
  for (double k : d.wavenumber) mean_wavenumber += k / static_cast<double>(c.n_chan);
  for (std::size_t row = 0; row < c.n_rows; ++row)
    for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
      const std::size_t interval = row / setup.interval;
      double w = 0;
      if (c.aterms) {
        const std::size_t first = interval * setup.interval,
                          last = std::min(c.n_rows, first + setup.interval);
        for (std::size_t r = first; r < last; ++r)
          w += d.uvw_m(r, 2) * mean_wavenumber / static_cast<double>(last - first);
      } else {
        const double step = 2 * setup.max_w_lambda / static_cast<double>(setup.n_w_planes - 1);
        w = std::round(d.uvw_m(row, 2) * d.wavenumber(chan) / step) * step;  // a plane lies at w = 0
      }
      const auto s = [&](int y, int x) -> std::complex<double> {
        const double l = x * field / n, m = y * field / n;
        const auto ix = static_cast<std::size_t>(x + n / 2), iy = static_cast<std::size_t>(y + n / 2);
        std::complex<double> value =
            setup.taper[ix] * setup.taper[iy] *
            std::polar(1.0, -2 * std::numbers::pi * w * (std::sqrt(1 - l * l - m * m) - 1));
        if (c.aterms)
          value *= std::complex<double>(setup.aterms(d.station(interval, 0), iy, ix)) *
                   std::conj(std::complex<double>(setup.aterms(d.station(interval, 1), iy, ix)));
        return value;
      };
      work(row, chan, s, d.uvw_m(row, 0) * d.wavenumber(chan) * field,
           d.uvw_m(row, 1) * d.wavenumber(chan) * field);
    }
}

/// Root of the summed squares of differences over that of `want`.
class RelativeError {
 public:
  void add(std::complex<float> got, std::complex<double> want) {
    error_ += std::norm(std::complex<double>(got) - want);
    power_ += std::norm(want);
  }
  double value() const { return std::sqrt(error_ / power_); }

 private:
  double error_ = 0, power_ = 0;
};

double gridding_error(const Case& c) {
  const Setup setup = make_setup(c);
  const Data d = make_data(c, setup);
  auto gridder = make_gridder(reference::test_device(), setup, 2);
  gridder->grid(d.view());
  const auto got = gridder->grid_copy();
  reference::UvGrid want(setup.n_grid);
  for_visibilities(c, setup, d, [&](std::size_t row, std::size_t chan, const auto& s, double u, double v) {
    std::array<std::complex<double>, 4> values;
    for (std::size_t pol = 0; pol < 4; ++pol) {
      const double weight = d.weight(row, chan, pol);
      values[pol] = weight == 0 ? 0 : weight * std::complex<double>(d.data(row, chan, pol));
    }
    reference::convolve_onto(want, s, static_cast<int>(c.size), 8, u, v, values);
  });
  RelativeError error;
  for (std::size_t v = 0; v < setup.n_grid; ++v)
    for (std::size_t u = 0; u < setup.n_grid; ++u)
      for (std::size_t pol = 0; pol < n_pol; ++pol)
        error.add(got(v, pol, u), want.cells[v * setup.n_grid + u][pol]);
  return error.value();
}

double degridding_error(const Case& c) {
  const Setup setup = make_setup(c);
  const Data d = make_data(c, setup);
  std::mt19937_64 random(8);
  std::normal_distribution<float> gauss;
  Buffer<std::complex<float>, 3> model({setup.n_grid, n_pol, setup.n_grid});
  reference::UvGrid grid(setup.n_grid);
  for (std::size_t v = 0; v < setup.n_grid; ++v)
    for (std::size_t u = 0; u < setup.n_grid; ++u)
      for (std::size_t pol = 0; pol < n_pol; ++pol)
        grid.cells[v * setup.n_grid + u][pol] = model(v, pol, u) = {gauss(random), gauss(random)};
  auto gridder = make_gridder(reference::test_device(), setup, 2);
  gridder->set_grid(model);
  Buffer<std::complex<float>, 3> got({c.n_rows, c.n_chan, n_pol});
  got.fill({NAN, NAN});
  gridder->degrid({d.uvw_m, d.wavenumber, {}, {}, d.station}, got);
  RelativeError error;
  for_visibilities(c, setup, d, [&](std::size_t row, std::size_t chan, const auto& s, double u, double v) {
    const auto want = reference::convolve_from(grid, s, static_cast<int>(c.size), 8, u, v);
    for (std::size_t pol = 0; pol < n_pol; ++pol) error.add(got(row, chan, pol), want[pol]);
  });
  return error.value();
}

// Single precision: weights and values are rounded to 6e-8. Measured: gridding 1.4e-7 to 1.8e-7 and
// degridding 1.2e-7 to 2.9e-7 on a CPU, 1.5e-7 to 2.9e-7 and 1.3e-7 to 2.9e-7 on an H200.
constexpr double tolerance = 1e-6;

void check(const Case& c) {
  const double gridding = gridding_error(c), degridding = degridding_error(c);
  BOOST_TEST_MESSAGE((c.aterms ? "AW, " : "W, ")
                     << c.size << " cells: gridding " << gridding << ", degridding " << degridding);
  BOOST_TEST(gridding < tolerance);
  BOOST_TEST(degridding < tolerance);
}

}  // namespace

BOOST_AUTO_TEST_CASE(w_projection_meets_float64_with_every_tile_size) {
  for (std::size_t size : {8, 16, 24, 32}) check({size, 43, 6, false});
}

BOOST_AUTO_TEST_CASE(w_projection_meets_float64_in_several_tiles) {
  check({64, 12, 2, false});
}

BOOST_AUTO_TEST_CASE(aw_projection_meets_float64) {
  for (std::size_t size : {8, 16, 32}) check({size, 43, 6, true});
}

BOOST_AUTO_TEST_SUITE_END()
