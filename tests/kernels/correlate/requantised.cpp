// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra as small integers: what they are, what their correlations keep, and that nothing else changes them.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "kernels/common/spectra/multiply_codes.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(requantised)

namespace {

/// Noise that the antennas share in part, at different levels, as 8-bit samples or as it is.
Recording shared_noise(std::size_t n_ant, std::size_t n_time, unsigned seed, bool integer = true) {
  constexpr double share = 0.3;
  Recording recording(voltage_header(2, n_ant, 2, 2e6, 150e6), n_time);
  recording.integer = integer;
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t chan = 0; chan < 2; ++chan) {
      const std::complex<float> common(normal(random), normal(random));
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        for (std::size_t pol = 0; pol < 2; ++pol) {
          const std::complex<float> own(normal(random), normal(random));
          const float rms = 6.0f + 4.0f * static_cast<float>(ant);
          const auto x = rms * (static_cast<float>(std::sqrt(share)) * common +
                                static_cast<float>(std::sqrt(1 - share)) * own);
          recording.at(t, chan, ant, pol) = x;
          if (integer)
            recording.at(t, chan, ant, pol) = {std::clamp(std::nearbyint(x.real()), -128.0f, 127.0f),
                                               std::clamp(std::nearbyint(x.imag()), -128.0f, 127.0f)};
        }
    }
  return recording;
}

std::vector<std::complex<double>> all_sums(const Recording& recording, const Run& run) {
  std::vector<std::complex<double>> sums;
  const std::size_t n_input = recording.header.n_ant * recording.header.n_pol;
  correlate(recording, run, [&](const Correlator& x, const Integrator&) {
    for (std::size_t channel = 0; channel < recording.header.n_chan * run.n_fine; ++channel)
      for (std::size_t i = 0; i < n_input; ++i)
        for (std::size_t j = i; j < n_input; ++j) sums.push_back(x.sum(channel, i, j));
  });
  return sums;
}

VisibilityRecord means(const Recording& recording, const Run& run) {
  MeanPlan mean;
  mean.baselines = all_baselines(recording.header.n_ant, true);
  mean.n_spectra = static_cast<std::int64_t>(recording.n_time / run.n_fine);
  if (run.requantise.n_bit > 0) {
    const unsigned n_bit = run.requantise.n_bit;
    mean.quantisers.requantiser = std::make_shared<QuantiserCurve>(
        Quantiser{requantise_low(n_bit), requantise_high(n_bit), run.requantise.dither});
  }
  VisibilityRecord record;
  correlate(recording, run, [&](const Correlator& x, const Integrator&) {
    mean_of(x, correlator_plan(recording.header, run), mean, record);
  });
  return record;
}

}  // namespace

BOOST_AUTO_TEST_CASE(spectra_are_rounded_as_defined) {
  const auto recording = shared_noise(9, 32 * 100, 1);
  for (const unsigned n_bit : {4u, 8u})
    for (const bool dither : {false, true}) {
      auto plan = plan_channelise(recording.header, 32, 2);
      Channeliser exact(plan, nullptr);
      plan.requantise = {n_bit, dither};
      plan.integration_spectra = 100;
      Channeliser rounded(plan, nullptr);
      plan.codes = true;
      Channeliser coded(plan, nullptr);
      SpectraBlock truth, floats, codes;
      for (const auto& [channeliser, block] :
           {std::pair{&exact, &truth}, std::pair{&rounded, &floats}, std::pair{&coded, &codes}}) {
        block->planes.fill(7);
        channeliser->append(recording.block(0, recording.n_time));
        channeliser->end_of_stream();
        channeliser->spectra(3, 21, 0, 2, *block);
      }
      BOOST_TEST(!floats.coded);
      BOOST_TEST(codes.coded);
      std::size_t off = 0, differ = 0, clipped_now = 0;
      for (std::size_t channel = 0; channel < 64; ++channel)
        for (std::size_t input = 0; input < 18; ++input)
          for (std::size_t i = 0; i < 21; ++i) {
            const std::size_t panel = input / 16, place = input % 16;
            float d[2] = {};
            if (dither)
              requantise_dither(requantise_key(static_cast<std::uint32_t>(channel),
                                               static_cast<std::uint32_t>(input), 3 + static_cast<int>(i)),
                                static_cast<std::uint32_t>(3 + i), d[0], d[1]);
            for (std::size_t part = 0; part < 2; ++part) {
              const float x = truth.planes(channel, panel, i, 16 * part + place);
              int clipped = 0;
              const int q = requantise_round(floats.steps(channel / 32, input) * x + d[part],
                                             requantise_low(n_bit), requantise_high(n_bit), clipped);
              clipped_now += static_cast<std::size_t>(clipped);
              const float found = floats.planes(channel, panel, i, 16 * part + place);
              // a product that is rounded once more may fall on the other side of a half
              if (found != static_cast<float>(q)) ++off;
              differ += found != codes.codes(channel, panel, i / 2, 4 * place + 2 * (i % 2) + part);
            }
          }
      BOOST_TEST(off < 5u);
      BOOST_TEST(differ == 0u);
      // the other half of the last pair, and inputs that are not there
      for (std::size_t place = 0; place < 16; ++place) {
        BOOST_TEST(codes.codes(5, 0, 10, 4 * place + 2) == 0);
        BOOST_TEST(codes.codes(5, 0, 10, 4 * place + 3) == 0);
        if (place >= 2) BOOST_TEST(codes.codes(5, 1, 4, 4 * place) == 0);
      }
      // the worst input clips more than all do on average
      const double components = 64 * 21 * 2;
      BOOST_TEST(coded.clipped_share() * components * 18 >= static_cast<double>(clipped_now) - 5);
      BOOST_TEST(coded.clipped_share() * components <= static_cast<double>(clipped_now) + 5);
      BOOST_TEST(coded.clipped_share() == rounded.clipped_share());
      BOOST_TEST(exact.clipped_share() == 0);
      if (n_bit == 4) BOOST_TEST(coded.clipped_share() > 0.005);
    }
}

