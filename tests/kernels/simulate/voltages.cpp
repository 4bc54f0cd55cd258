// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of simulated voltages, their encoding and their independence of threads and lengths.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/simulate/pulsar.h"
#include "libcore/base/error.h"
#include "tests/support/voltage_bench.h"

using namespace apsyn;
using namespace apsyn::simulate;
using namespace apsyn::bench;

BOOST_AUTO_TEST_SUITE(voltages)

// Two sources add as powers, and a polarised one has its coherency.
BOOST_AUTO_TEST_CASE(sources_are_incoherent_and_polarised) {
  const std::size_t n_time = 200000;
  const VoltageSetup setup = setup_of({{3, 1, -1.5, 2}, {2, 0, 0, 0}}, {{0, 0, 0}});
  const auto stream = stream_of(setup, {{-0.4, 0.1}, {-0.5, 0.1}}, n_time);
  const Samples x = input_of(stream, 2, 0), y = input_of(stream, 2, 1);
  const double five_sigma = 5 / std::sqrt(double(n_time));  // of a product of two signals of unit power
  BOOST_TEST(std::abs(mean_product(x, x) - 6.0) < 6 * five_sigma);
  BOOST_TEST(std::abs(mean_product(y, y) - 4.0) < 4 * five_sigma);
  BOOST_TEST(std::abs(mean_product(x, y) - std::complex<double>(-1.5, 2)) < std::sqrt(24) * five_sigma);
}

BOOST_AUTO_TEST_CASE(fully_polarised_sources_are_mixed_to_their_stokes_parameters) {
  for (const std::array<double, 4>& s : {std::array<double, 4>{1, -1, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, -1}}) {
    const Mixing m = mixing_from_stokes(s);
    BOOST_TEST(std::abs(m.xx * m.xx - (s[0] + s[1])) < 1e-15);
    BOOST_TEST(std::abs(m.xx * std::conj(m.yx) - std::complex(s[2], s[3])) < 1e-15);
    BOOST_TEST(std::abs(std::norm(m.yx) + m.yy * m.yy - (s[0] - s[1])) < 1e-15);
  }
}

BOOST_AUTO_TEST_CASE(noise_has_its_level_and_is_independent) {
  VoltageSetup setup = setup_of({}, {{0, 0, 0}, {10, 0, 0}});
  setup.sefd_jy = 25;
  const std::size_t n_time = 200000;
  const auto stream = stream_of(setup, {}, n_time);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      BOOST_TEST(std::abs(mean_product(input_of(stream, 4, i), input_of(stream, 4, j)) -
                          (i == j ? 25.0 : 0.0)) < 5 * 25 / std::sqrt(double(n_time)));
}

