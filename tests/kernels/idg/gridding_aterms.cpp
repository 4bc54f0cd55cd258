// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding with A-terms against the float64 sum over visibilities with the Jones matrices of each pixel's own
// direction; and the average beam.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "kernels/idg/aterms/average_beam.h"
#include "kernels/idg/idg.h"
#include "tests/kernels/idg/grid_place.h"
#include "tests/reference/aterm_image.h"
#include "tests/reference/test_device.h"
#include "tests/support/grid_rows.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(gridding_aterms)

namespace {

using Complex = std::complex<double>;
constexpr double asec = 4.84813681109536e-6, pi = 3.14159265358979323846;
constexpr std::size_t n_station = 6, n_row_slot = 2, n_chan_slot = 2, n_chan = 6;

const std::vector<std::array<Complex, 4>> stokes{
    {0.5, 0, 0, 0.5}, {0.5, 0, 0, -0.5}, {0, 0.5, 0.5, 0}, {0, Complex(0, -0.5), Complex(0, 0.5), 0}};

/// Stations in all pairs, over and over, of slots of time and of channels.
struct Observation : support::GridRows {
  std::size_t slot(std::size_t row, std::size_t chan) const {
    return row_slot.data()[row] * n_chan_slot + chan_slot.data()[chan];
  }
  /// Fills jones for as many responses, those of the stations unless `response` says otherwise.
  void sample(const IdgPlan& plan, const AtermFunction& aterm, std::size_t n_response = n_station) {
    const std::size_t side = plan.settings.subgrid;
    jones.resize({n_row_slot, n_chan_slot, n_response, side, side, 4});
    const double middle = (static_cast<double>(side) - 1) / 2;
    for (std::size_t s = 0; s < n_row_slot * n_chan_slot; ++s)
      for (std::size_t station_ = 0; station_ < n_response; ++station_)
        for (std::size_t y = 0; y < side; ++y)
          for (std::size_t x = 0; x < side; ++x) {
            const AtermMatrix a = aterm(station_, s, (middle - static_cast<double>(x)) * plan.coarse_l_rad(),
                                        (static_cast<double>(y) - middle) * plan.coarse_m_rad());
            for (std::size_t i = 0; i < 4; ++i)
              jones(s / n_chan_slot, s % n_chan_slot, station_, y, x, i) =
                  std::complex<float>(a[i / 2][i % 2]);
          }
  }
  std::vector<AtermVisibility> flat() const {
    std::vector<AtermVisibility> all;
    for (std::size_t r = 0; r < uvw_m.extent(0); ++r)
      for (std::size_t c = 0; c < n_chan; ++c) {
        const double k = wavenumber.data()[c];
        AtermMatrix weighted{};
        for (std::size_t i = 0; i < 4; ++i)
          if (weight(r, c, i) != 0)
            weighted[i / 2][i % 2] = Complex(data(r, c, i)) * static_cast<double>(weight(r, c, i));
        all.push_back({uvw_m(r, 0) * k, uvw_m(r, 1) * k, uvw_m(r, 2) * k, weighted, station(r, 0),
                       station(r, 1), slot(r, c)});
      }
    return all;
  }
};

Observation observe(std::size_t n_time, double radius_m, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(0, 1);
  double place[n_station][3];
  for (auto& p : place)
    for (int axis = 0; axis < 3; ++axis) p[axis] = gauss(random) * radius_m * (axis == 2 ? 0.02 : 1);
  const std::size_t n_row = n_time * n_station * (n_station - 1) / 2;
  Observation o;
  o.uvw_m.resize({n_row, 3});
  o.wavenumber.resize({n_chan});
  o.data.resize({n_row, n_chan, 4});
  o.weight.resize({n_row, n_chan, 4});
  o.station.resize({n_row, 2});
  o.row_slot.resize({n_row});
  o.chan_slot.resize({n_chan});
  for (std::size_t c = 0; c < n_chan; ++c) {
    o.wavenumber(c) = (150e6 + 0.32e6 * static_cast<double>(c)) / 299792458.0;
    o.chan_slot(c) = c < 4 ? 0 : 1;
  }
  std::size_t r = 0;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::uint32_t p = 0; p < n_station; ++p)
      for (std::uint32_t q = p + 1; q < n_station; ++q, ++r) {
        const double angle = 0.02 * static_cast<double>(t);
        double b[3];
        for (int axis = 0; axis < 3; ++axis) b[axis] = place[p][axis] - place[q][axis];
        const double east = b[0] * std::cos(angle) + b[1] * std::sin(angle),
                     north = b[1] * std::cos(angle) - b[0] * std::sin(angle);
        o.uvw_m(r, 0) = east;
        o.uvw_m(r, 1) = north * std::cos(0.9) - b[2] * std::sin(0.9);
        o.uvw_m(r, 2) = north * std::sin(0.9) + b[2] * std::cos(0.9);
        o.station(r, 0) = p;
        o.station(r, 1) = q;
        o.row_slot(r) = t < n_time / 3 ? 0 : 1;
        for (std::size_t c = 0; c < n_chan; ++c) {
          o.max_w_lambda = std::max(o.max_w_lambda, std::abs(o.uvw_m(r, 2) * o.wavenumber(c)));
          for (std::size_t i = 0; i < 4; ++i) {
            o.data(r, c, i) = std::complex<float>(Complex(gauss(random), gauss(random)));
            o.weight(r, c, i) = static_cast<float>(flat(random) < 0.1 ? 0 : 0.5 + flat(random));
            if (o.weight(r, c, i) == 0) o.data(r, c, i) = NAN;
          }
        }
      }
  return o;
}