BOOST_AUTO_TEST_CASE(means_keep_what_the_spectra_had) {
  const auto recording = shared_noise(3, 16 * 20000, 2, false);
  const auto truth = means(recording, {.n_fine = 16});
  for (const auto& [n_bit, dither, left] :
       {std::tuple{8u, false, 7e-4}, {8u, true, 1e-3}, {4u, false, 6e-3}, {4u, true, 9e-3}}) {
    const auto found = means(recording, {.n_fine = 16, .requantise = {n_bit, dither}});
    double cross = 0, self = 0, bias = 0;
    std::size_t n = 0;
    for (std::size_t b = 0; b < 6; ++b)
      for (std::size_t channel = 0; channel < 32; ++channel)
        for (std::size_t product = 0; product < 4; ++product) {
          const auto at = [](std::size_t ant) { return ant * 3 - ant * (ant + 1) / 2 + ant; };
          const std::size_t ant1 = b < 3 ? 0 : b < 5 ? 1 : 2, ant2 = b < 3 ? b : b < 5 ? b - 2 : 2;
          const double power = std::sqrt(truth.data(at(ant1), channel, 0).real() *
                                         static_cast<double>(truth.data(at(ant2), channel, 0).real()));
          const auto difference =
              std::complex<double>(found.data(b, channel, product) - truth.data(b, channel, product)) / power;
          double& worst = ant1 == ant2 && product % 3 == 0 ? self : cross;
          worst = std::max(worst, std::abs(difference));
          bias += difference.real();
          ++n;
          BOOST_TEST(found.weight(b, channel, product) == truth.weight(b, channel, product));
        }
    bias /= static_cast<double>(n);
    BOOST_TEST_MESSAGE(n_bit << " bits, dither " << dither << ": crosses off by " << cross
                             << " of the power, autos " << self << ", on average " << bias);
    // 4.5 sigma of an autocorrelation: 2 sqrt(e / 40000), e the rounding errors over the power
    BOOST_TEST(cross < left);                // measured 0.38 to 0.48 of it
    BOOST_TEST(self < left);                 // 0.51 to 0.75
    BOOST_TEST(std::abs(bias) < left / 10);  // 0.07 to 0.1
  }
}

BOOST_AUTO_TEST_CASE(integers_do_not_depend_on_gulps_threads_or_the_kernel) {
  auto recording = shared_noise(9, 128 * 100, 3);
  for (std::size_t row = 0; row < 40; ++row) recording.valid[row * 9 + 4] = 0;
  StaticDelays delays({0, 1e-6, -3e-6, 5.5e-6, 0.4e-6, 0, 1e-7, -1e-7, 2e-6});
  for (const bool dither : {false, true}) {
    const Run run{.n_fine = 16, .n_spectra = 150, .delays = &delays, .requantise = {8, dither}};
    const auto one = all_sums(recording, run);
    const auto with = [&](auto change) {
      Run other = run;
      change(other);
      return all_sums(recording, other);
    };
    BOOST_TEST(one.size() > 0u);
    BOOST_TEST((one == with([](Run& r) { r.n_threads = 3; })));
    BOOST_TEST((one == with([](Run& r) { r.gulp = 256; })));
    if (multiplies_codes()) {
      BOOST_TEST((one == with([](Run& r) { r.codes = true; })));
      BOOST_TEST((one == with([](Run& r) {
                    r.codes = true;
                    r.n_threads = 2;
                    r.gulp = 128;
                  })));
    }
    BOOST_TEST(
        (one != all_sums(recording,
                         {.n_fine = 16, .n_spectra = 150, .delays = &delays, .requantise = {8, !dither}})));
  }
}

BOOST_AUTO_TEST_SUITE_END()
