// SPDX-License-Identifier: GPL-3.0-or-later
// Dirty images of image-domain gridding against the float64 sum of their definition.
// tests/kernels/idg/cuda/gridding.cpp runs the same tests on a GPU.
//
// The same against WSClean 3.1 (-use-wgridder -wgridder-accuracy 1e-6 -no-small-inversion), by hand, in
// single precision on two Zen 5 cores, relative RMS of the dirty image and of the PSF:
// - LOFAR 3C 48, 1024 x 1024 of 5 arcsec: natural 1.4e-6 1.4e-6, uniform 1.5e-6 1.4e-6, Briggs 0.5 1.5e-6
//   1.4e-6;
// - simulated MWA-128T, 2048 x 2048 of 15 arcsec, w to 950 wavelengths: natural 1.5e-5 2.0e-5, uniform 2.7e-6
//   4.3e-6, Briggs 0 3.8e-6 6.1e-6;
// - dirty images of WSRT 3C 343.1 uniform 2.9e-6, OVRO-LWA natural 2.7e-6, TART to the horizon
// natural 3.3e-6. Of the MWA figures with natural weights almost all is WSClean's: our double precision
// differs from it by 1.9e-5 in the PSF, and from our single precision by 2.9e-6.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "kernels/idg/idg.h"
#include "libcore/base/error.h"
#include "tests/kernels/idg/grid_place.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/statistics.h"
#include "tests/reference/test_device.h"
#include "tests/support/grid_rows.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(gridding)

namespace {

/// An array of random stations on rolling ground, observed low in the sky so that w is large.
struct Observation : support::GridRows {
  std::vector<DftVisibility> flat(std::size_t plane) const {
    std::vector<DftVisibility> all;
    for (std::size_t r = 0; r < uvw_m.extent(0); ++r)
      for (std::size_t c = 0; c < wavenumber.size(); ++c) {
        const double k = wavenumber.data()[c];
        if (weight(r, c, plane) != 0)
          all.push_back({uvw_m(r, 0) * k, uvw_m(r, 1) * k, uvw_m(r, 2) * k,
                         std::complex<double>(data(r, c, plane)) * static_cast<double>(weight(r, c, plane))});
      }
    return all;
  }
};

Observation observe(std::size_t n_row, std::size_t n_chan, std::size_t n_plane, double radius_m,
                    const std::vector<DftSource>& sky, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(0, 1);
  Observation o;
  o.uvw_m.resize({n_row, 3});
  o.wavenumber.resize({n_chan});
  o.data.resize({n_row, n_chan, n_plane});
  o.weight.resize({n_row, n_chan, n_plane});
  for (std::size_t c = 0; c < n_chan; ++c)
    o.wavenumber(c) = (150e6 + 0.32e6 * static_cast<double>(c)) / 299792458.0;
  for (std::size_t r = 0; r < n_row; ++r) {
    const double length = radius_m * std::pow(flat(random), 2), angle = 2 * std::acos(-1.0) * flat(random);
    const double east = length * std::cos(angle), north = length * std::sin(angle), up = 2 * gauss(random);
    o.uvw_m(r, 0) = east;
    o.uvw_m(r, 1) = north * std::cos(0.9) - up * std::sin(0.9);
    o.uvw_m(r, 2) = north * std::sin(0.9) + up * std::cos(0.9);
    for (std::size_t c = 0; c < n_chan; ++c) {
      const double k = o.wavenumber(c);
      o.max_w_lambda = std::max(o.max_w_lambda, std::abs(o.uvw_m(r, 2) * k));
      for (std::size_t p = 0; p < n_plane; ++p) {
        o.data(r, c, p) = std::complex<float>(
            (1.0 + static_cast<double>(p)) *
                dft_visibility(sky, o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k) +
            std::complex<double>(gauss(random), gauss(random)));
        o.weight(r, c, p) = static_cast<float>(flat(random) < 0.1 ? 0 : 0.5 + flat(random));
        if (o.weight(r, c, p) == 0) o.data(r, c, p) = NAN;
      }
    }
  }
  return o;
}

Buffer<double, 3> grid_image(const Observation& o, const IdgPlan& plan, PsfPlane psf, unsigned threads,
                             std::size_t layers_per_pass = 1u << 20) {
  auto gridder = make_gridder(reference::test_device(), plan,
                              {.n_data_planes = o.data.extent(2),
                               .psf = psf,
                               .n_threads = threads,
                               .grid_memory = test_grid_memory()});
  for (std::size_t first = 0; first < plan.n_layers; first += layers_per_pass) {
    gridder->begin_pass({first, std::min(layers_per_pass, plan.n_layers - first)});
    gridder->grid(o.block());
    gridder->end_pass();
  }
  return gridder->take_images();
}

/// What pixels spread over the image must be, its corners included; those beyond the horizon NaN.
struct Truth {
  std::vector<std::array<std::size_t, 2>> where, beyond;
  std::vector<double> want;

