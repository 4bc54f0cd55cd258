// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra of a plain transform: their values, and how channels respond to frequencies and delays.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"
#include "tests/reference/correlate.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(response)

BOOST_AUTO_TEST_CASE(spectra_agree_with_float64_transforms) {
  // every kind of grid: complex and real input, rising and falling, odd and even
  for (const bool real : {false, true})
    for (const bool falling : {false, true})
      for (const std::size_t n_fine : {5, 8}) {
        auto header = voltage_header(2, 2, 2, falling ? -2e6 : 2e6, 150e6);
        if (real) {
          header.n_dim = 1;
          header.sample_s /= 2;
        }
        const std::size_t length = real ? 2 * n_fine : n_fine;
        auto recording = noise(header, 128, 7);
        if (real)
          for (auto& sample : recording.samples) sample = sample.real();
        StaticDelays delays({0.0, 2.3e-6});
        const auto plan = plan_channelise(header, n_fine, 1);
        const auto channel_hz = plan.channel_hz();
        for (std::size_t i = 1; i < channel_hz.size(); ++i)
          BOOST_TEST(channel_hz[i] - channel_hz[i - 1] == plan.channel_step_hz(),
                     boost::test_tools::tolerance(1e-6));
        BOOST_TEST(std::abs(plan.channel_step_hz()) == 1e6 / static_cast<double>(n_fine),
                   boost::test_tools::tolerance(1e-12));
        Channeliser channeliser(plan, &delays);
        channeliser.append(recording.block(0, 128));
        SpectraBlock block;
        channeliser.spectra(1, 2, 0, 2, block);
        double worst = 0;
        for (std::size_t chan = 0; chan < 2; ++chan)
          for (std::size_t fine = 0; fine < n_fine; ++fine)
            for (std::size_t input = 0; input < 4; ++input) {
              const std::size_t ant = input / 2;
              const double tau = ant == 0 ? 0.0 : 2.3e-6;
              const auto shift = static_cast<std::int64_t>(std::lround(tau / header.sample_s));
              std::vector<std::complex<double>> x;
              for (std::size_t n = 0; n < length; ++n)
                x.push_back(
                    recording.at(2 * length + n - static_cast<std::size_t>(shift), chan, ant, input % 2));
              const double sky = channel_hz[chan * n_fine + fine];
              const bool mirrored = real && falling;
              const double centre = header.channel_freq_hz(chan);
              const double zero = !real ? centre : mirrored ? centre + 0.5e6 : centre - 0.5e6;
              const double bin = (sky - zero) * static_cast<double>(length) * header.sample_s;
              const double turn = sky * tau - (sky - zero) * static_cast<double>(shift) * header.sample_s;
              auto truth = reference::spectrum(x, bin, mirrored ? 0 : turn);
              if (mirrored)
                truth = std::conj(reference::spectrum(x, -bin, 0)) *
                        std::polar(1.0, -kTwoPi * std::fmod(turn, 1.0));
              const std::complex<double> value(block.planes(chan * n_fine + fine, 0, 1, input),
                                               block.planes(chan * n_fine + fine, 0, 1, 16 + input));
              worst = std::max(worst, std::abs(value - truth));
            }
        BOOST_TEST(worst < 3e-6);  // float32 of values near 1, phases reduced in float64; measured 2.6e-7
        BOOST_TEST(worst > 0);
      }
}

BOOST_AUTO_TEST_CASE(bandwidth_loss_is_a_sinc) {
  // 350 m of delay across a channel of 10 kHz, averaged from 32 channels of one tone each
  const auto header = voltage_header(1, 2, 1, 1.28e6, 150e6);
  constexpr std::size_t n_fine = 4096, n_average = 32;
  const double tau = 350 / kSpeedOfLight_m_s;
  Recording recording(header, n_fine);
  // an impulse has all tones at once; delayed through the transform's own shift theorem
  std::vector<std::complex<double>> spectrum(n_fine);
  for (std::size_t ant = 0; ant < 2; ++ant)
    for (std::size_t t = 0; t < n_fine; ++t) {
      std::complex<double> sum = 0;
      for (std::size_t k = 0; k < n_fine; ++k) {
        const double bin = static_cast<double>(k) - n_fine / 2;
        const double hz = 150e6 + bin * 312.5;
        sum += std::polar(1.0, kTwoPi * (std::fmod(bin * static_cast<double>(t) / n_fine, 1.0) +
                                         (ant == 1 ? std::fmod(hz * tau, 1.0) : 0.0)));
      }
      recording.at(t, 0, ant, 0) = sum / std::sqrt(static_cast<double>(n_fine));
    }
  correlate(recording, {.n_fine = n_fine}, [&](const Correlator& correlator, const Integrator&) {
    const auto record = mean_of(correlator, 2, 1, n_average);
    double loss = 0;
    for (std::size_t out = 0; out < n_fine / n_average; ++out)
      loss += (1 - std::abs(std::complex<double>(record.data(1, out, 0)))) * n_average / n_fine;
    const double x = kPi * 1e4 * tau;
    BOOST_TEST_MESSAGE("loss " << loss << ", 1 - sinc " << 1 - std::sin(x) / x);
    // measured 2.24e-4, 0.1 % below
    BOOST_TEST(loss == 1 - std::sin(x) / x, boost::test_tools::tolerance(0.02));
    BOOST_TEST(loss == 2.24e-4, boost::test_tools::tolerance(0.02));
  });
}