// Sample by sample: what an antenna receives of two sources is its matrix of each times what it would receive
// of that source alone, across blocks and in both channels. And correlated, in float64, the fringes of J_i B
// J_j^H, to what the noise of the sources themselves leaves.
BOOST_AUTO_TEST_CASE(matrices_mix_what_feeds_receive_of_each_source) {
  const std::vector<std::array<double, 4>> stokes{{3, 1, -1.5, 2}, {2, 0, 0.5, 0}};
  const std::vector<Star> stars{{-0.4, 0.1}, {-0.5, -0.2}};
  VoltageSetup setup = setup_of(stokes, {{0, 0, 0}, {40, 10, 0}, {-150, 220, 3}});
  setup.n_chan = 2;
  const VoltagePlan plan = plan_voltages(setup, 2);
  const std::size_t n_time = plan.hop + 5000;
  const auto matrices = [&](const auto& value) {
    auto jones =
        std::make_shared<Buffer<std::complex<float>, 4>>(Buffer<std::complex<float>, 4>({2, 3, 2, 4}));
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t ant = 0; ant < 3; ++ant)
        for (std::size_t s = 0; s < 2; ++s)
          for (std::size_t i = 0; i < 4; ++i)
            (*jones)(chan, ant, s, i) = std::complex<float>(value(chan, ant, s, i));
    return jones;
  };
  const auto of = [](std::size_t chan, std::size_t ant, std::size_t s, std::size_t i) {
    return std::polar(0.4 + 0.1 * double((i + ant) % 4),
                      1.0 + 0.7 * double(ant * s) - double(i) + double(chan));
  };
  const auto seen = stream_of(setup, stars, n_time, 2, matrices(of));
  std::vector<std::vector<std::uint8_t>> alone;
  for (std::size_t only = 0; only < 2; ++only)
    alone.push_back(stream_of(setup, stars, n_time, 2, matrices([&](auto, auto, auto s, auto i) {
                                return s == only && (i == 0 || i == 3) ? 1.0 : 0.0;
                              })));
  double worst = 0;
  for (std::size_t chan = 0; chan < 2; ++chan)
    for (std::size_t ant = 0; ant < 3; ++ant)
      for (std::size_t pol = 0; pol < 2; ++pol) {
        const std::size_t first = (chan * 3 + ant) * 2;
        const Samples found = input_of(seen, 12, first + pol);
        std::vector<std::complex<double>> expected(n_time);
        for (std::size_t s = 0; s < 2; ++s) {
          const Samples x = input_of(alone[s], 12, first), y = input_of(alone[s], 12, first + 1);
          for (std::size_t n = 0; n < n_time; ++n)
            expected[n] += of(chan, ant, s, 2 * pol) * std::complex<double>(x[n]) +
                           of(chan, ant, s, 2 * pol + 1) * std::complex<double>(y[n]);
        }
        for (std::size_t n = 0; n < n_time; ++n)
          worst = std::max(worst, std::abs(std::complex<double>(found[n]) - expected[n]));
      }
  BOOST_TEST_MESSAGE("samples are off by " << worst);
  BOOST_TEST(worst < 1e-5);

  for (std::size_t chan = 0; chan < 2; ++chan)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = i; j < 3; ++j) {
        std::complex<double> expected[2][2] = {};
        for (std::size_t s = 0; s < 2; ++s) {
          const Vec3 unit = stars[s].at(0.5 * double(n_time) / plan.sample_rate_hz);
          const auto v =
              reference::visibility({unit, stokes[s]}, setup.antenna_enu_m[i], setup.antenna_enu_m[j],
                                    {0, 0, 0}, plan.channel_freq_hz(setup, chan));
          for (std::size_t p = 0; p < 2; ++p)
            for (std::size_t q = 0; q < 2; ++q)
              for (std::size_t m = 0; m < 2; ++m)
                for (std::size_t n = 0; n < 2; ++n)
                  expected[p][q] +=
                      of(chan, i, s, 2 * p + m) * v[m][n] * std::conj(of(chan, j, s, 2 * q + n));
        }
        for (std::size_t p = 0; p < 2; ++p)
          for (std::size_t q = 0; q < 2; ++q)
            BOOST_TEST(std::abs(mean_product(input_of(seen, 12, (chan * 3 + i) * 2 + p),
                                             input_of(seen, 12, (chan * 3 + j) * 2 + q)) -
                                expected[p][q]) < 5 * 4 / std::sqrt(double(n_time)));
      }
}

BOOST_AUTO_TEST_CASE(matrices_of_another_shape_are_refused) {
  const VoltageSetup setup = setup_of({{2, 0, 0, 0}}, {{0, 0, 0}});
  const auto jones =
      std::make_shared<Buffer<std::complex<float>, 4>>(Buffer<std::complex<float>, 4>({1, 1, 2, 4}));
  BOOST_CHECK_THROW(stream_of(setup, {{-0.4, 0.1}}, 100, 2, jones), std::invalid_argument);
}

// Steps of the quantiser are those of the power that arrives.
BOOST_AUTO_TEST_CASE(steps_follow_the_power_that_is_received) {
  VoltageSetup setup = setup_of({{2, 0, 0, 0}, {6, 0, 0, 0}}, {{0, 0, 0}});
  setup.n_bit = 8;
  const double step = plan_voltages(setup, 1).step;
  setup.received = {0.25, 0.25};
  BOOST_TEST(std::abs(plan_voltages(setup, 1).step / step - 0.5) < 1e-12);
  setup.received = {4, 0};
  BOOST_TEST(std::abs(plan_voltages(setup, 1).step / step - 1) < 1e-12);
}

// Sample by sample, against the same field without gains: g is linear in amplitude and phase between its
// times and constant beyond them. What is neglected is (phase change of 64 samples)^2 / 8 = 8e-8, less than
// float32's rounding.
BOOST_AUTO_TEST_CASE(gains_drift_between_their_times) {
  VoltageSetup setup = setup_of({{2, 0, 0, 0}}, {{0, 0, 0}, {40, 10, 0}});
  const VoltagePlan plan = plan_voltages(setup, 2);
  const std::size_t n_time = plan.hop + 5000;  // across the edge of two blocks
  const auto plain = stream_of(setup, {{-0.4, 0.1}}, n_time);
  const double first_s = 1024 / plan.sample_rate_hz, last_s = 30016 / plan.sample_rate_hz;
  setup.gains.resize(4);
  setup.gains[1] = {{0}, {0.5}, {1}};
  setup.gains[2] = {{first_s, last_s}, {1, 3}, {-0.2, 0.16}};
  setup.gains[3] = {{0}, {0}, {0}};
  const auto distorted = stream_of(setup, {{-0.4, 0.1}}, n_time);
  const auto expected = [&](std::size_t input, std::size_t n) -> std::complex<double> {
    if (input == 0) return 1;
    if (input == 1) return std::polar(0.5, 1.0);
    if (input == 3) return 0;
    const double share = std::clamp((static_cast<double>(n) - 1024) / 28992, 0.0, 1.0);
    return std::polar(1 + 2 * share, -0.2 + 0.36 * share);
  };
  double worst = 0;
  for (std::size_t input = 0; input < 4; ++input) {
    const Samples before = input_of(plain, 4, input), after = input_of(distorted, 4, input);
    for (std::size_t n = 0; n < n_time; ++n)
      worst = std::max(worst, std::abs(std::complex<double>(after[n]) -
                                       expected(input, n) * std::complex<double>(before[n])));
  }
  BOOST_TEST_MESSAGE("gains are off by " << worst);
  BOOST_TEST(worst < 2e-5);  // of samples of up to 15
}