  Truth(const ImageGeometry& geometry, const std::vector<DftVisibility>& visibilities, std::size_t n_pixels) {
    const std::size_t last_x = geometry.n_x - 1, last_y = geometry.n_y - 1;
    std::vector<DftPixel> pixels;
    auto take = [&](std::size_t x, std::size_t y) {
      const double l = support::pixel_l(geometry, x), m = support::pixel_m(geometry, y);
      if (l * l + m * m >= 1) return beyond.push_back({x, y});
      pixels.push_back({l, m});
      where.push_back({x, y});
    };
    take(0, 0), take(last_x, 0), take(0, last_y), take(last_x, last_y);
    take(geometry.n_x / 2, geometry.n_y / 2);
    std::mt19937_64 random(99);
    while (where.size() + beyond.size() < n_pixels) {
      const std::size_t x = random() % geometry.n_x, y = random() % geometry.n_y;
      take(x, y);
    }
    want = dft_image(visibilities, pixels);
  }
  /// Relative RMS.
  double error_of(const View<double, 2>& image) const {
    for (const auto& [x, y] : beyond) BOOST_CHECK(std::isnan(image(y, x)));
    std::vector<double> got;
    for (const auto& [x, y] : where) got.push_back(image(y, x));
    return relative_rms(got, want);
  }
};

const std::vector<DftSource> field_sky{{0.02, 0.03, 5}, {-0.05, 0.01, 2}, {0.06, -0.06, 1}};
constexpr double asec = 4.84813681109536e-6;

}  // namespace

BOOST_AUTO_TEST_CASE(a_wide_field_at_the_papers_settings_keeps_its_accuracy) {
  // Hodgson 2025: 2k x 2k pixels of 15 arcsec, padding 1.5, subgrid 96, kernel padding 18; w to 1500 lambda.
  const auto o = observe(1500, 4, 1, 4000, field_sky, 1);
  const ImageGeometry geometry{1500, 1400, 20 * asec};
  const Truth truth(geometry, o.flat(0), 1200);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 96;
    settings.kernel_padding = 18;
    settings.padding = 1.5;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, o.max_w_lambda, 6000);
    for (const std::string& line : plan.describe()) std::printf("%s\n", line.c_str());
    auto image = grid_image(o, plan, PsfPlane::none, 2);
    const double error = truth.error_of(image.view()[0]);
    std::printf("error %.2e, largest w %.0f wavelengths\n", error, o.max_w_lambda);
    // 4.2e-7 and 1.7e-12.
    BOOST_CHECK_LE(error, precision == Precision::single ? 5e-6 : 1e-11);
  }
}

BOOST_AUTO_TEST_CASE(every_accuracy_step_holds) {
  const auto o = observe(600, 3, 1, 1500, field_sky, 2);
  const ImageGeometry geometry{300, 255, 90 * asec};
  const Truth truth(geometry, o.flat(0), 400);
  for (TaperKind taper : {TaperKind::least_misfit, TaperKind::pswf, TaperKind::kaiser_bessel})
    for (int exponent = 1; exponent <= 12; exponent += taper == TaperKind::kaiser_bessel ? 3 : 1) {
      IdgSettings settings;
      settings.accuracy = std::pow(10, -exponent);
      settings.taper = taper;
      settings.precision = precision_for(settings.accuracy);
      const IdgPlan plan = make_idg_plan(geometry, settings, o.max_w_lambda, 1800);
      auto image = grid_image(o, plan, PsfPlane::none, 2);
      const double error = truth.error_of(image.view()[0]);
      std::printf("accuracy %.0e: error %.2e (subgrid %zu, kernel padding %zu, %zu layers, %zu terms)\n",
                  settings.accuracy, error, plan.settings.subgrid, plan.settings.kernel_padding,
                  plan.n_layers, plan.n_terms);
      BOOST_CHECK_LE(error, settings.accuracy);
    }
}

