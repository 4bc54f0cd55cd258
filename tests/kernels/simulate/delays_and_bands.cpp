// SPDX-License-Identifier: GPL-3.0-or-later
// Voltages against the sampling theorem and the exact geometry.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/reference/delayed_signal.h"
#include "tests/support/voltage_bench.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::bench;

BOOST_AUTO_TEST_SUITE(delays_and_bands)

namespace {

/// Antenna 1 of the array against what the sampling theorem makes of antenna 0, which stands at the site.
void check_delays(VoltageSetup setup, const Star& star, double cable_delay_s) {
  setup.cable_delay_s[1] = cable_delay_s;
  const VoltagePlan plan = plan_voltages(setup, 2);
  const std::size_t n_time = plan.hop + plan.hop / 2;  // across the edge of two blocks
  const auto stream = stream_of(setup, {star}, n_time);
  const Samples origin = input_of(stream, 4, 0), far = input_of(stream, 4, 2);
  const auto delay_s = [&](std::size_t n) {
    const Vec3 unit = star.at(static_cast<double>(n) / plan.sample_rate_hz);
    return dot(setup.antenna_enu_m[1], unit) / kSpeedOfLight_m_s - cable_delay_s;
  };
  const std::size_t half = 256, margin = half + plan.guard;
  const auto expected = reference::delayed_signal(origin, plan.sample_rate_hz, setup.freq_hz, delay_s, half);
  const std::vector<std::complex<double>> measured(far.begin(), far.end());
  const std::size_t n_chan = 64, n_sections = 4, section = (n_time - 2 * margin) / n_sections;
  double worst_phase = 0, worst_amplitude = 0;
  for (std::size_t first = margin; first + section + margin <= n_time; first += section) {
    // Sections apart, because errors that are odd in time about the middle of a block cancel over the whole.
    const auto a = std::span(measured).subspan(first, section),
               b = std::span(expected).subspan(first, section);
    const auto cross = reference::cross_spectrum(a, b, n_chan),
               power = reference::cross_spectrum(b, b, n_chan);
    for (std::size_t k = 3; k < n_chan - 2; ++k) {  // two channels at either edge see the ideal filters' cut
      worst_phase = std::max(worst_phase, std::abs(std::arg(cross[k])));
      worst_amplitude = std::max(worst_amplitude, std::abs(std::abs(cross[k]) / power[k].real() - 1));
    }
  }
  BOOST_TEST_MESSAGE("delay " << delay_s(0) * plan.sample_rate_hz << " samples, order " << plan.order
                              << ", n_fft " << plan.n_fft << ": phase error " << worst_phase
                              << " rad, amplitude " << worst_amplitude);
  BOOST_TEST(worst_phase < 1e-4);
  BOOST_TEST(worst_amplitude < 1e-4);
}

}  // namespace

BOOST_AUTO_TEST_CASE(delays_of_a_small_array_are_exact) {
  check_delays(setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {150, -90, 3}}), {-0.3, -0.5}, 0);
}
BOOST_AUTO_TEST_CASE(delays_include_cables) {
  check_delays(setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {150, -90, 3}}), {-0.3, -0.5}, 2.5e-6);
}
// 21 km at 1.4 GHz: fringes turn by 45 rad/s, and the delay is 80 samples.
BOOST_AUTO_TEST_CASE(delays_of_a_large_array_are_exact) {
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {21e3, 2e3, 50}});
  setup.freq_hz = 1.4e9;
  check_delays(setup, {-0.4, 0.8}, 0);
}
// A narrow channel: fringes turn far within a block.
BOOST_AUTO_TEST_CASE(delays_in_a_narrow_channel_are_exact) {
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {3000, 400, 0}});
  setup.bandwidth_hz = 40e3;
  check_delays(setup, {-0.4, 0.8}, 0);
}

// The fringe rate of the top of the band is twice that of its bottom.
BOOST_AUTO_TEST_CASE(delays_over_a_wide_band_are_exact) {
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {80e3, 4e3, 0}});
  setup.freq_hz = 15e6;
  setup.bandwidth_hz = 10e6;
  check_delays(setup, {-0.4, 0.1}, 0);
}

