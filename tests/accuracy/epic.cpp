// SPDX-License-Identifier: GPL-3.0-or-later
// Direct images against the sums of their definition in float64: every product, autocorrelations in and out,
// antennas on slopes, with gains, delays and missing samples, over the whole visible hemisphere.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "kernels/epic/pair_imager.h"
#include "libcore/core/array_layout.h"
#include "tests/support/epic_recording.h"

using namespace apsyn;
using namespace apsyn::test;

namespace {

using Make = std::unique_ptr<DirectImager> (*)(EpicPlan);

struct Method {
  const char* name;
  Make make;
};
std::ostream& operator<<(std::ostream& out, const Method& method) {
  return out << method.name;
}

const Method kExact[] = {
    {"dft", make_dft_imager},
    {"corr, direct", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::direct); }},
    {"corr, grid", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::grid); }}};

EpicPlan all_sky(const EpicRecording& recording, std::size_t size) {
  EpicPlan plan = recording.plan();
  plan.nx = plan.ny = size;
  plan.cell = 2.0 / static_cast<double>(size);
  plan.n_threads = 2;
  return plan;
}

struct Comparison {
  double error = 0;  ///< the largest over the peak of |XX| and |YY|
  std::size_t n = 0;
};

/// Every `stride`-th pixel of all image channels. Pixels without sky must be NaN, and no other.
Comparison compare(const EpicRecording& recording, const EpicPlan& plan, const EpicImages& images,
                   std::size_t stride) {
  Comparison result;
  double peak = 0, worst = 0;
  BOOST_TEST_REQUIRE(images.planes.extent(0) == plan.n_image_channel());
  BOOST_TEST_REQUIRE(images.planes.extent(1) == plan.n_plane());
  for (std::size_t channel = 0; channel < plan.n_image_channel(); ++channel)
    for (std::size_t i = 0; i < plan.width() * plan.height(); ++i) {
      const std::size_t x = i % plan.width(), y = i / plan.width();
      const Vec3 unit = epic_direction(plan, recording.geometry, x, y);
      const bool sky = !std::isnan(unit[0]);
      for (std::size_t plane = 0; plane < plan.n_plane(); ++plane)
        BOOST_TEST_REQUIRE(std::isnan(images.planes(channel, plane, y, x)) == !sky);
      if (!sky || i % stride != 0) continue;
      const auto truth = recording.truth(unit, channel * plan.n_average, plan.n_average, plan.autos);
      const double wanted[4] = {truth.mean[0][0].real(), truth.mean[1][1].real(), truth.mean[0][1].real(),
                                truth.mean[0][1].imag()};
      // YX = conj(XY), so that two planes are all of both
      BOOST_TEST_REQUIRE(std::abs(truth.mean[1][0] - std::conj(truth.mean[0][1])) < 1e-12);
      const bool made[4] = {plan.first, plan.second, plan.cross, plan.cross};
      std::size_t plane = 0;
      for (std::size_t value = 0; value < 4; ++value) {
        if (!made[value]) continue;
        const double got = static_cast<double>(images.planes(channel, plane++, y, x));
        worst = std::max(worst, std::abs(got - wanted[value]));
        if (value < 2) peak = std::max(peak, std::abs(wanted[value]));
      }
      ++result.n;
    }
  result.error = worst / peak;
  return result;
}

constexpr double kWanted = 3e-5;  // of the peak: the exact methods' promise

}  // namespace

BOOST_DATA_TEST_CASE(hemisphere_of_an_uneven_array, boost::unit_test::data::make(kExact), method) {
  for (const bool autos : {false, true})
    for (const std::size_t n_pol : {1, 2}) {
      EpicCase c;
      c.enu_m = random_array(25, 40, 5, 0.3, 3);
      c.n_pol = n_pol;
      c.n_spectra = 70;
      c.n_chan = 3;
      c.step_hz = 5e6;
      c.sources.push_back({-0.9, 0.1, std::sqrt(1 - 0.82)});
      c.gains = c.delays = true;
      const EpicRecording recording(c);
      EpicPlan plan = all_sky(recording, 40);
      plan.autos = autos;
      const auto imager = method.make(all_sky(recording, 40));
      const auto with = method.make([&] {
        EpicPlan copy = all_sky(recording, 40);
        copy.autos = autos;
        return copy;
      }());
      const EpicImages images = recording.image(*with, 64, 2);
      const Comparison result = compare(recording, plan, images, 3);
      BOOST_TEST_MESSAGE(method.name << ": autos " << autos << ", " << n_pol << " polarisations: "
                                     << result.error << " of the peak, " << result.n << " pixels");
      BOOST_TEST(result.error <= kWanted);
    }
}
