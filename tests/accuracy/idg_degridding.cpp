// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities predicted by image-domain degridding against the float64 sum over the model's pixels.
// tests/gpu/idg_degridding.cpp runs the same tests on a GPU.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#ifndef APSYN_TEST_CUDA
#include <hwy/targets.h>
#endif

#include "kernels/idg/idg.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using namespace apsyn::reference;

namespace {

using Complex = std::complex<double>;
constexpr double pi = 3.14159265358979323846;
constexpr double asec = 4.84813681109536e-6;

/// An array of random stations on rolling ground, observed low in the sky so that w is large.
struct Coverage {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  double max_w_lambda = 0;

  std::size_t n_row() const { return uvw_m.extent(0); }
  std::size_t n_chan() const { return wavenumber.size(); }
  GridBlock block() const { return {uvw_m, {}, wavenumber, {}, {}, {}, {}}; }
};

Coverage cover(std::size_t n_row, std::size_t n_chan, double radius_m, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(0, 1);
  Coverage c;
  c.uvw_m.resize({n_row, 3});
  c.wavenumber.resize({n_chan});
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    c.wavenumber(chan) = (150e6 + 0.32e6 * static_cast<double>(chan)) / 299792458.0;
  for (std::size_t r = 0; r < n_row; ++r) {
    const double length = radius_m * std::pow(flat(random), 2), angle = 2 * pi * flat(random);
    const double east = length * std::cos(angle), north = length * std::sin(angle), up = 2 * gauss(random);
    c.uvw_m(r, 0) = east;
    c.uvw_m(r, 1) = north * std::cos(0.9) - up * std::sin(0.9);
    c.uvw_m(r, 2) = north * std::sin(0.9) + up * std::cos(0.9);
    c.max_w_lambda = std::max(c.max_w_lambda, std::abs(c.uvw_m(r, 2) * c.wavenumber(n_chan - 1)));
  }
  return c;
}

double pixel_l(const ImageGeometry& g, std::size_t x) {
  return (static_cast<double>(g.n_x / 2) - static_cast<double>(x)) * g.cell_rad;
}
double pixel_m(const ImageGeometry& g, std::size_t y) {
  return (static_cast<double>(y) - static_cast<double>(g.n_y / 2)) * g.cell_rad;
}

/// Pixels of random flux over the whole image, in its corners too; NaN beyond the horizon.
Buffer<double, 3> model_image(const ImageGeometry& g, std::size_t n_planes, std::size_t n_pixels,
                              unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> flux(-1, 1);
  Buffer<double, 3> image({n_planes, g.n_y, g.n_x});
  for (std::size_t plane = 0; plane < n_planes; ++plane) {
    for (std::size_t i = 0; i < n_pixels; ++i)
      image(plane, random() % g.n_y, random() % g.n_x) = flux(random);
    for (std::size_t y : {std::size_t{0}, g.n_y - 1})
      for (std::size_t x : {std::size_t{0}, g.n_x - 1}) image(plane, y, x) = flux(random);
    for (std::size_t y = 0; y < g.n_y; ++y)
      for (std::size_t x = 0; x < g.n_x; ++x)
        if (std::hypot(pixel_l(g, x), pixel_m(g, y)) >= 1) image(plane, y, x) = NAN;
  }
  return image;
}

std::vector<DftSource> sources_of(const View<const double, 2>& image, const ImageGeometry& g) {
  std::vector<DftSource> sources;
  for (std::size_t y = 0; y < g.n_y; ++y)
    for (std::size_t x = 0; x < g.n_x; ++x)
      if (std::isfinite(image(y, x)) && image(y, x) != 0)
        sources.push_back({pixel_l(g, x), pixel_m(g, y), image(y, x)});
  return sources;
}

template <class Out>
Buffer<std::complex<Out>, 3> predict(const Coverage& c, const IdgPlan& plan, const Buffer<double, 3>& model,
                                     unsigned threads, std::size_t layers_per_pass = 1u << 20) {
  auto degridder =
      make_degridder(test_device(), plan, {.n_data_planes = model.extent(0), .n_threads = threads});
  degridder->set_model(model);
  Buffer<std::complex<Out>, 3> data({c.n_row(), c.n_chan(), model.extent(0)});
  for (std::size_t first = 0; first < plan.n_layers; first += layers_per_pass) {
    degridder->begin_pass(first, std::min(layers_per_pass, plan.n_layers - first));
    degridder->degrid(c.block(), data);
  }
  return data;
}

/// Relative RMS over the visibilities of one plane, at most about n of them.
template <class Out>
double prediction_error(const Coverage& c, const Buffer<std::complex<Out>, 3>& data, std::size_t plane,
                        const std::vector<DftSource>& sources, std::size_t n) {
  const std::size_t step = std::max<std::size_t>(1, c.n_row() * c.n_chan() / n);
  double error = 0, power = 0;
  for (std::size_t i = 0; i < c.n_row() * c.n_chan(); i += step) {
    const std::size_t row = i / c.n_chan(), chan = i % c.n_chan();
    const double k = c.wavenumber(chan);
    const Complex want =
        dft_visibility(sources, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k);
    error += std::norm(Complex(data(row, chan, plane)) - want);
    power += std::norm(want);
  }
  return std::sqrt(error / power);
}

/// |<A x, y> - <x, A^H y>| / (|A x| |y|), A^H being the CPU's gridder.
double adjoint_difference(const Buffer<double, 3>& x, const Buffer<Complex, 3>& ax,
                          const Buffer<std::complex<float>, 3>& y, const Buffer<double, 3>& ahy) {
  double left = 0, right = 0, norm_ax = 0, norm_y = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    left += std::real(ax.data()[i] * std::conj(Complex(y.data()[i])));
    norm_ax += std::norm(ax.data()[i]);
    norm_y += std::norm(Complex(y.data()[i]));
  }
  for (std::size_t i = 0; i < x.size(); ++i) right += x.data()[i] * ahy.data()[i];
  return std::abs(left - right) / std::sqrt(norm_ax * norm_y);
}

}  // namespace