/// A beam that differs from station to station and slot to slot, a Fourier series of at most one turn across
/// the padded field: what adjoint gridding makes of it is held by two uv cells on each side.
AtermMatrix trigonometric(std::size_t station, std::size_t slot, double l, double m, double width) {
  const double seed = static_cast<double>(station) + 10 * static_cast<double>(slot), x = l / width,
               y = m / width;
  auto wave = [&](double kx, double ky, double phase) {
    return std::polar(1.0, 2 * pi * (kx * x + ky * y) + phase);
  };
  return {
      {{1.0 + 0.3 * wave(0.8, 0.3, seed) + 0.1 * wave(-0.5, 0.9, 2 * seed), 0.1 * wave(0.6, -0.7, 3 * seed)},
       {0.15 * wave(-0.4, 0.5, 5 * seed), 0.9 + 0.25 * wave(-0.7, -0.6, 7 * seed)}}};
}

/// The same in all directions, and numbers of float32.
AtermMatrix constant(std::size_t station, std::size_t slot) {
  std::mt19937_64 random(station * 17 + slot);
  auto number = [&] { return static_cast<double>(random() % 256) / 128 - 1; };
  AtermMatrix a{};
  for (std::size_t i = 0; i < 4; ++i) {
    const double re = number() + (i % 3 == 0 ? 2 : 0);
    a[i / 2][i % 2] = Complex(re, number());
  }
  return a;
}

struct Errors {
  double worst_plane = 0, psf = 0;
  std::uint64_t n_subgrids = 0;
};

