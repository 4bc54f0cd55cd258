// SPDX-License-Identifier: GPL-3.0-or-later
// The F and X stages against what a correlator owes its users: power, noise and phases.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/constants.h"
#include "tests/reference/correlate.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(science)

namespace {

/// Delays r (cos, sin of a turning source), as the Earth would do it, but `speed` times faster.
class TurningDelays final : public DelaySource {
 public:
  TurningDelays(std::vector<double> length_m, double rate_rad_s)
      : length_m_(std::move(length_m)), rate_(rate_rad_s) {}
  void prepare(double, double) override {}
  double delay_s(std::size_t ant, double t_s) const override {
    return length_m_[ant] * std::sin(0.4 + rate_ * t_s) / kSpeedOfLight_m_s;
  }
  double max_delay_s() const override {
    double largest = 0;
    for (double length : length_m_) largest = std::max(largest, std::abs(length));
    return largest / kSpeedOfLight_m_s;
  }

 private:
  std::vector<double> length_m_;
  double rate_;
};

double degrees_off(std::complex<double> value) {
  return std::abs(std::arg(value));
}

}  // namespace

BOOST_AUTO_TEST_CASE(autos_keep_the_power_and_are_real) {
  for (const std::size_t n_fine : {16, 128, 1000}) {
    const auto recording = noise(voltage_header(1, 3, 2, 1.28e6, 150e6), n_fine * 40, 3);
    correlate(recording, {.n_fine = n_fine}, [&](const Correlator& correlator, const Integrator&) {
      const auto record = mean_of(correlator, 3, 40);
      for (std::size_t input = 0; input < 6; ++input) {
        double power = 0, mean = 0;
        auto& source = const_cast<Recording&>(recording);
        for (std::size_t t = 0; t < n_fine * 40; ++t)
          power += std::norm(std::complex<double>(source.at(t, 0, input / 2, input % 2))) / (40.0 * n_fine);
        const std::size_t baseline = std::array{0, 3, 5}[input / 2];
        for (std::size_t fine = 0; fine < n_fine; ++fine) {
          const auto value = record.data(baseline, fine, input % 2 * 3);
          BOOST_REQUIRE(value.imag() == 0.0f);
          mean += value.real() / static_cast<double>(n_fine);
        }
        BOOST_TEST(std::abs(mean / power - 1) <= 5e-6);  // measured 9e-8
      }
    });
  }
}

// Powers that float32 does not hold have no weight, and are nobody else's concern: of samples whose square is
// too large, and of such that are so by the stream's scale only.
BOOST_AUTO_TEST_CASE(powers_beyond_float32_have_no_weight) {
  const VoltageHeader header = voltage_header(1, 3, 2, 1e6, 150e6);
  struct Case {
    float sample;
    double scale;
    std::size_t n_fine;
  };
  for (const Case& c : {Case{1e30f, 1, 1}, Case{1e30f, 1, 8}, Case{1e18f, 1e4, 1}, Case{1e18f, 1e4, 8}}) {
    Recording recording = noise(header, 1024, 7);
    recording.at(300, 0, 1, 0) = {c.sample, -c.sample};
    Run run;
    run.n_fine = c.n_fine;
    run.n_spectra = static_cast<std::int64_t>(512 / c.n_fine);
    MeanPlan plan;
    plan.baselines = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    plan.n_spectra = run.n_spectra;
    plan.scale = c.scale;
    std::vector<VisibilityRecord> records;
    correlate(recording, run, [&](const Correlator& correlator, const Integrator&) {
      correlator.mean(plan, records.emplace_back());
    });
    BOOST_TEST_REQUIRE(records.size() == 2u);
    for (std::size_t part = 0; part < 2; ++part)
      for (std::size_t baseline = 0; baseline < 6; ++baseline)
        for (std::size_t fine = 0; fine < c.n_fine; ++fine)
          for (std::size_t product = 0; product < 4; ++product) {
            const std::complex<float> value = records[part].data(baseline, fine, product);
            const bool lost = part == 0 && baseline == 3 && product == 0;  // XX of antenna 1 with itself
            BOOST_TEST(std::isfinite(value.real()));
            BOOST_TEST(std::isfinite(value.imag()));
            BOOST_TEST(records[part].weight(baseline, fine, product) == (lost ? 0.0f : 1.0f));
            if (lost) BOOST_TEST(value == std::complex<float>(0));
            const bool touched = part == 0 && (baseline == 1 || baseline == 3 || baseline == 4);
            if (!touched) BOOST_TEST(std::abs(std::complex<double>(value)) < 2 * c.scale * c.scale);
          }
  }
}