BOOST_AUTO_TEST_CASE(wide_field_at_the_papers_settings) {
  // Hodgson 2025: 8.3 degrees, padding 1.5, subgrid 96, kernel padding 18; w to 1500 lambda.
  const auto c = cover(1500, 4, 4000, 1);
  const ImageGeometry geometry{1000, 930, 30 * asec};
  const auto model = model_image(geometry, 1, 2000, 11);
  const auto sources = sources_of(model.view()[0], geometry);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 96;
    settings.kernel_padding = 18;
    settings.padding = 1.5;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 6000);
    const double error = prediction_error(c, predict<double>(c, plan, model, 2), 0, sources, 1500);
    std::printf("error %.2e, largest w %.0f wavelengths\n", error, c.max_w_lambda);
    // 1.8e-6 and 8.6e-11: the subgrid's 18 free cells leave no less to sources all over a field padded
    // by 1.5.
    BOOST_CHECK_LE(error, precision == Precision::single ? 5e-6 : 2e-10);
  }
}

BOOST_AUTO_TEST_CASE(every_accuracy_step_holds) {
  const auto c = cover(600, 3, 1500, 2);
  const ImageGeometry geometry{300, 255, 90 * asec};
  const auto model = model_image(geometry, 1, 800, 12);
  const auto sources = sources_of(model.view()[0], geometry);
  for (TaperKind taper : {TaperKind::pswf, TaperKind::kaiser_bessel})
    for (int exponent = 1; exponent <= 12; exponent += taper == TaperKind::pswf ? 1 : 3) {
      IdgSettings settings;
      settings.accuracy = std::pow(10, -exponent);
      settings.taper = taper;
      settings.precision = precision_for(settings.accuracy);
      const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
      const double error = prediction_error(c, predict<double>(c, plan, model, 2), 0, sources, 600);
      std::printf("accuracy %.0e: error %.2e (subgrid %zu, kernel padding %zu, %zu layers, %zu terms)\n",
                  settings.accuracy, error, plan.settings.subgrid, plan.settings.kernel_padding,
                  plan.n_layers, plan.n_terms);
      BOOST_CHECK_LE(error, settings.accuracy);
    }
}