BOOST_AUTO_TEST_CASE(the_whole_sky_is_imaged_to_the_horizon) {
  // Corners beyond the horizon; n has no bounded slope, so w is spread over layers by the kernel.
  const std::vector<DftSource> sky{{0.3, 0.4, 5}, {-0.9, 0.1, 2}, {0.05, -0.97, 3}};
  const auto o = observe(800, 2, 1, 30, sky, 3);
  const ImageGeometry geometry{128, 128, 2.0 / 125};
  const Truth truth(geometry, o.flat(0), 2000);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, o.max_w_lambda, 1600);
    BOOST_CHECK(plan.w_handling == WHandling::kernel);
    auto image = grid_image(o, plan, PsfPlane::none, 2);
    const double error = truth.error_of(image.view()[0]);
    std::printf("whole sky: error %.2e, %zu layers\n", error, plan.n_layers);
    BOOST_CHECK_LE(error, plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(a_gridder_used_again_remembers_nothing) {
  // Other visibilities first, everything they leave behind poisoned, and images that had no visibilities.
  const auto before = observe(400, 3, 1, 900, field_sky, 8), o = observe(300, 4, 1, 500, field_sky, 9);
  IdgSettings settings;
  settings.subgrid = 24, settings.kernel_padding = 10;  // several layers
  const IdgPlan plan =
      make_idg_plan({97, 120, 120 * asec}, settings,
                    {.max_w_lambda = std::max(before.max_w_lambda, o.max_w_lambda), .n_visibilities = 1200});
  const auto alone = grid_image(o, plan, PsfPlane::last, 2);
  auto gridder = make_gridder(
      reference::test_device(), plan,
      {.n_data_planes = 1, .psf = PsfPlane::last, .n_threads = 2, .grid_memory = test_grid_memory()});
  BOOST_TEST_REQUIRE(plan.n_layers > 1);
  if (!gridder->is_reusable()) return;
  for (const std::size_t layers_per_pass : {plan.n_layers, std::size_t{1}})
    for (const Observation* each : {&before, &o, static_cast<const Observation*>(nullptr), &o}) {
      for (std::size_t first = 0; first < plan.n_layers; first += layers_per_pass) {
        gridder->begin_pass({first, std::min(layers_per_pass, plan.n_layers - first)});
        if (each != nullptr) gridder->grid(each->block());
        gridder->end_pass();
      }
      auto images = gridder->take_images();
      if (each == &o) BOOST_TEST(std::equal(images.begin(), images.end(), alone.begin(), alone.end()));
      if (each == nullptr)
        BOOST_TEST(std::all_of(images.begin(), images.end(), [](double pixel) { return pixel == 0; }));
      images.fill(NAN);
      gridder->recycle(std::move(images));
    }
}

BOOST_AUTO_TEST_CASE(planes_psf_odd_sizes_and_paths_are_heeded) {
  // Four planes with weights of their own, a PSF, an odd image larger in x, and rows moved by a path.
  auto o = observe(300, 3, 4, 800, field_sky, 4);
  Buffer<double, 1> path({300});
  for (std::size_t r = 0; r < 300; ++r) path(r) = 0.01 * static_cast<double>(r) - 1;
  const ImageGeometry geometry{201, 133, 120 * asec};
  IdgSettings settings;
  settings.precision = Precision::double_;
  const IdgPlan plan = make_idg_plan(geometry, settings, o.max_w_lambda, 900);
  auto gridder = make_gridder(
      reference::test_device(), plan,
      {.n_data_planes = 4, .psf = PsfPlane::last, .n_threads = 2, .grid_memory = test_grid_memory()});
  gridder->begin_pass({0, plan.n_layers});
  GridBlock block = o.block();
  block.path_m = path;
  const GridCounts counts = gridder->grid(block), counted = gridder->count(block);
  gridder->end_pass();
  auto image = gridder->take_images();
  BOOST_CHECK_EQUAL(counts.n_subgrids, counted.n_subgrids);
  BOOST_CHECK_EQUAL(counts.n_visibilities, counted.n_visibilities);
  for (std::size_t plane = 0; plane < 5; ++plane) {
    std::vector<DftVisibility> all;
    double weight_sum = 0;
    for (std::size_t r = 0; r < 300; ++r)
      for (std::size_t c = 0; c < 3; ++c) {
        const double k = o.wavenumber(c), weight = o.weight(r, c, plane == 4 ? 0 : plane);
        if (weight == 0) continue;
        std::complex<double> value = weight;
        if (plane < 4)
          value *=
              std::complex<double>(o.data(r, c, plane)) * std::polar(1.0, -2 * std::acos(-1.0) * path(r) * k);
        all.push_back({o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k, value});
        weight_sum += weight;
      }
    BOOST_CHECK_LE(Truth(geometry, all, 1000).error_of(image.view()[plane]), plan.settings.accuracy);
    if (plane == 4) {
      BOOST_CHECK_SMALL(image(4, 133 / 2, 201 / 2) / weight_sum - 1, 1e-9);
      for (double pixel : image.view()[4]) BOOST_CHECK_LE(pixel, weight_sum * (1 + 1e-9));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_source_lands_east_and_north) {
  // East is towards smaller x, north towards larger y; stored uvw are r_1 - r_2.
  const ImageGeometry geometry{256, 256, 60 * asec};
  const double l = 20 * geometry.cell_rad, m = 30 * geometry.cell_rad;
  auto o = observe(2000, 1, 1, 800, {{l, m, 7}}, 5);
  double weight_sum = 0;
  for (std::size_t r = 0; r < 2000; ++r) {
    const double k = o.wavenumber(0);
    o.data(r, 0, 0) = std::complex<float>(
        dft_visibility({{l, m, 7}}, o.uvw_m(r, 0) * k, o.uvw_m(r, 1) * k, o.uvw_m(r, 2) * k));
    o.weight(r, 0, 0) = 1;
    weight_sum += 1;
  }
  const IdgPlan plan = make_idg_plan(geometry, IdgSettings{}, o.max_w_lambda, 2000);
  auto image = grid_image(o, plan, PsfPlane::none, 1);
  std::size_t peak = 0;
  for (std::size_t i = 0; i < image.size(); ++i)
    if (image.data()[i] > image.data()[peak]) peak = i;
  BOOST_CHECK_EQUAL(peak % 256, 128 - 20);
  BOOST_CHECK_EQUAL(peak / 256, 128 + 30);
  BOOST_CHECK_SMALL(image.data()[peak] / weight_sum / 7 - 1, 1e-5);
}

BOOST_AUTO_TEST_CASE(threads_change_no_bit_and_passes_only_rounding) {
  const auto o = observe(2000, 4, 2, 3000, field_sky, 6);
  const ImageGeometry geometry{512, 512, 45 * asec};
  IdgSettings settings;
  settings.kernel_padding = 14;
  const IdgPlan plan = make_idg_plan(geometry, settings, o.max_w_lambda, 8000);
  const auto one = grid_image(o, plan, PsfPlane::last, 1);
  for (unsigned threads : {2u, 4u, 7u}) {
    const auto other = grid_image(o, plan, PsfPlane::last, threads);
    BOOST_CHECK_EQUAL(std::memcmp(one.data(), other.data(), one.size() * sizeof(double)), 0);
  }
  // A pass over fewer layers adds the same layers in the same order.
  BOOST_REQUIRE_GT(plan.n_layers, 1u);
  const auto passes = grid_image(o, plan, PsfPlane::last, 2, 1);
  BOOST_CHECK_EQUAL(std::memcmp(one.data(), passes.data(), one.size() * sizeof(double)), 0);
}

BOOST_AUTO_TEST_CASE(wrong_settings_are_usage_errors) {
  const ImageGeometry geometry{64, 64, 1e-4};
  auto make = [&](IdgSettings settings) { return make_idg_plan(geometry, settings, 10, 10); };
  BOOST_CHECK_THROW(make({.accuracy = 1e-20}), UsageError);
  BOOST_CHECK_THROW(make({.subgrid = 7}), UsageError);
  BOOST_CHECK_THROW(make({.subgrid = 32, .kernel_padding = 32}), UsageError);
  BOOST_CHECK_THROW(make({.padding = 0.9}), UsageError);
  BOOST_CHECK_THROW(make_idg_plan({0, 64, 1e-4}, {}, 10, 10), UsageError);
  BOOST_CHECK_THROW(make_idg_plan({64, 64, -1}, {}, 10, 10), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
