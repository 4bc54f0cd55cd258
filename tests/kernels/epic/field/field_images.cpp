// SPDX-License-Identifier: GPL-3.0-or-later
// Complex images of the field of single spectra against the sum of its definition in float64, phases
// included. tests/kernels/epic/cuda/field_images.cpp runs the same tests on a GPU.
#include <boost/test/unit_test.hpp>

#include "kernels/epic/epic_cuda.h"
#include "libcore/base/error.h"
#include "tests/reference/test_device.h"
#include "tests/support/epic/recording.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(field_images)

namespace {

std::unique_ptr<DirectImager> make_field(EpicMethod method, EpicPlan plan) {
  const Device device = reference::test_device();
  if (device.kind == Device::Kind::cuda) return make_field_imager_cuda(method, std::move(plan), device.index);
  return make_imager(method, std::move(plan));
}

/// sum_i g_ip E_ip exp(-2 pi i nu (r . s / c - d)) / n of a spectrum.
std::complex<double> field_of(const EpicRecording& recording, std::size_t chan, std::size_t t,
                              std::size_t pol, const Vec3& unit) {
  std::complex<double> sum = 0;
  double n = 0;
  for (std::size_t ant = 0; ant < recording.antennas.size(); ++ant) {
    const auto& antenna = recording.antennas[ant];
    const auto& sample = recording.voltages[chan][t][ant];
    if (!sample.valid) continue;
    ++n;
    const double path_s = dot(antenna.position_m, unit) / kSpeedOfLight_m_s - antenna.delay_s;
    sum += antenna.factor[pol] * sample.voltage[pol] *
           std::polar(1.0, -kTwoPi * recording.shape.channel_hz[chan] * path_s);
  }
  return sum / n;
}

EpicRecording recorded(double height_m, double slope) {
  EpicCase c;
  c.enu_m = random_array(30, 45, height_m, slope, 5);
  for (Vec3& enu : c.enu_m) enu = enu + Vec3{123, -77, 9};  // away from the origin of positions
  c.n_chan = 2;
  c.step_hz = 2e6;
  c.n_spectra = 16;
  c.gains = c.delays = true;
  c.missing = 0.2;
  return EpicRecording(c);
}

EpicPlan plan_of(const EpicRecording& recording) {
  EpicPlan plan = recording.plan();
  plan.field = true;
  plan.cross = false;
  plan.nx = 60;
  plan.ny = 64;
  plan.cell = 2.0 / 60;
  plan.kernel_cells = 9;
  plan.padding = 1.25;
  plan.n_threads = 2;
  return plan;
}

/// The largest error over the largest |field|, of a few spectra one after the other.
double error_of(const EpicRecording& recording, DirectImager& imager, const EpicPlan& plan) {
  double worst = 0, peak = 0;
  EpicImages images;
  for (const std::size_t t : {0, 11, 3}) {
    images.planes.resize({1, 1, 1, 1});
    imager.start(recording.geometry);
    for (std::size_t chan = 0; chan < 2; ++chan) imager.add(recording.block(t, 1, chan, 1));
    imager.take(images);
    BOOST_TEST_REQUIRE(images.planes.extent(1) == 4u);
    BOOST_TEST(images.n_spectra == 1);
    for (std::size_t chan = 0; chan < 2; ++chan) {
      const auto& samples = recording.voltages[chan][t];
      const auto n_valid =
          std::count_if(samples.begin(), samples.end(), [](const auto& s) { return s.valid; });
      BOOST_TEST(std::abs(images.weight[chan] - double(n_valid) / double(samples.size())) < 1e-14);
    }
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t i = 0; i < plan.width() * plan.height(); ++i) {
        const std::size_t x = i % plan.width(), y = i / plan.width();
        const Vec3 unit = recording.direction(plan, x, y);
        for (std::size_t pol = 0; pol < 2; ++pol) {
          const std::complex<double> got(images.planes(chan, 2 * pol, y, x),
                                         images.planes(chan, 2 * pol + 1, y, x));
          BOOST_TEST_REQUIRE(std::isnan(got.real()) == !(unit[2] > 0));
          if (!(unit[2] > 0)) continue;
          const std::complex<double> wanted = field_of(recording, chan, t, pol, unit);
          worst = std::max(worst, std::abs(got - wanted));
          peak = std::max(peak, std::abs(wanted));
        }
      }
  }
  return worst / peak;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fields_are_the_sums_of_the_definition) {
  const EpicRecording recording = recorded(5, 0.1);
  const auto imager = make_field(EpicMethod::dft, plan_of(recording));
  const double error = error_of(recording, *imager, plan_of(recording));
  BOOST_TEST_MESSAGE("dft: " << error);
  BOOST_TEST(error <= 1e-6);  // 4e-8
}