BOOST_AUTO_TEST_CASE(whole_sky_to_the_horizon) {
  // Corners beyond the horizon; n has no bounded slope, so w is spread over layers by the kernel.
  const auto c = cover(800, 2, 30, 3);
  const ImageGeometry geometry{128, 128, 2.0 / 125};
  const auto model = model_image(geometry, 1, 400, 13);
  const auto sources = sources_of(model.view()[0], geometry);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1600);
    BOOST_CHECK(plan.w_handling == WHandling::kernel);
    const auto one = predict<double>(c, plan, model, 2);
    const double error = prediction_error(c, one, 0, sources, 1600);
    std::printf("whole sky: error %.2e, %zu layers\n", error, plan.n_layers);
    BOOST_CHECK_LE(error, plan.settings.accuracy);  // 9.1e-7, 1.1e-11
    // Each pass adds what its layers contribute.
    const auto passes = predict<double>(c, plan, model, 2, 3);
    BOOST_CHECK_LE(prediction_error(c, passes, 0, sources, 1600), plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(planes_odd_sizes_path_and_flags) {
  // Every number of planes, an odd image larger in x, rows moved by a path; what is flagged in all planes and
  // what was there before stay.
  const auto c = cover(300, 3, 800, 4);
  Buffer<double, 1> path({300});
  for (std::size_t r = 0; r < 300; ++r) path(r) = 0.01 * static_cast<double>(r) - 1;
  const ImageGeometry geometry{201, 133, 120 * asec};
  IdgSettings settings;
  settings.precision = Precision::double_;
  const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 900);
  for (std::size_t n_planes : {1, 2, 3, 4}) {
    const auto model = model_image(geometry, n_planes, 50, 14);
    Buffer<float, 3> weight({300, 3, n_planes});
    std::mt19937_64 random(5);
    for (float& w : weight) w = random() % 3 == 0 ? 0.f : 2.f;
    auto degridder = make_degridder(test_device(), plan, {.n_data_planes = n_planes, .n_threads = 2});
    degridder->set_model(model);
    degridder->begin_pass(0, plan.n_layers);
    Buffer<Complex, 3> data({300, 3, n_planes});
    data.fill({7, -3});
    GridBlock block = c.block();
    block.path_m = path;
    block.weight = weight;
    const GridCounts counts = degridder->degrid(block, data);
    double error = 0, power = 0;
    std::size_t n_flagged = 0;
    for (std::size_t plane = 0; plane < n_planes; ++plane) {
      const auto sources = sources_of(model.view()[plane], geometry);
      for (std::size_t r = 0; r < 300; ++r)
        for (std::size_t chan = 0; chan < 3; ++chan) {
          bool flagged = true;
          for (std::size_t p = 0; p < n_planes; ++p) flagged = flagged && weight(r, chan, p) == 0;
          const Complex added = data(r, chan, plane) - Complex(7, -3);
          if (flagged) {
            n_flagged += plane == 0;
            BOOST_CHECK(added == Complex(0));
            continue;
          }
          const double k = c.wavenumber(chan);
          const Complex want =
              dft_visibility(sources, c.uvw_m(r, 0) * k, c.uvw_m(r, 1) * k, c.uvw_m(r, 2) * k) *
              std::polar(1.0, 2 * pi * path(r) * k);
          error += std::norm(added - want);
          power += std::norm(want);
        }
    }
    BOOST_CHECK_EQUAL(counts.n_visibilities, 900 - n_flagged);
    BOOST_CHECK_GT(n_flagged, 0u);
    BOOST_CHECK_LE(std::sqrt(error / power), plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(threads_and_passes) {
  const auto c = cover(2000, 4, 3000, 6);
  const ImageGeometry geometry{512, 512, 45 * asec};
  const auto model = model_image(geometry, 2, 500, 16);
  const IdgPlan plan = make_idg_plan(geometry, {.subgrid = 32, .kernel_padding = 16}, c.max_w_lambda, 8000);
  const auto one = predict<float>(c, plan, model, 1);
  for (unsigned threads : {2u, 4u, 7u}) {
    const auto other = predict<float>(c, plan, model, threads);
    BOOST_CHECK_EQUAL(std::memcmp(one.data(), other.data(), one.size() * sizeof(*one.data())), 0);
  }
  BOOST_REQUIRE_GT(plan.n_layers, 1u);
  const auto passes = predict<float>(c, plan, model, 2, 1);
  BOOST_CHECK_EQUAL(std::memcmp(one.data(), passes.data(), one.size() * sizeof(*one.data())), 0);
}

BOOST_AUTO_TEST_CASE(adjoint_of_the_gridder) {
  const auto c = cover(1500, 3, 1500, 7);
  const ImageGeometry geometry{250, 231, 90 * asec};
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    if (precision == Precision::double_) settings.accuracy = 1e-12;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 4500);
    const auto x = model_image(geometry, 1, 20000, 17);
    const auto ax = predict<double>(c, plan, x, 2);
    std::mt19937_64 random(18);
    std::normal_distribution<float> gauss;
    Buffer<std::complex<float>, 3> y({1500, 3, 1});
    for (auto& value : y) value = {gauss(random), gauss(random)};
    Buffer<float, 3> weight({1500, 3, 1});
    weight.fill(1);
    auto gridder = make_gridder({}, plan, {.n_threads = 2});
    GridBlock block = c.block();
    block.data = y;
    block.weight = weight;
    gridder->begin_pass(0, plan.n_layers);
    gridder->grid(block);
    gridder->end_pass();
    const auto ahy = gridder->take_images();
    const double difference = adjoint_difference(x, ax, y, ahy);
    std::printf("adjointness %.2e\n", difference);
    BOOST_CHECK_LE(difference, precision == Precision::single ? 1e-5 : 1e-12);
  }
}

namespace {

using Jones = std::array<Complex, 4>;

/// Smooth over the field, different for every station, time and channel slot, with leakage.
Jones exact_jones(std::size_t row_slot, std::size_t chan_slot, std::size_t station, double l, double m) {
  const double s = static_cast<double>(station) + 1, t = static_cast<double>(row_slot),
               f = static_cast<double>(chan_slot);
  const Complex turn = std::polar(1.0, 4 * s * l - 3 * t * m + f * l * m + 0.5 * s);
  const double beam = 1 - 2 * (l * l + m * m) * (1 + 0.2 * t), leak = 0.1 * s * (l - 2 * m + 0.1);
  return {beam * turn, leak * Complex(0.3, 1 + f), leak * Complex(1 - t, 0.2), 0.9 * beam * std::conj(turn)};
}

Jones product(const Jones& a, const Jones& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}
Jones adjoint(const Jones& a) {
  return {std::conj(a[0]), std::conj(a[2]), std::conj(a[1]), std::conj(a[3])};
}

/// Stations, slots and their Jones matrices on the coarse pixels of a plan.
struct Aterms {
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> row_slot, chan_slot;
  Buffer<std::complex<float>, 6> jones;

  Aterms(const Coverage& c, const IdgPlan& plan) {
    constexpr std::size_t n_row_slots = 2, n_chan_slots = 2, n_stations = 4;
    const std::size_t side = plan.settings.subgrid;
    station.resize({c.n_row(), 2});
    row_slot.resize({c.n_row()});
    chan_slot.resize({c.n_chan()});
    jones.resize({n_row_slots, n_chan_slots, n_stations, side, side, 4});
    for (std::size_t row = 0; row < c.n_row(); ++row) {
      station(row, 0) = static_cast<std::uint32_t>(row % n_stations);
      station(row, 1) = static_cast<std::uint32_t>((row / n_stations) % n_stations);
      row_slot(row) = row < c.n_row() / 3 ? 0 : 1;
    }
    for (std::size_t chan = 0; chan < c.n_chan(); ++chan) chan_slot(chan) = chan == 0 ? 0 : 1;
    const double middle = (static_cast<double>(side) - 1) / 2;
    for (std::size_t t = 0; t < n_row_slots; ++t)
      for (std::size_t f = 0; f < n_chan_slots; ++f)
        for (std::size_t s = 0; s < n_stations; ++s)
          for (std::size_t y = 0; y < side; ++y)
            for (std::size_t x = 0; x < side; ++x) {
              const Jones exact =
                  exact_jones(t, f, s, (middle - static_cast<double>(x)) * plan.coarse_l_rad(),
                              (static_cast<double>(y) - middle) * plan.coarse_m_rad());
              for (std::size_t i = 0; i < 4; ++i) jones(t, f, s, y, x, i) = std::complex<float>(exact[i]);
            }
  }
  void into(GridBlock& block) const {
    block.station = station;
    block.aterms = {row_slot, chan_slot, jones};
  }
};

/// I Q U V to XX XY YX YY.
const std::vector<std::array<Complex, 4>> stokes_to_corr{
    {1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0}, {0, Complex(0, 1), Complex(0, -1), 0}};

Buffer<Complex, 3> predict_seen(const Coverage& c, const IdgPlan& plan, const Aterms& aterms,
                                const Buffer<double, 3>& model) {
  auto degridder = make_degridder(
      test_device(), plan,
      {.n_data_planes = 4, .aterms = AtermMode::adjoint, .mix = stokes_to_corr, .n_threads = 2});
  degridder->set_model(model);
  degridder->begin_pass(0, plan.n_layers);
  GridBlock block = c.block();
  aterms.into(block);
  Buffer<Complex, 3> data({c.n_row(), c.n_chan(), 4});
  degridder->degrid(block, data);
  return data;
}

}  // namespace

BOOST_AUTO_TEST_CASE(aterms_of_every_station_and_slot) {
  const auto c = cover(600, 3, 1500, 8);
  const ImageGeometry geometry{200, 220, 120 * asec};
  const auto model = model_image(geometry, 4, 30, 19);
  std::vector<std::vector<DftSource>> sources;
  for (std::size_t stokes = 0; stokes < 4; ++stokes)
    sources.push_back(sources_of(model.view()[stokes], geometry));
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 48;
    settings.kernel_padding = 28;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
    const Aterms aterms(c, plan);
    const auto data = predict_seen(c, plan, aterms, model);
    double error = 0, power = 0;
    for (std::size_t row = 0; row < c.n_row(); ++row)
      for (std::size_t chan = 0; chan < c.n_chan(); ++chan) {
        const double k = c.wavenumber(chan);
        Jones want{};
        for (std::size_t stokes = 0; stokes < 4; ++stokes)
          for (const DftSource& source : sources[stokes]) {
            const Complex value =
                dft_visibility({source}, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k);
            Jones brightness;
            for (std::size_t i = 0; i < 4; ++i) brightness[i] = stokes_to_corr[stokes][i] * value;
            auto jones = [&](std::size_t end) {
              return exact_jones(aterms.row_slot(row), aterms.chan_slot(chan), aterms.station(row, end),
                                 source.l, source.m);
            };
            const Jones seen = product(product(jones(0), brightness), adjoint(jones(1)));
            for (std::size_t i = 0; i < 4; ++i) want[i] += seen[i];
          }
        for (std::size_t i = 0; i < 4; ++i) {
          error += std::norm(data(row, chan, i) - want[i]);
          power += std::norm(want[i]);
        }
      }
    std::printf("A-terms: error %.2e\n", std::sqrt(error / power));
    // 3.2e-6: a flat taper and the A-terms' own width; 8.4e-8: Jones matrices of float32.
    BOOST_CHECK_LE(std::sqrt(error / power), precision == Precision::single ? 1e-5 : 2e-7);
  }
}

