// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/epic/apertures.cpp on a GPU, and samples that are codes against the CPU's
// images.
#include "tests/kernels/epic/apertures.cpp"

BOOST_AUTO_TEST_SUITE(apertures)

BOOST_DATA_TEST_CASE(codes_give_the_images_of_the_cpu, boost::unit_test::data::make(kWays), way) {
  const Apertures apertures(70, way.scale);
  EpicCase c;
  c.enu_m = random_array(70, 40, way.height_m, 0.03, 3);
  c.n_chan = 4;
  c.step_hz = 3e6;
  c.n_spectra = 40;
  c.missing = 0.2;
  c.integers = true;
  const EpicRecording recording(c);
  for (const bool autos : {false, true}) {
    const auto gpu = make(way.method, plan_of(recording, apertures, autos));
    recording.image(*gpu, 13, 4, true);  // what was before leaves no trace
    const EpicImages got = recording.image(*gpu, 21, 2, true);
    const auto cpu = make_imager(way.method, plan_of(recording, apertures, autos));
    const EpicImages wanted = recording.image(*cpu, 40, 4);
    BOOST_TEST(got.weight == wanted.weight);
    BOOST_TEST_REQUIRE(got.planes.size() == wanted.planes.size());
    double worst = 0, peak = 0;
    for (std::size_t i = 0; i < got.planes.size(); ++i) {
      const double a = got.planes.data()[i], b = wanted.planes.data()[i];
      BOOST_TEST_REQUIRE(std::isnan(a) == std::isnan(b), i << ": " << a << ", wanted " << b);
      if (std::isnan(a)) continue;
      worst = std::max(worst, std::abs(a - b));
      peak = std::max(peak, std::abs(b));
    }
    BOOST_TEST_MESSAGE(way.name << ", codes, autos " << autos << ": " << worst / peak << " of the peak");
    // 1.3e-5 by fft: both round to float32, over the response of 9 cells by the horizon; 1.2e-7 by the others
    BOOST_TEST(worst <= (way.method == EpicMethod::fft ? 3e-5 : 1e-6) * peak);
  }
}

BOOST_AUTO_TEST_SUITE_END()