/// Relative RMS over random pixels of every Stokes plane, and of the PSF.
Errors grid_errors(const Observation& o, const IdgPlan& plan, AtermMode mode, const AtermFunction& aterm,
                   const std::vector<std::array<Complex, 4>>& mix = stokes) {
  auto gridder = make_gridder(test_device(), plan,
                              {.n_data_planes = 4,
                               .psf = PsfPlane::last,
                               .aterms = mode,
                               .mix = mix,
                               .n_threads = 2,
                               .grid_memory = test_grid_memory()});
  gridder->begin_pass({0, plan.n_layers});
  const GridCounts counts = gridder->grid(o.block());
  gridder->end_pass();
  const auto image = gridder->take_images();
  BOOST_REQUIRE_EQUAL(image.extent(0), 5u);
  std::mt19937_64 random(7);
  std::vector<DftPixel> pixels;
  std::vector<std::array<std::size_t, 2>> where;
  const ImageGeometry& g = plan.image;
  while (pixels.size() < 60) {
    const std::size_t x = random() % g.n_x, y = random() % g.n_y;
    const double l = support::pixel_l(g, x), m = support::pixel_m(g, y);
    if (l * l + m * m >= 1) continue;
    where.push_back({y, x});
    pixels.push_back({l, m});
  }
  const auto sky = aterm_image(o.flat(), pixels, aterm, mode == AtermMode::normalised);
  std::vector<DftVisibility> ones;
  for (std::size_t r = 0; r < o.uvw_m.extent(0); ++r)
    for (std::size_t c = 0; c < n_chan; ++c) {
      const double k = o.wavenumber.data()[c];
      ones.push_back({o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k, double(o.weight(r, c, 0))});
    }
  const auto psf = dft_image(ones, pixels);
  Errors errors;
  errors.n_subgrids = counts.n_subgrids;
  for (std::size_t plane = 0; plane < 5; ++plane) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      Complex want = plane == 4 ? psf[i] : 0;
      for (std::size_t c = 0; c < 4 && plane < 4; ++c) want += mix[plane][c] * sky[i][c / 2][c % 2];
      error += std::pow(image(plane, where[i][0], where[i][1]) - want.real(), 2);
      power += want.real() * want.real();
    }
    double& worst = plane == 4 ? errors.psf : errors.worst_plane;
    worst = std::max(worst, std::sqrt(error / power));
  }
  return errors;
}

IdgPlan plan_for(const ImageGeometry& geometry, Precision precision, double max_w_lambda,
                 double accuracy = 0) {
  IdgSettings settings;
  settings.accuracy = accuracy;
  settings.precision = precision;
  settings.subgrid = 40;
  settings.kernel_padding = precision == Precision::single ? 20 : 30;
  settings.aterm_cells = 8;
  return make_idg_plan(geometry, settings, max_w_lambda, 5000);
}

}  // namespace

BOOST_AUTO_TEST_CASE(constant_aterms_keep_every_accuracy) {
  // Nothing is interpolated, so that every wanted accuracy holds.
  const auto o = observe(12, 400, 1);
  const auto aterm = [](std::size_t station, std::size_t slot, double, double) {
    return constant(station, slot);
  };
  for (Precision precision : {Precision::single, Precision::double_})
    for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint}) {
      const IdgPlan plan = plan_for({150, 121, 120 * asec}, precision, o.max_w_lambda);
      Observation sampled = observe(12, 400, 1);
      sampled.sample(plan, aterm);
      const Errors errors = grid_errors(sampled, plan, mode, aterm);
      std::printf("constant matrices: error %.2e, PSF %.2e\n", errors.worst_plane, errors.psf);
      BOOST_CHECK_LE(errors.worst_plane, plan.settings.accuracy);
      BOOST_CHECK_LE(errors.psf, plan.settings.accuracy);
    }
}

