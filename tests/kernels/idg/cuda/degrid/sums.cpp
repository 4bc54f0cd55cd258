// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder against the float64 sum of its definition: both of its sums over pixels, both ways to
// handle w, A-terms, folding, passes.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>

#include "kernels/idg/degrid_cuda.h"
#include "libcore/system/device.h"
#include "tests/reference/dft_image.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(sums)

namespace {

constexpr double asec = 4.84813681109536e-6, two_pi = 2 * 3.14159265358979323846;
const Device gpu{Device::Kind::cuda, 0, "cuda:0"};

struct Pixel {
  std::size_t x, y;
  std::vector<double> flux;  ///< [plane]
};

struct Case {
  ImageGeometry geometry;
  std::vector<Pixel> sky;
  Buffer<double, 3> model;
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> path_m, wavenumber;
  double max_w_lambda = 0;

  GridBlock block() const {
    GridBlock block;
    block.uvw_m = uvw_m;
    block.path_m = path_m;
    block.wavenumber = wavenumber;
    return block;
  }
  double l(const Pixel& p) const { return (double(geometry.n_x / 2) - double(p.x)) * geometry.cell_rad; }
  double m(const Pixel& p) const { return (double(p.y) - double(geometry.n_y / 2)) * geometry.cell_rad; }
};

/// Rows of a few baselines that turn slowly, so that tasks have many visibilities.
Case make_case(const ImageGeometry& geometry, std::size_t n_planes, std::size_t n_row, std::size_t n_chan,
               double radius_m, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> flat(0, 1);
  Case c;
  c.geometry = geometry;
  c.model.resize({n_planes, geometry.n_y, geometry.n_x});
  for (int i = 0; i < 40; ++i) {
    Pixel pixel{random() % geometry.n_x, random() % geometry.n_y, {}};
    for (std::size_t p = 0; p < n_planes; ++p) {
      pixel.flux.push_back(flat(random) - 0.3);
      c.model(p, pixel.y, pixel.x) += pixel.flux.back();
    }
    c.sky.push_back(pixel);
  }
  c.uvw_m.resize({n_row, 3});
  c.path_m.resize({n_row});
  c.wavenumber.resize({n_chan});
  for (std::size_t k = 0; k < n_chan; ++k) c.wavenumber(k) = (150e6 + 0.1e6 * double(k)) / 299792458.0;
  double length = 0, angle = 0, tilt = 0;
  for (std::size_t r = 0; r < n_row; ++r) {
    if (r % 64 == 0) {
      length = radius_m * std::pow(flat(random), 2);
      angle = two_pi * flat(random);
      tilt = 0.4 * (flat(random) - 0.5);
    }
    const double turned = angle + 1e-3 * double(r % 64);
    c.uvw_m(r, 0) = length * std::cos(turned);
    c.uvw_m(r, 1) = length * std::sin(turned) * 0.8;
    c.uvw_m(r, 2) = length * (std::sin(turned) * 0.3 + tilt);
    c.path_m(r) = flat(random) * 3;
    c.max_w_lambda = std::max(c.max_w_lambda, std::abs(c.uvw_m(r, 2)) * c.wavenumber(n_chan - 1));
  }
  return c;
}

std::complex<double> expected(const Case& c, std::size_t row, std::size_t chan, std::size_t plane) {
  const double k = c.wavenumber(chan);
  std::vector<DftSource> sources;
  for (const Pixel& pixel : c.sky) {
    const double l = c.l(pixel), m = c.m(pixel);
    if (l * l + m * m < 1) sources.push_back({l, m, pixel.flux[plane]});
  }
  return dft_visibility(sources, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k) *
         std::polar(1.0, two_pi * c.path_m(row) * k);
}

template <class Out>
struct Result {
  Buffer<std::complex<Out>, 3> data;
  DegridSeconds seconds;
};

template <class Out>
Result<Out> predict(const Case& c, const IdgPlan& plan, DegridSum sum,
                    std::size_t layers_per_pass = 1u << 20) {
  const std::size_t n_row = c.uvw_m.extent(0), n_chan = c.wavenumber.size(), n_planes = c.model.extent(0);
  auto degridder = make_cuda_degridder(gpu, plan, {.n_data_planes = n_planes, .n_threads = 2}, sum);
  Buffer<std::complex<Out>, 3> data({n_row, n_chan, n_planes});
  degridder->set_model(c.model);
  for (std::size_t first = 0; first < plan.n_layers; first += layers_per_pass) {
    degridder->begin_pass({first, std::min(layers_per_pass, plan.n_layers - first)});
    degridder->degrid(c.block(), data);
  }
  return {std::move(data), degridder->seconds()};
}

template <class Out>
double error_of(const Case& c, const Buffer<std::complex<Out>, 3>& data) {
  double error = 0, power = 0;
  for (std::size_t r = 0; r < data.extent(0); r += 3)
    for (std::size_t k = 0; k < data.extent(1); k += 5)
      for (std::size_t p = 0; p < data.extent(2); ++p) {
        const auto want = expected(c, r, k, p);
        error += std::norm(std::complex<double>(data(r, k, p)) - want);
        power += std::norm(want);
      }
  return std::sqrt(error / power);
}

double difference(const Buffer<std::complex<float>, 3>& a, const Buffer<std::complex<float>, 3>& b) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += std::norm(std::complex<double>(a.data()[i]) - std::complex<double>(b.data()[i]));
    power += std::norm(std::complex<double>(b.data()[i]));
  }
  return std::sqrt(error / power);
}