BOOST_AUTO_TEST_CASE(adjoint_of_the_gridder_with_aterms) {
  const auto c = cover(600, 3, 1500, 9);
  const ImageGeometry geometry{150, 141, 150 * asec};
  const auto x = model_image(geometry, 4, 5000, 20);
  std::vector<std::array<Complex, 4>> corr_to_stokes = stokes_to_corr;
  for (auto& plane : corr_to_stokes)
    for (Complex& factor : plane) factor = std::conj(factor);
  std::mt19937_64 random(21);
  std::normal_distribution<float> gauss;
  Buffer<std::complex<float>, 3> y({c.n_row(), c.n_chan(), 4});
  for (auto& value : y) value = {gauss(random), gauss(random)};
  Buffer<float, 3> weight({c.n_row(), c.n_chan(), 4});
  weight.fill(1);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    if (precision == Precision::double_) settings.accuracy = 1e-12;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
    const Aterms aterms(c, plan);
    GridBlock block = c.block();
    aterms.into(block);
    IdgSetup setup{.n_data_planes = 4, .aterms = AtermMode::adjoint, .mix = stokes_to_corr, .n_threads = 2};
    auto degridder = make_degridder(test_device(), plan, setup);
    degridder->set_model(x);
    degridder->begin_pass(0, plan.n_layers);
    Buffer<Complex, 3> ax({c.n_row(), c.n_chan(), 4});
    degridder->degrid(block, ax);
    setup.mix = corr_to_stokes;
    auto gridder = make_gridder({}, plan, setup);
    block.data = y;
    block.weight = weight;
    gridder->begin_pass(0, plan.n_layers);
    gridder->grid(block);
    gridder->end_pass();
    const auto ahy = gridder->take_images();
    const double difference = adjoint_difference(x, ax, y, ahy);
    std::printf("adjointness with A-terms %.2e\n", difference);
    BOOST_CHECK_LE(difference, precision == Precision::single ? 1e-5 : 1e-12);
  }
}