BOOST_AUTO_TEST_CASE(noise_follows_the_radiometer_equation) {
  // 4 x 16 autos of 510 channels are 32640 estimates, whose scatter is known to 0.4 %; 0.14 % for the pairs
  constexpr std::size_t n_fine = 512, n_spectra = 2000, n_gulp = 500;
  double auto_sum = 0, cross_sum = 0;
  std::size_t n_auto = 0, n_cross = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    auto header = voltage_header(1, 16, 1, 1.28e6, 150e6);
    const Run run{.n_fine = n_fine, .n_threads = 2};
    Channeliser channeliser(plan_channelise(header, n_fine, 2), nullptr);
    const auto plan = correlator_plan(header, run);
    Correlator correlator(plan);
    Integrator integrator(channeliser, correlator, plan, plan_integration(plan, n_spectra, 4 << 20));
    std::mt19937_64 random(seed);
    VoltageBlock block;
    block.n_time = n_gulp * n_fine;
    block.samples_i8.resize({block.n_time, 1, 16, 1, 2});
    block.valid.resize({block.n_time / 128, 16});
    block.valid.fill(1);
    for (std::size_t gulp = 0; gulp < n_spectra / n_gulp; ++gulp) {
      // a sum of 8 uniform integers; the transform over 512 of them is normal
      for (auto& value : block.samples_i8.view()) {
        const std::uint64_t bits = random();
        int sum = 0;
        for (int k = 0; k < 8; ++k) sum += static_cast<int>(bits >> (8 * k) & 31) - 16;
        value = static_cast<std::int8_t>(sum + 4 >= 127 ? 127 : sum + 4);
      }
      channeliser.append(block);
      block.first_sample += static_cast<std::int64_t>(block.n_time);
      integrator.advance(channeliser.available(), false);
      channeliser.release(integrator.next_spectrum());
    }
    for (std::size_t fine = 1; fine < n_fine; ++fine)
      for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = i; j < 16; ++j) {
          // variance of one component: 8 (32^2 - 1) / 12, plus the shared offset in fine channel n_fine/2
          // only
          if (fine == n_fine / 2) continue;
          const double power = 2 * 8 * (1024.0 - 1) / 12;
          const auto value = correlator.sum(fine, i, j) / (power * n_spectra);
          if (i == j) {
            auto_sum += (value.real() - 1) * (value.real() - 1);
            ++n_auto;
          } else {
            cross_sum += value.real() * value.real();
            ++n_cross;
          }
        }
  }
  const double sigma_auto = std::sqrt(auto_sum / static_cast<double>(n_auto));
  const double sigma_cross = std::sqrt(cross_sum / static_cast<double>(n_cross));
  BOOST_TEST_MESSAGE("sigma(auto)/P " << sigma_auto << " of " << n_auto << ", sigma(Re cross)/P "
                                      << sigma_cross << " of " << n_cross);
  // measured 0.19 % and 0.17 % off
  BOOST_TEST(sigma_auto == std::sqrt(1.0 / n_spectra), boost::test_tools::tolerance(0.005));
  BOOST_TEST(sigma_cross == std::sqrt(0.5 / n_spectra), boost::test_tools::tolerance(0.005));
}