// Two antennas at one place, one of them behind a column of electrons that grows: what is between them is the
// phase of the column, over the channel and in time.
BOOST_AUTO_TEST_CASE(phases_of_an_ionosphere_follow_its_electrons) {
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}});
  const auto tec_tecu = [](double seconds) { return 0.2 + 0.005 * seconds; };
  setup.ionosphere_rate_rad_s = 1;
  const VoltagePlan plan = plan_voltages(setup, 2);
  VoltageSimulator simulator(setup, plan, 2);
  const double hop_s = double(plan.hop) / plan.sample_rate_hz;
  const std::size_t n_time = 2 * plan.hop;
  std::vector<std::uint8_t> stream(n_time * plan.time_bytes, 0xaa);
  for (std::size_t block = 0; block < 2; ++block) {
    BlockDirections directions{
        {{0, 0, 1}}, {{0, 0, 1}}, Buffer<double, 2>({1, 2}), Buffer<double, 2>({1, 2})};
    directions.start_tec_tecu(0, 1) = tec_tecu(double(block) * hop_s);
    directions.end_tec_tecu(0, 1) = tec_tecu(double(block + 1) * hop_s);
    simulator.simulate(
        static_cast<std::int64_t>(block), directions, plan.hop,
        std::span(stream).subspan(block * plan.hop * plan.time_bytes, plan.hop * plan.time_bytes));
  }
  const Samples origin = input_of(stream, 4, 0), behind = input_of(stream, 4, 2);
  const auto phase_rad = [&](double freq_hz, double seconds) {
    return -8.44797245e9 * tec_tecu(seconds) / freq_hz;
  };
  // The fast part of the phase is taken away before sections are averaged.
  const std::vector<std::complex<double>> near(origin.begin(), origin.end());
  std::vector<std::complex<double>> far(behind.begin(), behind.end());
  for (std::size_t n = 0; n < far.size(); ++n)
    far[n] *= std::polar(1.0, -phase_rad(150e6, double(n) / plan.sample_rate_hz));
  const std::size_t n_chan = 512, section = n_chan * 24;
  double worst = 0;
  for (std::size_t first = 0; first + section <= n_time; first += section) {
    const auto cross = reference::cross_spectrum(std::span(far).subspan(first, section),
                                                 std::span(near).subspan(first, section), n_chan);
    const double middle_s = double(first + section / 2) / plan.sample_rate_hz;
    for (std::size_t k = 24; k < n_chan - 16; ++k) {
      const double freq_hz = 150e6 + (double(k) - 256) * 1.28e6 / 512;
      const double expected = phase_rad(freq_hz, middle_s) - phase_rad(150e6, middle_s);
      worst = std::max(worst, std::abs(std::remainder(std::arg(cross[k]) - expected, kTwoPi)));
    }
  }
  BOOST_TEST_MESSAGE("phase error " << worst << " rad, order " << plan.order);
  BOOST_TEST(worst < 1e-4);
}

// A plan that did not know how fast phases change refuses rather than be wrong.
BOOST_AUTO_TEST_CASE(an_ionosphere_faster_than_planned_is_refused) {
  const VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}});
  const VoltagePlan plan = plan_voltages(setup, 1);
  VoltageSimulator simulator(setup, plan, 1);
  BlockDirections directions{{{0, 0, 1}}, {{0, 0, 1}}, Buffer<double, 2>({1, 1}), Buffer<double, 2>({1, 1})};
  directions.end_tec_tecu(0, 0) = 0.1;
  std::vector<std::uint8_t> stream(plan.hop * plan.time_bytes);
  BOOST_CHECK_THROW(simulator.simulate(0, directions, plan.hop, stream), FailureError);
}

BOOST_AUTO_TEST_CASE(a_point_source_has_its_amplitude_and_no_closure_phase) {
  const Star star{-0.44, 0.05};
  const std::size_t n_time = 60000;
  const VoltageSetup setup = setup_of({{4, 0, 0, 0}}, {{20, 5, 0}, {-9, 12, 1}, {3, -17, 0}});
  const auto stream = stream_of(setup, {star}, n_time);
  std::complex<double> v[3];
  for (int k = 0; k < 3; ++k)
    v[k] = mean_product(input_of(stream, 6, 2 * k), input_of(stream, 6, (2 * k + 2) % 6));
  const double power = mean_product(input_of(stream, 6, 0), input_of(stream, 6, 0)).real();
  const double five_sigma = 5 / std::sqrt(double(n_time));
  BOOST_TEST_MESSAGE("closure phase " << std::arg(v[0] * v[1] * v[2]) << " rad");
  BOOST_TEST(std::abs(std::arg(v[0] * v[1] * v[2])) < 1e-3);
  BOOST_TEST(std::abs(power / 4 - 1) < five_sigma);
  for (int k = 0; k < 3; ++k) {
    const Vec3 baseline = setup.antenna_enu_m[k] - setup.antenna_enu_m[(k + 1) % 3];
    const double samples = dot(baseline, star.at(0.5 * n_time / 1.28e6)) / kSpeedOfLight_m_s * 1.28e6;
    const double loss = std::sin(kPi * samples) / (kPi * samples);  // over the whole band
    const double phase = std::remainder(kTwoPi * 150e6 / 1.28e6 * samples, kTwoPi);
    // The signal is the same in both antennas: only what the delay shifts between the band's halves
    // fluctuates.
    BOOST_TEST(std::abs(v[k] / power - std::polar(loss, phase)) < kPi * std::abs(samples) * five_sigma);
  }
}

BOOST_AUTO_TEST_CASE(spectrum_follows_the_source) {
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}});
  setup.freq_hz = 3e6, setup.bandwidth_hz = 2e6;
  setup.sky.components[0].reference_freq_hz = 3e6;
  setup.sky.components[0].spectral_terms = {-2};
  const auto stream = stream_of(setup, {{-0.4, 0.1}}, 200000);
  const Samples x = input_of(stream, 2, 0);
  const std::vector<std::complex<double>> wide(x.begin(), x.end());
  const std::size_t n_chan = 32;
  const auto power = reference::cross_spectrum(wide, wide, n_chan);
  double total = 0, expected_total = 0;
  std::vector<double> expected(n_chan);
  for (std::size_t k = 1; k < n_chan; ++k) {
    expected[k] = std::pow((3e6 + (double(k) - 16) * 2e6 / n_chan) / 3e6, -2);
    total += power[k].real(), expected_total += expected[k];
  }
  for (std::size_t k = 2; k + 1 < n_chan; ++k)  // 5 sigma of 12500 half overlapping windows
    BOOST_TEST(std::abs(power[k].real() / total * expected_total / expected[k] - 1) < 5 / std::sqrt(6250.0));
}

BOOST_AUTO_TEST_SUITE_END()