/// Both sums: 4 x RMS of what single precision leaves to each, and the quarter of the accuracy that w may
/// take.
void compare_sums(std::size_t subgrid, std::size_t n_planes, std::size_t n_row, double radius_m,
                  const ImageGeometry& geometry = {512, 480, 40 * asec}) {
  const Case c = make_case(geometry, n_planes, n_row, 7, radius_m, unsigned(subgrid));
  IdgSettings settings;
  settings.subgrid = subgrid;
  settings.kernel_padding = 16;
  const IdgPlan plan = make_idg_plan(c.geometry, settings, c.max_w_lambda, 5000);
  const auto direct = predict<float>(c, plan, DegridSum::direct);
  const auto tensor = predict<float>(c, plan, DegridSum::automatic);
  const double apart = difference(tensor.data, direct.data);
  std::printf(
      "subgrid %zu, %zu planes, w %.0f: direct %.2e, automatic %.2e (%llu of %llu on tensor cores), apart "
      "%.2e\n",
      subgrid, n_planes, c.max_w_lambda, error_of(c, direct.data), error_of(c, tensor.data),
      static_cast<unsigned long long>(tensor.seconds.tensor_visibilities),
      static_cast<unsigned long long>(tensor.seconds.visibilities), apart);
  BOOST_CHECK_LE(apart, 4 * 6e-7 + plan.settings.accuracy / 4);
  BOOST_CHECK_LE(error_of(c, tensor.data), 1e-5);  // that of so few free cells: at most 6.9e-6
}

}  // namespace

/// For compute-sanitizer, which takes a thousand times as long.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  compare_sums(24, 1, 8, 300, {64, 60, 300 * asec});
  compare_sums(32, 4, 8, 300, {64, 60, 300 * asec});
}

BOOST_AUTO_TEST_CASE(sums_of_all_sizes_and_planes_agree_with_float64) {
  // Subgrids of one tile and of several, with and without padding; w from nothing to much.
  for (std::size_t subgrid : {24, 28, 32, 48, 64, 96})
    for (std::size_t n_planes : {1, 2, 4})
      for (double radius_m : {300.0, 3000.0}) compare_sums(subgrid, n_planes, 768, radius_m);
}

BOOST_AUTO_TEST_CASE(sums_of_few_visibilities_agree_with_float64) {
  for (std::size_t subgrid : {24, 44})
    for (std::size_t n_planes : {1, 2, 4}) compare_sums(subgrid, n_planes, 24, 3000);
}