#ifndef APSYN_TEST_CUDA
namespace {

double relative_rms(const Buffer<Complex, 3>& got, const Buffer<Complex, 3>& want) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::norm(got.data()[i] - want.data()[i]);
    power += std::norm(want.data()[i]);
  }
  return std::sqrt(error / power);
}

}  // namespace

BOOST_AUTO_TEST_CASE(instruction_sets_agree) {
  const auto c = cover(200, 3, 1500, 10);
  const ImageGeometry geometry{100, 110, 200 * asec};
  const auto model = model_image(geometry, 4, 100, 22);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 600);
    const Aterms aterms(c, plan);
    const auto seen = predict_seen(c, plan, aterms, model), plain = predict<double>(c, plan, model, 2);
    for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SSSE3}) {
      hwy::SetSupportedTargetsForTest(0);
      if ((hwy::SupportedTargets() & target) == 0) continue;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().DeInit();
      // 8.7e-7, 3.3e-15: SSE has no fused multiply-add.
      const double wanted = precision == Precision::single ? 5e-6 : 1e-13;
      BOOST_TEST_CONTEXT(hwy::TargetName(target)) {
        BOOST_CHECK_LE(relative_rms(predict_seen(c, plan, aterms, model), seen), wanted);
        BOOST_CHECK_LE(relative_rms(predict<double>(c, plan, model, 2), plain), wanted);
      }
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
}
#endif