BOOST_AUTO_TEST_CASE(below_the_horizon_is_silent) {
  const VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}});
  const auto stream = stream_of(setup, {{-0.4, 3.0}}, 1000);
  BOOST_TEST(std::abs(mean_product(input_of(stream, 2, 0), input_of(stream, 2, 0))) == 0);
}

BOOST_AUTO_TEST_CASE(threads_and_lengths_change_nothing) {
  VoltageSetup setup = setup_of({{5, 0, 0, 0}, {2, 1, 0, 0}}, {{0, 0, 0}, {100, 30, 0}, {-20, 77, 1}});
  setup.n_chan = 3;
  setup.n_bit = 4;
  setup.sefd_jy = 10;
  setup.dropped_fraction = 0.1;
  const std::vector<Star> stars{{-0.4, 0.1}, {-0.5, 0.2}};
  const auto one = stream_of(setup, stars, 40000, 1);
  for (unsigned n_threads : {2u, 4u, 7u}) BOOST_TEST((stream_of(setup, stars, 40000, n_threads) == one));
  const auto shorter = stream_of(setup, stars, 30001, 2);
  BOOST_TEST(std::equal(shorter.begin(), shorter.end(), one.begin()));
  setup.seed = 4;
  BOOST_TEST((stream_of(setup, stars, 40000) != one));
}

BOOST_AUTO_TEST_CASE(dropped_packets_are_aligned_and_whole) {
  VoltageSetup setup = setup_of({}, {{0, 0, 0}, {10, 0, 0}});
  setup.sefd_jy = 1;
  setup.n_chan = 2;
  setup.n_bit = 8;
  setup.dropped_fraction = 0.25;
  const std::size_t n_packets = 1000, time_bytes = 2 * 2 * 2 * 2;
  const auto stream = stream_of(setup, {}, 128 * n_packets);
  std::size_t n_dropped = 0;
  for (std::size_t packet = 0; packet < n_packets; ++packet) {
    for (std::size_t ant = 0; ant < 2; ++ant) {
      std::size_t n_zero_inputs = 0;
      for (std::size_t input : {2 * ant, 2 * ant + 1, 4 + 2 * ant, 5 + 2 * ant}) {
        bool zero = true;
        for (std::size_t n = packet * 128; n < (packet + 1) * 128; ++n)
          zero =
              zero && stream[n * time_bytes + input * 2] == 0 && stream[n * time_bytes + input * 2 + 1] == 0;
        n_zero_inputs += zero;
      }
      BOOST_TEST((n_zero_inputs == 0 || n_zero_inputs == 4));
      n_dropped += n_zero_inputs == 4;
    }
  }
  BOOST_TEST(std::abs(double(n_dropped) / (2 * n_packets) - 0.25) <
             5 * std::sqrt(0.25 * 0.75 / (2 * n_packets)));
}