BOOST_AUTO_TEST_CASE(channel_response_is_that_of_a_plain_transform) {
  const auto header = voltage_header(1, 1, 1, 1.28e6, 150e6);
  constexpr std::size_t n_fine = 128;
  const auto response_db = [&](double channels_off) {
    Recording recording(header, n_fine * 4);
    for (std::size_t t = 0; t < recording.n_time; ++t)
      recording.at(t, 0, 0, 0) =
          std::polar(1.0, kTwoPi * std::fmod((10 + channels_off) * static_cast<double>(t) / n_fine, 1.0));
    double power = 0;
    correlate(recording, {.n_fine = n_fine}, [&](const Correlator& correlator, const Integrator&) {
      power = correlator.sum(64 + 10, 0, 0).real() / 4 / n_fine;
    });
    return 10 * std::log10(power);
  };
  // measured 3e-7, 0.0022 and 0.0003 dB off
  BOOST_TEST(std::abs(response_db(0)) < 1e-4);
  BOOST_TEST(std::abs(response_db(0.5) + 3.92) <= 0.05);
  BOOST_TEST(std::abs(response_db(-0.5) + 3.92) <= 0.05);
  double sidelobe = -100;
  for (double off = 1.2; off < 1.8; off += 0.01) sidelobe = std::max(sidelobe, response_db(off));
  BOOST_TEST(std::abs(sidelobe + 13.26) <= 0.05);
}

BOOST_AUTO_TEST_CASE(real_bands_with_negative_width_are_of_the_lower_sideband) {
  // a wave at `sky_hz` that was mixed with the band's lower edge, or, with BW < 0, with its upper one
  constexpr std::size_t n_fine = 16;
  const std::vector<double> delay_s{0.0, 7.7e-6};
  for (const bool falling : {false, true})
    for (const std::size_t n_chan : {1, 2}) {
      auto header = voltage_header(n_chan, 2, 1, falling ? -1.6e6 : 1.6e6, 150e6);
      header.n_dim = 1;
      header.sample_s /= 2;
      const double width_hz = 1.6e6 / static_cast<double>(n_chan);
      const double fine_hz = width_hz / n_fine;
      const std::size_t chan = n_chan - 1;
      const double centre_hz = header.channel_freq_hz(chan);
      const double mixer_hz = falling ? centre_hz + width_hz / 2 : centre_hz - width_hz / 2;
      const double sky_hz = falling ? mixer_hz - 5 * fine_hz : mixer_hz + 5 * fine_hz;
      Recording recording(header, 2 * n_fine * 6);
      for (std::size_t t = 0; t < recording.n_time; ++t)
        for (std::size_t ant = 0; ant < 2; ++ant)
          recording.at(t, chan, ant, 0) = static_cast<float>(std::cos(
              kTwoPi * (std::fmod((sky_hz - mixer_hz) * static_cast<double>(t) * header.sample_s, 1.0) +
                        std::fmod(sky_hz * delay_s[ant], 1.0))));
      const auto channel_hz = plan_channelise(header, n_fine, 1).channel_hz();
      StaticDelays delays(delay_s);
      int n_checked = 0;
      correlate(recording, {.n_fine = n_fine, .n_spectra = 4, .delays = &delays},
                [&](const Correlator& correlator, const Integrator&) {
                  const auto record = mean_of(correlator, 2, 4);
                  if (!(record.weight(1, 0, 0) > 0)) return;
                  ++n_checked;
                  std::size_t best = 0;
                  for (std::size_t out = 0; out < channel_hz.size(); ++out)
                    if (std::abs(record.data(1, out, 0)) > std::abs(record.data(1, best, 0))) best = out;
                  BOOST_TEST(std::abs(channel_hz[best] - sky_hz) < 1e-3);
                  BOOST_TEST(std::abs(std::arg(record.data(1, best, 0))) < 1e-5);  // measured 8e-8
                  // L / 4: half of the power of a cosine in L / 2 channels; measured 1e-6 off
                  BOOST_TEST(std::abs(std::abs(record.data(1, best, 0)) - n_fine / 2.0) < 1e-5);
                });
      BOOST_TEST(n_checked > 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
