// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities predicted by image-domain degridding against the float64 sum
// over the model's pixels. tests/kernels/idg/cuda/degridding.cpp runs the same tests on
// a GPU.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "kernels/idg/idg.h"
#include "tests/kernels/idg/degridding.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(degridding)

namespace {

/// What some visibilities must be, about n of them.
struct Truth {
  std::size_t step;
  std::vector<Complex> want;

  Truth(const Coverage& c, const std::vector<DftSource>& sources, std::size_t n)
      : step(std::max<std::size_t>(1, c.n_row() * c.n_chan() / n)) {
    for (std::size_t i = 0; i < c.n_row() * c.n_chan(); i += step) {
      const std::size_t row = i / c.n_chan();
      const double k = c.wavenumber(i % c.n_chan());
      want.push_back(dft_visibility(sources, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k));
    }
  }
  /// Relative RMS.
  double error_of(const Buffer<Complex, 3>& data) const {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      error += std::norm(data(i * step / data.extent(1), i * step % data.extent(1), 0) - want[i]);
      power += std::norm(want[i]);
    }
    return std::sqrt(error / power);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_wide_field_at_the_papers_settings_keeps_its_accuracy) {
  // Hodgson 2025: 8.3 degrees, padding 1.5, subgrid 96, kernel padding 18; w to
  // 1500 lambda.
  const auto c = cover(1500, 4, 4000, 1);
  const ImageGeometry geometry{1000, 930, 30 * asec};
  const auto model = model_image(geometry, 1, 2000, 11);
  const Truth truth(c, sources_of(model.view()[0], geometry), 1500);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 96;
    settings.kernel_padding = 18;
    settings.padding = 1.5;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 6000);
    const double error = truth.error_of(predict<double>(c, plan, model, 2));
    std::printf("error %.2e, largest w %.0f wavelengths\n", error, c.max_w_lambda);
    // 5.6e-7 and 4.4e-12.
    BOOST_CHECK_LE(error, precision == Precision::single ? 5e-6 : 1e-11);
  }
}

BOOST_AUTO_TEST_CASE(every_accuracy_step_holds) {
  const auto c = cover(600, 3, 1500, 2);
  const ImageGeometry geometry{300, 255, 90 * asec};
  const auto model = model_image(geometry, 1, 800, 12);
  const Truth truth(c, sources_of(model.view()[0], geometry), 600);
  for (TaperKind taper : {TaperKind::least_misfit, TaperKind::pswf, TaperKind::kaiser_bessel})
    for (int exponent = 1; exponent <= 12; exponent += taper == TaperKind::kaiser_bessel ? 3 : 1) {
      IdgSettings settings;
      settings.accuracy = std::pow(10, -exponent);
      settings.taper = taper;
      settings.precision = precision_for(settings.accuracy);
      const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
      const double error = truth.error_of(predict<double>(c, plan, model, 2));
      std::printf(
          "accuracy %.0e: error %.2e (subgrid %zu, kernel padding %zu, "
          "%zu layers, %zu terms)\n",
          settings.accuracy, error, plan.settings.subgrid, plan.settings.kernel_padding, plan.n_layers,
          plan.n_terms);
      BOOST_CHECK_LE(error, settings.accuracy);
    }
}

BOOST_AUTO_TEST_CASE(the_whole_sky_is_predicted_to_the_horizon) {
  // Corners beyond the horizon; n has no bounded slope, so w is spread over
  // layers by the kernel.
  const auto c = cover(800, 2, 30, 3);
  const ImageGeometry geometry{128, 128, 2.0 / 125};
  const auto model = model_image(geometry, 1, 400, 13);
  const Truth truth(c, sources_of(model.view()[0], geometry), 1600);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1600);
    BOOST_CHECK(plan.w_handling == WHandling::kernel);
    const double error = truth.error_of(predict<double>(c, plan, model, 2));
    std::printf("whole sky: error %.2e, %zu layers\n", error, plan.n_layers);
    BOOST_CHECK_LE(error, plan.settings.accuracy);  // 4.0e-7, 9.6e-13
    // Each pass adds what its layers contribute.
    BOOST_CHECK_LE(truth.error_of(predict<double>(c, plan, model, 2, 3)), plan.settings.accuracy);
  }
}

BOOST_AUTO_TEST_CASE(planes_odd_sizes_paths_and_flags_are_heeded) {
  // Every number of planes, an odd image larger in x, rows moved by a path;
  // what is flagged in all planes and what was there before stay.
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
    auto degridder = make_degridder(
        test_device(), plan, {.n_data_planes = n_planes, .n_threads = 2, .grid_memory = test_grid_memory()});
    degridder->set_model(model);
    degridder->begin_pass({0, plan.n_layers});
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

BOOST_AUTO_TEST_CASE(threads_change_no_bit_and_passes_only_rounding) {
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

BOOST_AUTO_TEST_CASE(degridding_is_the_adjoint_of_gridding) {
  const auto c = cover(1500, 3, 1500, 7);
  const ImageGeometry geometry{250, 231, 90 * asec};
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    if (precision == Precision::double_) settings.accuracy = 1e-12;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 4500);
    const auto x = model_image(geometry, 1, 20000, 17);
    const auto ax = predict<double>(c, plan, x, 2);
    const auto y = noise_for(c, 1, 18);
    const double difference = adjoint_difference(x, ax, y, adjoint_images(plan, c.block(), y));
    std::printf("adjointness %.2e\n", difference);
    BOOST_CHECK_LE(difference, plan.settings.accuracy);  // of 2e-6 and 1e-12: 1.7e-9 and 6e-16
  }
}

BOOST_AUTO_TEST_SUITE_END()