// The squared correlation of quantised with unquantised noise is what a weak correlation keeps of its signal
// to noise.
BOOST_AUTO_TEST_CASE(quantisation_keeps_the_known_efficiency_and_scale) {
  const std::size_t n_time = 400000;
  VoltageSetup setup = setup_of({}, {{0, 0, 0}});
  setup.sefd_jy = 7;
  const Samples exact = input_of(stream_of(setup, {}, n_time), 2, 0);
  for (auto [n_bit, efficiency] : {std::pair{4u, 0.9881}, std::pair{8u, 0.9999}}) {
    setup.n_bit = n_bit;
    const auto encoded = stream_of(setup, {}, n_time);
    double product = 0, quantised_power = 0, exact_power = 0;
    for (std::size_t n = 0; n < n_time; ++n) {
      const int byte = encoded[2 * n];
      const double re = n_bit == 4 ? (byte >> 4 ^ 8) - 8 : static_cast<std::int8_t>(encoded[4 * n]);
      const double im = n_bit == 4 ? ((byte & 15) ^ 8) - 8 : static_cast<std::int8_t>(encoded[4 * n + 1]);
      product += re * exact[n].real() + im * exact[n].imag();
      quantised_power += re * re + im * im;
      exact_power += std::norm(exact[n]);
    }
    const double measured = product * product / (quantised_power * exact_power);
    BOOST_TEST_MESSAGE(n_bit << " bit: efficiency " << measured);
    BOOST_TEST(std::abs(measured - efficiency) < 0.001);
    const double scale = plan_voltages(setup, 1).scale;
    BOOST_TEST(std::abs(quantised_power / n_time * (scale * scale) / 7 - 1) < (n_bit == 4 ? 0.02 : 0.01));
    // Correlations come out right: 5 sigma of what the rounding errors add, sqrt(1 / 12) of a step.
    const double gain = product * scale / exact_power;
    BOOST_TEST_MESSAGE(n_bit << " bit: amplitude in correlations " << gain);
    BOOST_TEST(std::abs(gain - 1) < 5 * std::sqrt(1 / 12. / (2 * n_time)) / (n_bit == 4 ? 2.95 : 32));
  }
}

// A cluster of emitters stands for a Gaussian; one that is resolved too far is refused.
BOOST_AUTO_TEST_CASE(gaussian_components_become_clusters_of_emitters) {
  SkyModel sky;
  sky.components.resize(1);
  SkyComponent& component = sky.components[0];
  component.name = "blob";
  component.direction = {1.0, -0.5};
  component.stokes_jy = {2, 0, 0, 0};
  component.major_rad = 2e-3, component.minor_rad = 1e-3, component.position_angle_rad = 0.5;
  const double longest = 300;
  const auto emitters = make_emitters(sky, longest, 150e6, "sky");
  double flux = 0;
  for (const Emitter& emitter : emitters) flux += emitter.fraction;
  BOOST_TEST(std::abs(flux - 1) < 1e-12);
  for (double u : {-300.0, -100.0, 0.0, 170.0}) {
    for (double v : {-240.0, 0.0, 90.0}) {
      if (std::hypot(u, v) > longest) continue;
      std::complex<double> sum = 0;
      for (const Emitter& emitter : emitters) {
        const double da = emitter.direction.ra_rad - 1.0, d = emitter.direction.dec_rad;
        const double l = std::cos(d) * std::sin(da);
        const double m = std::sin(d) * std::cos(-0.5) - std::cos(d) * std::sin(-0.5) * std::cos(da);
        sum += emitter.fraction * std::polar(1.0, 2 * M_PI * (u * l + v * m));
      }
      const double expected = reference::gaussian_transform(u, v, 2e-3, 1e-3, 0.5);
      BOOST_TEST(std::abs(sum - expected) < 2 * kGaussianError);
    }
  }
  component.major_rad = 0.02;
  BOOST_CHECK_THROW(make_emitters(sky, longest, 150e6, "sky"), DataError);
  component.major_rad = 0, component.minor_rad = 0;
  BOOST_TEST(make_emitters(sky, longest, 150e6, "sky").size() == 1u);
  component.stokes_jy = {1, 1, 0.1, 0};
  BOOST_CHECK_THROW(make_emitters(sky, longest, 150e6, "sky"), DataError);
  component.stokes_jy = {-1, 0, 0, 0};
  BOOST_CHECK_THROW(make_emitters(sky, longest, 150e6, "sky"), DataError);
}

BOOST_AUTO_TEST_CASE(impossible_setups_are_refused) {
  BOOST_CHECK_THROW(plan_voltages(setup_of({}, {{0, 0, 0}}), 1), UsageError);  // neither sky nor noise
  VoltageSetup setup = setup_of({{1, 0, 0, 0}}, {{0, 0, 0}, {5e5, 0, 0}});
  setup.bandwidth_hz = 1000;
  BOOST_CHECK_THROW(plan_voltages(setup, 1), UsageError);
}

// The squares of the amplitudes: pulses have the mean flux of their source.
BOOST_AUTO_TEST_CASE(pulses_have_a_mean_power_of_one) {
  simulate::PulsarSignal pulsar;
  pulsar.period_s = 1;
  pulsar.duty = 0.05;
  std::vector<float> envelope(2000);  // two periods
  simulate::pulse_envelope(pulsar, 1e8, 1e-3, 0, envelope);
  const double mean = std::inner_product(envelope.begin(), envelope.end(), envelope.begin(), 0.0) / 2000;
  BOOST_TEST(std::abs(mean - 1) < 1e-6);  // floats
}

BOOST_AUTO_TEST_SUITE_END()