BOOST_AUTO_TEST_CASE(beams_are_corrected_for) {
  auto o = observe(12, 400, 2);
  for (Precision precision : {Precision::single, Precision::double_}) {
    const IdgPlan plan = plan_for({150, 121, 120 * asec}, precision, o.max_w_lambda);
    const double width = static_cast<double>(plan.n_u) * plan.image.cell_rad;
    const auto aterm = [&](std::size_t station, std::size_t slot, double l, double m) {
      return trigonometric(station, slot, l, m, width);
    };
    o.sample(plan, aterm);
    const Errors adjoint = grid_errors(o, plan, AtermMode::adjoint, aterm);
    const Errors normalised = grid_errors(o, plan, AtermMode::normalised, aterm);
    std::printf("beams: adjoint %.2e, normalised %.2e, PSF %.2e\n", adjoint.worst_plane,
                normalised.worst_plane, adjoint.psf);
    // The matrices are float32, 6e-8. Measured: 1.7e-6 and 8.9e-8 adjoint, 1.9e-6 and 4.9e-8 normalised.
    BOOST_CHECK_LE(adjoint.worst_plane, precision == Precision::single ? 3e-6 : 1e-7);
    BOOST_CHECK_LE(normalised.worst_plane, precision == Precision::single ? 1e-5 : 1e-6);
    BOOST_CHECK_LE(adjoint.psf, plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(like_stations_are_gridded_together) {
  // Two kinds of stations, and one that is of the other kind in the last slot. Planes XY and YX, which a
  // folded visibility exchanges, must not be joined with those of others.
  const std::vector<std::array<Complex, 4>> correlations{
      {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  auto o = observe(12, 40, 6);  // baselines so short that they meet
  const auto kind = [](std::size_t station, std::size_t slot) -> std::size_t {
    return station % 3 == 0 || (station == 1 && slot == 3) ? 1 : 0;
  };
  for (Precision precision : {Precision::single, Precision::double_}) {
    const IdgPlan plan = plan_for({150, 121, 120 * asec}, precision, o.max_w_lambda);
    const double width = static_cast<double>(plan.n_u) * plan.image.cell_rad;
    const auto of_kind = [&](std::size_t which, std::size_t slot, double l, double m) {
      return trigonometric(which, slot, l, m, width);
    };
    const auto aterm = [&](std::size_t station, std::size_t slot, double l, double m) {
      return of_kind(kind(station, slot), slot, l, m);
    };
    o.response.resize({0, 0, 0});
    o.sample(plan, aterm);
    const Errors own = grid_errors(o, plan, AtermMode::adjoint, aterm);
    o.sample(plan, of_kind, 2);
    o.response.resize({n_row_slot, n_chan_slot, n_station});
    for (std::size_t slot = 0; slot < n_row_slot * n_chan_slot; ++slot)
      for (std::size_t station = 0; station < n_station; ++station)
        o.response(slot / n_chan_slot, slot % n_chan_slot, station) =
            static_cast<std::uint32_t>(kind(station, slot));
    const Errors adjoint = grid_errors(o, plan, AtermMode::adjoint, aterm),
                 normalised = grid_errors(o, plan, AtermMode::normalised, aterm),
                 apart = grid_errors(o, plan, AtermMode::adjoint, aterm, correlations);
    std::printf(
        "like stations: adjoint %.2e, normalised %.2e, correlations %.2e, PSF %.2e; %llu, %llu of %llu "
        "subgrids\n",
        adjoint.worst_plane, normalised.worst_plane, apart.worst_plane, adjoint.psf,
        static_cast<unsigned long long>(adjoint.n_subgrids),
        static_cast<unsigned long long>(apart.n_subgrids), static_cast<unsigned long long>(own.n_subgrids));
    BOOST_TEST(adjoint.n_subgrids < apart.n_subgrids);
    BOOST_TEST(apart.n_subgrids < own.n_subgrids);
    if (test_device().kind == Device::Kind::cpu)  // tasks of other A-terms on the same cells are one subgrid
      BOOST_TEST(2 * normalised.n_subgrids < adjoint.n_subgrids);
    for (const Errors& errors : {adjoint, apart})
      BOOST_CHECK_LE(errors.worst_plane, precision == Precision::single ? 3e-6 : 1e-7);
    BOOST_CHECK_LE(normalised.worst_plane, precision == Precision::single ? 1e-5 : 1e-6);
    BOOST_CHECK_LE(adjoint.psf, plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(like_stations_have_the_average_beam_of_each) {
  auto o = observe(12, 400, 7);
  const IdgPlan plan = plan_for({150, 121, 120 * asec}, Precision::single, o.max_w_lambda);
  const double width = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const auto of_kind = [&](std::size_t which, std::size_t slot, double l, double m) {
    return trigonometric(which, slot, l, m, width);
  };
  for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint}) {
    const auto average = [&] {
      AverageBeam beam(plan, {.n_data_planes = 4, .aterms = mode, .mix = stokes, .n_threads = 3});
      beam.add(o.block());
      return std::pair(beam.finish(), beam.weight_sum());
    };
    o.response.resize({0, 0, 0});
    o.sample(plan, [&](std::size_t station, std::size_t slot, double l, double m) {
      return of_kind(station % 2, slot, l, m);
    });
    const auto own = average();
    o.sample(plan, of_kind, 2);
    o.response.resize({n_row_slot, n_chan_slot, n_station});
    for (std::size_t i = 0; i < o.response.size(); ++i)
      o.response.data()[i] = static_cast<std::uint32_t>(i % n_station % 2);
    const auto shared = average();
    const auto summed = [&] {  // as a GPU sums the weights of what it keeps
      const GridBlock block = o.block();
      Buffer<double, 2> sum({o.uvw_m.extent(0), n_chan_slot});
      for (std::size_t row = 0; row < sum.extent(0); ++row)
        for (std::size_t c = 0; c < n_chan; ++c)
          sum(row, block.aterms.chan_slot(c)) += static_cast<double>(o.weight(row, c, 0));
      AverageBeam beam(plan, {.n_data_planes = 4, .aterms = mode, .mix = stokes, .n_threads = 3});
      beam.add(SlotWeights{sum, block.station, block.aterms});
      return std::pair(beam.finish(), beam.weight_sum());
    }();
    BOOST_CHECK_CLOSE_FRACTION(summed.second, shared.second, 1e-14);
    for (std::size_t i = 0; i < summed.first.size(); ++i)
      BOOST_CHECK_CLOSE_FRACTION(summed.first.data()[i], shared.first.data()[i], 1e-12);
    BOOST_CHECK_CLOSE_FRACTION(shared.second, own.second, 1e-14);
    for (std::size_t i = 0; i < own.first.size(); ++i)
      BOOST_CHECK_CLOSE_FRACTION(shared.first.data()[i], own.first.data()[i], 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(an_accuracy_of_1e_5_is_kept) {
  // Where the GPU's tensor cores do. Measured there: 5.9e-6.
  auto o = observe(12, 400, 5);
  const IdgPlan plan = plan_for({150, 121, 120 * asec}, Precision::single, o.max_w_lambda, 1e-5);
  const auto aterm = [](std::size_t station, std::size_t slot, double, double) {
    return constant(station, slot);
  };
  o.sample(plan, aterm);
  for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint}) {
    const Errors errors = grid_errors(o, plan, mode, aterm);
    std::printf("accuracy 1e-5: error %.2e, PSF %.2e\n", errors.worst_plane, errors.psf);
    BOOST_CHECK_LE(errors.worst_plane, plan.settings.accuracy);
    BOOST_CHECK_LE(errors.psf, plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(the_whole_sky_takes_aterms_layer_by_layer) {
  // The w kernel's layers take their A-terms one by one.
  auto o = observe(12, 10, 3);
  const ImageGeometry geometry{64, 64, 2.0 / 60};
  const IdgPlan plan = make_idg_plan(geometry, {}, o.max_w_lambda, 1000);
  BOOST_REQUIRE(plan.w_handling == WHandling::kernel);
  const auto aterm = [](std::size_t station, std::size_t slot, double, double) {
    return constant(station, slot);
  };
  o.sample(plan, aterm);
  for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint})
    BOOST_CHECK_LE(grid_errors(o, plan, mode, aterm).worst_plane, 2 * plan.settings.accuracy);
}

BOOST_AUTO_TEST_CASE(pixels_over_the_average_beam_are_fluxes) {
  // One unpolarised source, seen through the beams: its pixel over the average beam is its flux.
  auto o = observe(12, 400, 4);
  const ImageGeometry geometry{150, 121, 120 * asec};
  const IdgPlan plan = plan_for(geometry, Precision::double_, o.max_w_lambda);
  const double width = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  const auto aterm = [&](std::size_t station, std::size_t slot, double l, double m) {
    return trigonometric(station, slot, l, m, width);
  };
  o.sample(plan, aterm);
  for (const auto& [x, y] : {std::pair<std::size_t, std::size_t>{75, 60}, {20, 100}, {140, 10}, {1, 119}}) {
    const double l = support::pixel_l(geometry, x), m = support::pixel_m(geometry, y);
    for (std::size_t r = 0; r < o.uvw_m.extent(0); ++r)
      for (std::size_t c = 0; c < n_chan; ++c) {
        const double k = o.wavenumber(c);
        const Complex phasor =
            dft_visibility({{l, m, 3}}, o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k);
        const AtermMatrix seen = multiply(aterm(o.station(r, 0), o.slot(r, c), l, m),
                                          hermitian(aterm(o.station(r, 1), o.slot(r, c), l, m)));
        const float weight = static_cast<float>(1 + r % 3);
        for (std::size_t i = 0; i < 4; ++i) {
          o.data(r, c, i) = std::complex<float>(phasor * seen[i / 2][i % 2]);
          o.weight(r, c, i) = (r + c) % 5 == 0 ? 0 : weight;
        }
      }
    for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint}) {
      IdgSetup setup{.n_data_planes = 4,
                     .aterms = mode,
                     .mix = {stokes[0]},
                     .n_threads = 2,
                     .grid_memory = test_grid_memory()};
      auto gridder = make_gridder(test_device(), plan, setup);
      AverageBeam beam(plan, setup);
      gridder->begin_pass({0, plan.n_layers});
      gridder->grid(o.block());
      gridder->end_pass();
      beam.add(o.block());
      const auto image = gridder->take_images();
      const auto average = beam.finish();
      const double flux = image(0, y, x) / beam.weight_sum() / average(y, x);
      std::printf("beam %.3f, flux 3 x (1 + %.1e)\n", average(y, x), flux / 3 - 1);
      // Matrices and data are float32; measured: 2.3e-8.
      BOOST_CHECK_SMALL(flux / 3 - 1, 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_change_no_bit_with_aterms) {
  auto o = observe(30, 400, 5);
  const IdgPlan plan = plan_for({150, 121, 120 * asec}, Precision::single, o.max_w_lambda);
  const double width = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  o.sample(plan, [&](std::size_t station, std::size_t slot, double l, double m) {
    return trigonometric(station, slot, l, m, width);
  });
  auto make = [&](unsigned threads) {
    IdgSetup setup{.n_data_planes = 4,
                   .psf = PsfPlane::last,
                   .aterms = AtermMode::normalised,
                   .mix = stokes,
                   .n_threads = threads,
                   .grid_memory = test_grid_memory()};
    auto gridder = make_gridder(test_device(), plan, setup);
    gridder->begin_pass({0, plan.n_layers});
    gridder->grid(o.block());
    gridder->end_pass();
    AverageBeam beam(plan, setup);
    beam.add(o.block());
    return std::pair(gridder->take_images(), beam.finish());
  };
  const auto one = make(1);
  for (unsigned threads : {2u, 4u, 7u}) {
    const auto other = make(threads);
    BOOST_CHECK_EQUAL(std::memcmp(one.first.data(), other.first.data(), one.first.size() * sizeof(double)),
                      0);
    BOOST_CHECK_EQUAL(std::memcmp(one.second.data(), other.second.data(), one.second.size() * sizeof(double)),
                      0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