BOOST_AUTO_TEST_CASE(closure_phases_of_a_point_source_vanish) {
  // a source of one tone per channel, so that delays shift phases and nothing else; four antennas, no noise
  const auto header = voltage_header(1, 4, 1, 1.28e6, 150e6);
  constexpr std::size_t n_fine = 64;
  Recording recording(header, n_fine * 64);
  std::mt19937 random(9);
  std::uniform_real_distribution<double> turn(0, 1);
  std::vector<double> start(n_fine), delay{0, 0.31e-6, -0.77e-6, 1.4e-6};
  for (double& phase : start) phase = turn(random);
  for (std::size_t t = 0; t < recording.n_time; ++t)
    for (std::size_t ant = 0; ant < 4; ++ant) {
      std::complex<double> sum = 0;
      for (std::size_t k = 0; k < n_fine; ++k) {
        const double offset = static_cast<double>(k) * 20e3;
        const double sky = 150e6 + (k < n_fine / 2 ? offset : offset - 1.28e6);
        sum += std::polar(
            1.0,
            kTwoPi * std::fmod(start[k] + offset * static_cast<double>(t) / 1.28e6 + sky * delay[ant], 1.0));
      }
      recording.at(t, 0, ant, 0) = sum;
    }
  StaticDelays no_delays({0, 0, 0, 0});
  for (DelaySource* delays : {static_cast<DelaySource*>(nullptr), static_cast<DelaySource*>(&no_delays)})
    correlate(recording, {.n_fine = n_fine, .delays = delays},
              [&](const Correlator& correlator, const Integrator&) {
                double worst = 0, wrong = 0;
                for (std::size_t fine = 0; fine < n_fine; ++fine) {
                  const double sky = 150e6 + (static_cast<double>(fine) - n_fine / 2) * 20e3;
                  const auto v = [&](std::size_t i, std::size_t j) { return correlator.sum(fine, i, j); };
                  for (const auto& [i, j, k] : {std::array{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}})
                    worst = std::max(worst, degrees_off(v(i, j) * v(j, k) * v(k, i)));
                  // and the sign: V_01 = <E_0 E_1*> of a wave that antenna 1 sees delay[1] ahead
                  wrong = std::max(
                      wrong, degrees_off(v(0, 1) * std::polar(1.0, kTwoPi * std::fmod(sky * delay[1], 1.0))));
                }
                BOOST_TEST_MESSAGE("closure phase " << worst << " rad");
                BOOST_TEST(worst <= 1e-5);  // measured 2.0e-6
                BOOST_TEST(wrong <= 1e-5);  // measured 7e-7
              });
}

BOOST_AUTO_TEST_CASE(a_tracked_source_keeps_phase_zero) {
  // tones of a source that moves: 350 m (and 30 km) at 150 MHz while the Earth turns 100 times too fast
  const auto header = voltage_header(1, 3, 1, 1.28e6, 150e6);
  for (const double length_m : {350.0, 30000.0}) {
    const TurningDelays delays({0, length_m, -0.63 * length_m}, 7.292e-3);
    constexpr std::size_t n_fine = 128;
    Recording recording(header, n_fine * 2000);
    for (std::size_t t = 0; t < recording.n_time; ++t)
      for (std::size_t ant = 0; ant < 3; ++ant) {
        const double seconds = static_cast<double>(t) / 1.28e6;
        std::complex<double> sum = 0;
        for (const double bin : {-50.0, 3.0, 63.0}) {
          const double tau = delays.delay_s(ant, seconds), offset = bin * 1e4;
          sum += std::polar(
              1.0, kTwoPi * (std::fmod(150e6 * tau, 1.0) + std::fmod(offset * (seconds + tau), 1.0)));
        }
        recording.at(t, 0, ant, 0) = sum;
      }
    double worst = 0, untracked = 0, least = 1;
    auto* source = const_cast<TurningDelays*>(&delays);
    for (DelaySource* use : {static_cast<DelaySource*>(source), static_cast<DelaySource*>(nullptr)})
      correlate(recording, {.n_fine = n_fine, .n_spectra = 500, .delays = use},
                [&](const Correlator& correlator, const Integrator&) {
                  for (const int bin : {-50, 3, 63})
                    for (const auto& [i, j] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
                      const auto v = correlator.sum(static_cast<std::size_t>(64 + bin), i, j);
                      if (use == nullptr) {
                        untracked = std::max(untracked, degrees_off(v));
                        continue;
                      }
                      worst = std::max(worst, degrees_off(v));
                      least =
                          std::min(least, std::abs(v) / 128 / static_cast<double>(correlator.count(0, i, j)));
                    }
                });
    BOOST_TEST_MESSAGE(length_m << " m: residual phase " << worst << " rad, least amplitude " << least);
    BOOST_TEST(worst <= 1e-3);  // measured 1.0e-5 and 6.6e-4
    BOOST_TEST(least > 0.998);  // the Doppler shift of 110 Hz in 10 kHz leaks between the tones
    BOOST_TEST(untracked > 0.5);
  }
}

BOOST_AUTO_TEST_SUITE_END()