BOOST_AUTO_TEST_CASE(gridded_fields_agree_on_level_ground_and_on_a_slope) {
  for (const double slope : {0.0, 0.03}) {
    const EpicRecording recording = recorded(0, slope);
    const auto imager = make_field(EpicMethod::fft, plan_of(recording));
    const double error = error_of(recording, *imager, plan_of(recording));
    BOOST_TEST_MESSAGE("fft, slope " << slope << ": " << error);
    BOOST_TEST(error <= 1e-5);  // 3.5e-6
  }
}

BOOST_AUTO_TEST_CASE(single_directions_have_the_sums_of_the_definition) {
  EpicRecording recording = recorded(5, 0.1);
  recording.geometry.directions = {{0, 0, 1}, {0.6, 0.64, std::sqrt(1 - 0.36 - 0.4096)}, {0.6, 0.64, -0.48}};
  const auto plan = [&] {
    EpicPlan list = plan_of(recording);
    list.n_direction = 3;
    return list;
  };
  const auto imager = make_field(EpicMethod::dft, plan());
  const double error = error_of(recording, *imager, plan());
  BOOST_TEST_MESSAGE("directions: " << error);
  BOOST_TEST(error <= 1e-6);  // 6e-8
  BOOST_CHECK_THROW(make_field(EpicMethod::fft, plan()), UsageError);
}

// |X|^2 with autocorrelations is XX.
BOOST_AUTO_TEST_CASE(the_square_of_a_field_is_the_image) {
  const EpicRecording recording = recorded(5, 0.1);
  const auto imager = make_field(EpicMethod::dft, plan_of(recording));
  EpicPlan power = plan_of(recording);
  power.field = false;
  power.autos = true;
  const auto products = make_dft_imager(std::move(power));
  EpicImages fields, images;
  const SpectraBlock block = recording.block(7, 1, 0, 2);
  imager->start(recording.geometry);
  imager->add(block);
  imager->take(fields);
  products->start(recording.geometry);
  products->add(block);
  products->take(images);
  double worst = 0, peak = 0;
  for (std::size_t y = 0; y < 64; ++y)
    for (std::size_t x = 0; x < 60; ++x) {
      if (std::isnan(images.planes(1, 1, y, x))) continue;
      const double square =
          std::norm(std::complex<double>(fields.planes(1, 2, y, x), fields.planes(1, 3, y, x)));
      worst = std::max(worst, std::abs(square - static_cast<double>(images.planes(1, 1, y, x))));
      peak = std::max(peak, square);
    }
  BOOST_TEST_MESSAGE("square: " << worst / peak);
  BOOST_TEST(worst <= 1e-6 * peak);  // 1.4e-7
}

BOOST_AUTO_TEST_CASE(methods_and_sums_without_a_field_are_refused) {
  const EpicRecording recording = recorded(5, 0.1);
  BOOST_CHECK_THROW(make_field(EpicMethod::corr, plan_of(recording)), UsageError);
  BOOST_TEST((choose_epic_method(plan_of(recording), recording.geometry, 1e6, 1u << 30) != EpicMethod::corr));
  const auto imager = make_field(EpicMethod::dft, plan_of(recording));
  imager->start(recording.geometry);
  BOOST_CHECK_THROW(imager->add(recording.block(0, 2, 0, 2)), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