BOOST_AUTO_TEST_CASE(three_planes_in_double_precision_agree_with_float64) {
  const Case c = make_case({300, 255, 90 * asec}, 3, 200, 3, 1500, 5);
  IdgSettings settings;
  settings.precision = Precision::double_;
  const IdgPlan plan = make_idg_plan(c.geometry, settings, c.max_w_lambda, 600);
  for (std::size_t layers : {plan.n_layers, std::size_t(1)}) {
    const double error = error_of(c, predict<double>(c, plan, DegridSum::automatic, layers).data);
    std::printf("double: %.2e\n", error);
    BOOST_CHECK_LE(error, plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(the_whole_sky_agrees_with_float64) {
  const Case c = make_case({128, 128, 2.0 / 125}, 2, 300, 2, 30, 6);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(c.geometry, settings, c.max_w_lambda, 600);
    BOOST_CHECK(plan.w_handling == WHandling::kernel);
    for (std::size_t layers : {plan.n_layers, std::size_t(3)}) {
      const double error = error_of(c, predict<double>(c, plan, DegridSum::automatic, layers).data);
      std::printf("whole sky: %.2e\n", error);
      BOOST_CHECK_LE(error, plan.settings.accuracy);
    }
  }
}

BOOST_AUTO_TEST_CASE(aterms_mixes_and_folded_rows_agree_with_float64) {
  // Jones matrices that are the same over the field make the sum over pixels exact. Circular model planes
  // too: XY = U + iV.
  const std::size_t n_station = 5, n_row = 640, n_chan = 4;
  Case c = make_case({256, 256, 60 * asec}, 4, n_row, n_chan, 900, 7);
  std::mt19937_64 random(8);
  std::normal_distribution<float> gauss;
  Buffer<std::uint32_t, 2> station({n_row, 2});
  Buffer<std::uint32_t, 1> row_slot({n_row}), chan_slot({n_chan});
  for (std::size_t r = 0; r < n_row; ++r) {
    station(r, 0) = std::uint32_t(random() % n_station);
    station(r, 1) = std::uint32_t(random() % n_station);
    row_slot(r) = std::uint32_t(r / 320);
  }
  for (std::size_t k = 0; k < n_chan; ++k) chan_slot(k) = std::uint32_t(k / 2);
  const std::vector<std::array<std::complex<double>, 4>> mix{
      {1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0}, {0, {0, 1}, {0, -1}, 0}};
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 32;
    settings.kernel_padding = 14;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(c.geometry, settings, c.max_w_lambda, 2560);
    Buffer<std::complex<float>, 6> jones({2, 2, n_station, 32, 32, 4});
    Buffer<std::complex<float>, 4> constant({2, 2, n_station, 4});
    for (auto& value : constant) value = {gauss(random), gauss(random)};
    for (std::size_t i = 0; i < jones.size(); ++i)
      jones.data()[i] = constant.data()[i / (32 * 32 * 4) * 4 + i % 4];
    GridBlock block = c.block();
    block.station = station;
    block.aterms = {row_slot, chan_slot, jones};
    auto degridder = make_cuda_degridder(
        gpu, plan, {.n_data_planes = 4, .aterms = AtermMode::adjoint, .mix = mix, .n_threads = 2},
        DegridSum::automatic);
    degridder->set_model(c.model);
    degridder->begin_pass({0, plan.n_layers});
    Buffer<std::complex<double>, 3> data({n_row, n_chan, 4});
    degridder->degrid(block, data);
    double error = 0, power = 0;
    for (std::size_t r = 0; r < n_row; r += 2)
      for (std::size_t k = 0; k < n_chan; ++k) {
        std::complex<double> b[4] = {};
        for (std::size_t s = 0; s < 4; ++s) {
          const auto value = expected(c, r, k, s);
          for (std::size_t corr = 0; corr < 4; ++corr) b[corr] += mix[s][corr] * value;
        }
        auto at = [&](std::size_t side, std::size_t i) {
          return std::complex<double>(constant(row_slot(r), chan_slot(k), station(r, side), i));
        };
        for (std::size_t i = 0; i < 2; ++i)
          for (std::size_t j = 0; j < 2; ++j) {
            std::complex<double> want = 0;
            for (std::size_t a = 0; a < 2; ++a)
              for (std::size_t d = 0; d < 2; ++d)
                want += at(0, 2 * i + a) * b[2 * a + d] * std::conj(at(1, 2 * j + d));
            error += std::norm(data(r, k, 2 * i + j) - want);
            power += std::norm(want);
          }
      }
    std::printf("A-terms: %.2e, %llu on tensor cores\n", std::sqrt(error / power),
                static_cast<unsigned long long>(degridder->seconds().tensor_visibilities));
    BOOST_CHECK_LE(std::sqrt(error / power),
                   precision == Precision::single ? 3e-6 : 1e-8);  // 5.4e-7, 3.3e-9: of 18 free cells
  }
}

BOOST_AUTO_TEST_CASE(weight_zero_is_left_alone) {
  const Case c = make_case({256, 256, 60 * asec}, 1, 200, 3, 800, 9);
  const IdgPlan plan = make_idg_plan(c.geometry, {}, c.max_w_lambda, 600);
  Buffer<float, 3> weight({200, 3, 1});
  Buffer<std::complex<float>, 3> data({200, 3, 1});
  for (std::size_t i = 0; i < weight.size(); ++i) {
    weight.data()[i] = i % 7 == 0 ? 0.0f : 1.0f;
    data.data()[i] = i % 7 == 0 ? NAN : 0.0f;
  }
  GridBlock block = c.block();
  block.weight = weight;
  auto degridder = make_cuda_degridder(gpu, plan, {}, DegridSum::automatic);
  degridder->set_model(c.model);
  degridder->begin_pass({0, plan.n_layers});
  const GridCounts counts = degridder->degrid(block, data);
  BOOST_CHECK_EQUAL(counts.n_visibilities, 600 - (600 + 6) / 7);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (i % 7 == 0) {
      BOOST_CHECK(std::isnan(data.data()[i].real()));
    } else {
      BOOST_CHECK_SMALL(std::abs(std::complex<double>(data.data()[i]) - expected(c, i / 3, i % 3, 0)), 1e-4);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
