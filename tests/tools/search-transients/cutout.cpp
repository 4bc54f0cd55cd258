// SPDX-License-Identifier: GPL-3.0-or-later
// The dynamic spectrum that a candidate's picture shows: frequencies and times are where they belong.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

#include "tools/search-transients/engine.h"
#include "tools/search-transients/results.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(cutout)

BOOST_AUTO_TEST_CASE(cutouts_show_frequencies_and_times_where_they_are) {
  constexpr std::size_t n_chan = 32, n_time = 8192, kWidth = 4;
  constexpr double kDm = 30, kMiddle = 3000;
  for (const double step_hz : {-1e6, 1e6}) {
    FilterbankInput input;
    input.header.n_chan = n_chan, input.header.n_bit = 8, input.header.sample_s = 1e-3;
    input.header.step_hz = step_hz;
    input.header.first_hz = step_hz < 0 ? 400e6 : 369e6;
    const DispersionBand band{input.header.first_hz, step_hz, n_chan, 1e-3};

    SearchPlan plan;
    plan.dm = {kDm};
    plan.widths = {kWidth};
    plan.dedispersion = plan_dedispersion(band, {{1, {kDm}}});
    plan.excise = {n_chan, 0, false, 1};
    plan.series = {plan_series(4096, plan.widths, plan.threshold)};
    plan.segment = plan.block = 4096, plan.gulp = n_time;

    // noise of 10 around 100, and a pulse in the upper quarter of the band
    RawBlock block{std::vector<std::uint8_t>(n_chan * n_time), n_time, true, {}};
    std::mt19937 random(1);
    std::normal_distribution<double> normal(100, 10);
    for (std::size_t t = 0; t < n_time; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        const double hz = band.channel_hz(chan), delay = kDm / 2.41e-4 * (1e12 / (hz * hz) - 1 / 160e3) * 1e3;
        const bool on = hz > 392.5e6 && std::abs(static_cast<double>(t) + 0.5 - delay - kMiddle) < kWidth / 2;
        block.bytes[t * n_chan + chan] = static_cast<std::uint8_t>(std::lround(normal(random)) + 60 * on);
      }
    TransientSearch search(plan, input, Device{}, 1, true);
    search.measure(block);
    search.push(block);
    const std::vector<FoundCandidate> found = search.take();
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(std::abs(static_cast<double>(found[0].candidate.best.begin) + kWidth / 2 - kMiddle) <= 1);
    const PulseCutout& cutout = found[0].cutout.value();
    BOOST_TEST(cutout.low_hz == 368.5e6);
    BOOST_TEST(cutout.high_hz == 400.5e6);
    BOOST_TEST(cutout.step_s == 1e-3);
    BOOST_TEST_REQUIRE(cutout.spectrum.extent(0) == n_chan);
    for (std::size_t row = 0; row < n_chan; ++row) {  // ascending frequencies
      double on = 0, off = 0, n_on = 0, n_off = 0;
      for (std::size_t column = 0; column < cutout.spectrum.extent(1); ++column) {
        const double at_s = cutout.first_s + (static_cast<double>(column) + 0.5) * cutout.step_s;
        const bool inside = std::abs(at_s) < 1.1e-3;  // the inner two of four samples
        (inside ? on : off) += cutout.spectrum(row, column), (inside ? n_on : n_off) += 1;
      }
      const bool lit = 369e6 + 1e6 * static_cast<double>(row) > 392.5e6;
      BOOST_TEST(n_on == 2.0);
      BOOST_TEST(std::abs(off / n_off) < 0.6, "row " << row);
      BOOST_TEST((on / n_on > 3.5) == lit, "row " << row << ": " << on / n_on);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
