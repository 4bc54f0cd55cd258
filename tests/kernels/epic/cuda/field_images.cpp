// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of tests/kernels/epic/field/field_images.cpp on a GPU, and samples that are codes.
#include "tests/kernels/epic/field/field_images.cpp"

BOOST_AUTO_TEST_SUITE(field_images)

BOOST_AUTO_TEST_CASE(codes_and_floats_give_the_same_fields) {
  EpicCase c;
  c.enu_m = random_array(30, 45, 0, 0.03, 5);
  c.n_chan = 3;
  c.n_spectra = 4;
  c.integers = c.gains = true;
  c.missing = 0.2;
  const EpicRecording recording(c);
  for (const EpicMethod method : {EpicMethod::dft, EpicMethod::fft})
    for (const bool second : {false, true}) {
      EpicImages images[2];
      for (const bool coded : {false, true}) {
        EpicPlan plan = plan_of(recording);
        plan.first = !second;
        plan.second = second;
        const auto imager = make_field(method, std::move(plan));
        imager->start(recording.geometry);
        imager->add(recording.block(1, 1, 0, 2, coded));
        imager->add(recording.block(1, 1, 2, 1, coded));
        imager->take(images[coded]);
      }
      BOOST_TEST_REQUIRE(images[0].planes.extent(1) == 2u);
      BOOST_TEST_REQUIRE(images[0].planes.size() == images[1].planes.size());
      std::size_t n_sky = 0;
      for (std::size_t i = 0; i < images[0].planes.size(); ++i) {
        const float a = images[0].planes.data()[i], b = images[1].planes.data()[i];
        BOOST_TEST_REQUIRE(((std::isnan(a) && std::isnan(b)) || a == b), i << ": " << a << ", " << b);
        n_sky += std::isnan(a) ? 0 : 1;
      }
      BOOST_TEST(n_sky > 1000u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
