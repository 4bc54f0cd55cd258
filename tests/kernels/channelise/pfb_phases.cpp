// SPDX-License-Identifier: GPL-3.0-or-later
// The polyphase filterbank keeps phases, times and weights.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(pfb_phases)

BOOST_AUTO_TEST_CASE(a_spectrum_is_about_the_middle_of_its_own_samples) {
  // impulses just before and just after the middle of spectrum 10 weigh on its neighbours like mirror images
  for (const std::size_t n_taps : {3, 4}) {
    constexpr std::size_t n_fine = 16;
    Recording recording(voltage_header(1, 2, 1, 1e6, 150e6), n_fine * 21);
    recording.at(10 * n_fine + 5, 0, 0, 0) = 1;
    recording.at(10 * n_fine + 10, 0, 1, 0) = 1;
    Channeliser channeliser(plan_channelise(recording.header, n_fine, 1, {n_taps, Window::hann}), nullptr);
    channeliser.append(recording.block(0, recording.n_time));
    channeliser.end_of_stream();
    SpectraBlock block;
    channeliser.spectra(0, 21, 0, 1, block);
    const auto power = [&](std::size_t spectrum, std::size_t ant) {
      return std::norm(
          std::complex<double>(block.planes(3, 0, spectrum, ant), block.planes(3, 0, spectrum, 16 + ant)));
    };
    BOOST_TEST(power(10, 0) > 10 * power(9, 0));
    for (std::size_t spectrum = 7; spectrum <= 13; ++spectrum)
      BOOST_TEST(std::abs(power(spectrum, 0) - power(20 - spectrum, 1)) < 1e-7);  // measured 3e-9
  }
}

BOOST_AUTO_TEST_CASE(a_tracked_source_keeps_phase_zero_and_its_triangles_close) {
  // tones of a source whose delay moves as the Earth's rotation would have it, 100 times too fast
  class Turning final : public DelaySource {
   public:
    void prepare(double, double) override {}
    double delay_s(std::size_t ant, double t_s) const override {
      constexpr double kLength_m[] = {0, 350, -220, 3000};
      return kLength_m[ant] * std::sin(0.4 + 7.292e-3 * t_s) / kSpeedOfLight_m_s;
    }
    double max_delay_s() const override { return 3000 / kSpeedOfLight_m_s; }
  };
  Turning delays;
  constexpr std::size_t n_fine = 128;
  Recording recording(voltage_header(1, 4, 1, 1.28e6, 150e6), n_fine * 800);
  for (std::size_t t = 0; t < recording.n_time; ++t)
    for (std::size_t ant = 0; ant < 4; ++ant) {
      const double seconds = static_cast<double>(t) / 1.28e6, tau = delays.delay_s(ant, seconds);
      std::complex<double> sum = 0;
      for (const double bin : {-50.0, 3.0, 61.0})
        sum += std::polar(
            1.0, kTwoPi * (std::fmod(150e6 * tau, 1.0) + std::fmod(bin * 1e4 * (seconds + tau), 1.0)));
      recording.at(t, 0, ant, 0) = sum;
    }
  for (const std::size_t n_taps : {4, 7}) {
    double worst = 0, closure = 0, untracked = 0;
    for (DelaySource* use : {static_cast<DelaySource*>(&delays), static_cast<DelaySource*>(nullptr)})
      correlate(recording,
                {.n_fine = n_fine, .n_spectra = 400, .delays = use, .filterbank = {n_taps, Window::hann}},
                [&](const Correlator& correlator, const Integrator&) {
                  for (const int bin : {-50, 3, 61}) {
                    const auto v = [&](std::size_t i, std::size_t j) {
                      return correlator.sum(static_cast<std::size_t>(64 + bin), i, j) /
                             static_cast<double>(correlator.count(0, i, j));
                    };
                    for (const auto& [i, j] : {std::pair{0, 1}, {0, 2}, {1, 2}, {0, 3}}) {
                      double& largest = use != nullptr ? worst : untracked;
                      largest = std::max(largest, std::abs(std::arg(v(i, j))));
                    }
                    if (use == nullptr) continue;
                    closure = std::max(closure, std::abs(std::arg(v(0, 1) * v(1, 2) * v(2, 0))));
                    closure = std::max(closure, std::abs(std::arg(v(0, 1) * v(1, 3) * v(3, 0))));
                  }
                });
    BOOST_TEST_MESSAGE(n_taps << " taps: residual phase " << worst << ", closure " << closure << " rad");
    BOOST_TEST(worst <= 1e-6);    // measured 5e-8
    BOOST_TEST(closure <= 1e-5);  // measured 1e-10
    BOOST_TEST(untracked > 0.5);
  }
}

BOOST_AUTO_TEST_CASE(spectra_whose_taps_touch_missing_data_have_no_weight) {
  constexpr std::size_t n_fine = 32, n_taps = 4, n_spectra = 400;
  auto header = voltage_header(2, 3, 1, 1e6, 150e6);
  header.missing_samples = 64;
  auto recording = noise(header, n_fine * n_spectra, 5);
  std::mt19937 random(4);
  for (auto& valid : recording.valid) valid = random() % 16 != 0;
  // what must not count is poison
  for (std::size_t t = 0; t < recording.n_time; ++t)
    for (std::size_t ant = 0; ant < 3; ++ant)
      if (!recording.is_valid(t, ant))
        for (std::size_t chan = 0; chan < 2; ++chan) recording.at(t, chan, ant, 0) = 1e9f;
  VoltageBlock voltages = recording.block(0, recording.n_time);
  // and one value that is not finite, in one channel
  constexpr std::size_t kBad = 5003;
  voltages.not_finite.resize({recording.n_time, 2, 3});
  voltages.not_finite(kBad, 1, 2) = 1;
  voltages.samples_f32(kBad, 1, 2, 0, 0) = std::numeric_limits<float>::quiet_NaN();
  Channeliser channeliser(plan_channelise(header, n_fine, 2, {n_taps, Window::hann}), nullptr);
  channeliser.append(voltages);
  channeliser.end_of_stream();
  SpectraBlock block;
  channeliser.spectra(0, n_spectra, 0, 2, block);
  std::size_t wrong = 0, n_valid = 0, too_large = 0;
  for (std::size_t chan = 0; chan < 2; ++chan)
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t s = 0; s < n_spectra; ++s) {
        const std::int64_t from = static_cast<std::int64_t>(s * n_fine) - 48;
        bool expected = from >= 0 && from + 128 <= static_cast<std::int64_t>(recording.n_time);
        for (std::int64_t t = from; expected && t < from + 128; ++t)
          expected =
              recording.is_valid(static_cast<std::size_t>(t), ant) && !(t == kBad && chan == 1 && ant == 2);
        wrong += (block.valid(chan, ant, s) != 0) != expected;
        n_valid += expected;
        for (std::size_t fine = 0; fine < n_fine; ++fine) {
          const float re = block.planes(chan * n_fine + fine, 0, s, ant);
          too_large += expected ? !(std::abs(re) < 10) : re != 0;
        }
      }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(too_large == 0);
  BOOST_TEST(n_valid > 1000);
  BOOST_TEST(n_valid < 2300);
}

BOOST_AUTO_TEST_SUITE_END()
