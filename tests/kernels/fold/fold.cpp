// SPDX-License-Identifier: GPL-3.0-or-later
// Folding against a literal sum, the pulse's strength against the equations, and the search for a period.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "kernels/fold/fold.h"
#include "kernels/fold/pulse_fit.h"
#include "kernels/simulate/pulsar.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(fold)

namespace {

constexpr double kDispersion = 1e12 / 2.41e-4;  // s Hz^2 per pc/cm^3

FoldPlan plan_of_twelve() {
  FoldPlan plan;
  plan.sample_s = 1e-3;
  for (int chan = 0; chan < 12; ++chan) plan.channel_hz.push_back(160e6 - 1e6 * chan);
  plan.period_s = 0.0937;
  plan.period_dot = 1e-5;  // absurd, so that it shows
  plan.dm_pc_cm3 = 1.3;
  plan.n_bin = 32;
  plan.n_subint = 8;
  plan.subint_s = 0.1;
  plan.n_band = 5;
  return plan;
}

/// The phase as the equations have it.
double phase_of(const FoldPlan& plan, double t_s, double hz) {
  const double x = (t_s - kDispersion * plan.dm_pc_cm3 / (hz * hz)) / plan.period_s;
  const double phase = x - plan.period_dot * x * x / 2;
  return phase - std::floor(phase);
}

Buffer<float, 2> noise_of(std::size_t n_time, std::size_t n_chan) {
  Buffer<float, 2> samples({n_time, n_chan});
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      samples(t, chan) =
          5.0f * static_cast<float>(chan + 1) + (1.0f + static_cast<float>(chan)) * normal(random);
  return samples;
}

/// Sums and counts of every bin as the equations have them, of samples in units of their channel's scatter.
struct LiteralFold {
  std::vector<double> sum, count;
};
LiteralFold literal_fold(const FoldPlan& plan, const Buffer<float, 2>& samples) {
  const std::size_t n_chan = samples.extent(1), n_time = samples.extent(0);
  std::vector<double> mean(n_chan, 0), square(n_chan, 0), n(n_chan, 0);
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t t = 0; t < n_time; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        const double x = samples(t, chan);
        if (!std::isfinite(x)) continue;
        if (pass == 0) mean[chan] += x, n[chan] += 1;
        if (pass == 1) square[chan] += std::pow(x - mean[chan] / n[chan], 2);
      }
  LiteralFold folded{std::vector<double>(plan.n_bin, 0), std::vector<double>(plan.n_bin, 0)};
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const double x = samples(t, chan);
      if (!std::isfinite(x)) continue;
      const auto bin = static_cast<std::size_t>(
          static_cast<double>(plan.n_bin) *
          phase_of(plan, (static_cast<double>(t) + 0.5) * plan.sample_s, plan.channel_hz[chan]));
      folded.sum[bin] += (x - mean[chan] / n[chan]) / std::sqrt(square[chan] / n[chan]);
      folded.count[bin] += 1;
    }
  return folded;
}

/// A profile of one pulse without noise, as if from n samples a bin of unit variance.
FoldedPulses made_profile(std::size_t n_bin, double phase, double width, double height, double n) {
  FoldedPulses folded;
  folded.sum.resize({1, 1, n_bin});
  folded.count.resize({1, 1, n_bin});
  constexpr int kFine = 64;  // the pulse is averaged over each bin
  for (std::size_t bin = 0; bin < n_bin; ++bin) {
    double mean = 0;
    for (int i = 0; i < kFine; ++i) {
      const double at = (static_cast<double>(bin) + (i + 0.5) / kFine) / static_cast<double>(n_bin);
      for (int turn = -2; turn <= 2; ++turn)
        mean += height * std::exp(-4 * std::log(2.0) * std::pow((at - phase - turn) / width, 2)) / kFine;
    }
    folded.profile.push_back(3 + mean);
    folded.sum(0, 0, bin) = n * folded.profile.back();
    folded.count(0, 0, bin) = n;
  }
  folded.length_s = 1;
  folded.period_s = 0.1;
  return folded;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_sample_lands_where_the_equations_say) {
  const FoldPlan plan = plan_of_twelve();
  Buffer<float, 2> samples = noise_of(3000, 12);
  samples(5, 3) = std::numeric_limits<float>::quiet_NaN();
  samples(2900, 0) = std::numeric_limits<float>::infinity();
  const auto [sum, count] = literal_fold(plan, samples);
  FoldedPulses first;
  for (const unsigned n_threads : {1u, 3u})
    for (const std::size_t piece : {3000ul, 7ul}) {
      FoldPlan threaded = plan;
      threaded.n_threads = n_threads;
      Folder folder(threaded);
      for (std::size_t t = 0; t < 3000; t += piece)
        folder.add(View<const float, 2>(&samples(t, 0), {std::min(piece, 3000 - t), std::size_t{12}}));
      FoldedPulses folded = folder.finish();
      // 3 s of sub-integrations of 0.1 s, doubled until 8 hold them
      BOOST_TEST(folded.subint_s == 0.4);
      BOOST_TEST(folded.sum.extent(0) == 8u);
      BOOST_TEST(folded.band_hz.size() == 5u);
      BOOST_TEST(folded.band_hz[0] == 159.5e6);
      for (std::size_t bin = 0; bin < 32; ++bin) {
        BOOST_TEST(folded.samples(bin) == count[bin]);
        BOOST_TEST(std::abs(folded.profile[bin] - sum[bin] / count[bin]) < 1e-12);
      }
      BOOST_TEST(std::abs(folded.variance - 1) < 2 * 32 / 36000.0);
      if (first.sum.size() == 0)
        first = std::move(folded);
      else
        BOOST_TEST(std::equal(first.sum.begin(), first.sum.end(), folded.sum.begin()));
    }
}

// A gap before the first sample with data does not move what follows, however the samples arrive.
BOOST_AUTO_TEST_CASE(a_gap_at_the_start_moves_nothing) {
  const FoldPlan plan = plan_of_twelve();
  Buffer<float, 2> samples = noise_of(1000, 12);
  for (std::size_t t = 0; t < 311; ++t)
    for (std::size_t chan = 0; chan < 12; ++chan) samples(t, chan) = std::numeric_limits<float>::quiet_NaN();
  const auto [sum, count] = literal_fold(plan, samples);
  for (const std::size_t piece : {1000ul, 128ul, 7ul}) {
    Folder folder(plan);
    for (std::size_t t = 0; t < 1000; t += piece)
      folder.add(View<const float, 2>(&samples(t, 0), {std::min(piece, 1000 - t), std::size_t{12}}));
    const FoldedPulses folded = folder.finish();
    BOOST_TEST(folded.length_s == 1.0);
    for (std::size_t bin = 0; bin < 32; ++bin) {
      BOOST_TEST(folded.samples(bin) == count[bin]);
      BOOST_TEST(std::abs(folded.profile[bin] - sum[bin] / count[bin]) < 1e-12);
    }
    // the first 0.311 s hold nothing in any of the sub-integrations that they fill
    const auto n_empty = static_cast<std::size_t>(0.311 / folded.subint_s);
    BOOST_TEST(n_empty > 0u);
    for (std::size_t subint = 0; subint < n_empty; ++subint)
      for (std::size_t band = 0; band < 5; ++band)
        for (std::size_t bin = 0; bin < 32; ++bin) BOOST_TEST(folded.count(subint, band, bin) == 0.0);
  }
}

// Less than a turn of data leaves bins empty: they are 0, and all that is made of the profile is finite.
BOOST_AUTO_TEST_CASE(bins_without_data_are_zero) {
  FoldPlan plan = plan_of_twelve();
  plan.dm_pc_cm3 = plan.period_dot = 0;
  plan.subint_s = 0.01;
  Folder folder(plan);
  folder.add(noise_of(40, 12));
  FoldedPulses folded = folder.finish();
  for (const bool searched : {false, true}) {
    if (searched) search_period(folded);
    std::size_t n_empty = 0;
    for (std::size_t bin = 0; bin < 32; ++bin) {
      BOOST_TEST(std::isfinite(folded.profile[bin]));
      if (folded.samples(bin) != 0) continue;
      BOOST_TEST(folded.profile[bin] == 0.0);
      ++n_empty;
    }
    // 40 of 93.7 ms: 14 of 32 bins at most; a search moves sub-integrations apart
    BOOST_TEST(n_empty >= (searched ? 1u : 18u));
    BOOST_TEST(folded.variance > 0.0);
    BOOST_TEST(std::isfinite(folded.variance));
    fit_pulse(folded);
    BOOST_TEST(std::isfinite(folded.pulse.snr));
    BOOST_TEST(std::isfinite(folded.pulse.height));
    BOOST_TEST(std::isfinite(folded.pulse.excess_noise));
  }
}

BOOST_AUTO_TEST_CASE(channels_without_data_weigh_nothing) {
  Buffer<float, 2> samples = noise_of(1000, 12);
  for (std::size_t t = 0; t < 1000; ++t) {
    samples(t, 4) = std::numeric_limits<float>::quiet_NaN();
    samples(t, 5) = 17;
    if (t < 300)
      for (std::size_t chan = 0; chan < 12; ++chan)
        samples(t, chan) = std::numeric_limits<float>::quiet_NaN();
  }
  Folder folder(plan_of_twelve());
  folder.add(samples);
  const FoldedPulses folded = folder.finish();
  double n = 0;
  for (std::size_t bin = 0; bin < 32; ++bin) n += folded.samples(bin);
  BOOST_TEST(n == 700.0 * 10);
  Folder empty(plan_of_twelve());
  BOOST_TEST(empty.finish().samples(0) == 0.0);
}

BOOST_AUTO_TEST_CASE(the_pulse_is_found_with_the_matched_filter_s_strength) {
  for (const double width : {0.01, 0.03, 0.2})
    for (const double phase : {0.0003, 0.37123, 0.9991}) {
      FoldedPulses folded = made_profile(256, phase, width, 0.02, 1e4);
      fit_pulse(folded);
      const Pulse& pulse = folded.pulse;
      const double off = pulse.phase_turns - phase;
      BOOST_TEST(std::abs(off - std::round(off)) < 2e-5);           // largest 8e-6
      BOOST_TEST(std::abs(pulse.width_turns / width - 1) < 0.026);  // widths are tried in steps of 5 %
      BOOST_TEST(std::abs(pulse.height / 0.02 - 1) < 0.03);
      // sum over bins of n (p - mean)^2, of a Gaussian: h^2 n (w sqrt(pi / 8 ln 2) - pi / 4 ln 2 w^2) n_bin
      const double energy =
          width * std::sqrt(M_PI / (8 * std::log(2.0))) - M_PI / (4 * std::log(2.0)) * width * width;
      const double wanted = 0.02 * std::sqrt(1e4 * 256 * energy);
      BOOST_TEST(std::abs(pulse.snr / wanted - 1) <
                 (width < 0.02 ? 0.03 : 4e-3));  // bins smear narrow pulses
    }
}

BOOST_AUTO_TEST_CASE(noise_is_no_pulse) {
  // the strongest of some hundred independent trials
  double largest = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    FoldedPulses folded = made_profile(256, 0, 0.1, 0, 1e4);
    for (double& value : folded.profile) value += 0.01 * normal(random);
    fit_pulse(folded);
    largest = std::max(largest, folded.pulse.snr);
    BOOST_TEST(std::abs(folded.pulse.excess_noise - 1) < 0.25);
  }
  BOOST_TEST(largest > 2.5);
  BOOST_TEST(largest < 5.0);
}

BOOST_AUTO_TEST_CASE(the_search_finds_the_period) {
  // pulses of 12.5 ms every 250 ms, folded 2e-4 too long or short
  for (const double factor : {1 - 3.3e-4, 1 + 2.4e-4, 1.0}) {
    constexpr std::size_t kTime = 200000;  // of 2 ms: 1600 turns
    FoldPlan plan;
    plan.sample_s = 2e-3;
    plan.channel_hz = {400e6};
    plan.period_s = 0.25 * factor;
    plan.n_bin = 128;
    plan.subint_s = 400.0 / 64;
    Buffer<float, 2> samples({kTime, 1});
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (std::size_t t = 0; t < kTime; ++t) {
      const double turns = (static_cast<double>(t) + 0.5) * 2e-3 / 0.25, x = turns - std::round(turns);
      samples(t, 0) =
          normal(random) + static_cast<float>(0.3 * std::exp(-4 * std::log(2.0) * std::pow(x / 0.05, 2)));
    }
    Folder folder(plan);
    folder.add(samples);
    FoldedPulses folded = folder.finish();
    search_period(folded);
    fit_pulse(folded);
    // a fortieth of a turn over the recording
    BOOST_TEST(std::abs(folded.period_s - 0.25) < 0.025 * 0.25 / 1600);
    const double off = folded.pulse.phase_turns - std::round(folded.pulse.phase_turns);
    BOOST_TEST(std::abs(off) < 1.0 / 64);
    BOOST_TEST(folded.pulse.snr > 25.0);
  }
}

BOOST_AUTO_TEST_CASE(simulated_pulses_are_late_by_their_dispersion) {
  simulate::PulsarSignal pulsar;
  pulsar.period_s = 0.7145;
  pulsar.dm_pc_cm3 = 26.76;
  pulsar.duty = 0.03;
  // of mean power 1, with the peak at the delay of 4.1494e3 s DM / nu_MHz^2
  constexpr double hz = 408e6, sample_s = 0.7145 / 5000;
  std::vector<float> envelope(5000);
  simulate::pulse_envelope(pulsar, hz, sample_s, 0, envelope);
  double power = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < envelope.size(); ++i) {
    power += envelope[i] * envelope[i] / 5000.0;
    if (envelope[i] > envelope[at]) at = i;
  }
  BOOST_TEST(std::abs(power - 1) < 1e-6);
  const double turns = kDispersion * 26.76 / (hz * hz) / 0.7145;
  BOOST_TEST(std::abs(static_cast<double>(at) / 5000 - (turns - std::floor(turns))) < 1.01 / 5000);
  // E carries exp(+2 pi i nu t): a delay is minus the phase's slope over 2 pi
  for (const double f : {-9e3, -1e3, 4e3, 9.7e3}) {
    constexpr double df = 1;
    const std::complex<double> turned = simulate::dispersion_factor(pulsar, hz, f + df / 2) *
                                        std::conj(simulate::dispersion_factor(pulsar, hz, f - df / 2));
    const double delay_s = -std::arg(turned) / (2 * M_PI * df);
    const double wanted_s = kDispersion * 26.76 * (1 / ((hz + f) * (hz + f)) - 1 / (hz * hz));
    BOOST_TEST(std::abs(delay_s - wanted_s) < 1e-10);
    BOOST_TEST(std::abs(wanted_s) <= simulate::dispersion_reach_s(pulsar, hz, 19531.25));
  }
}

BOOST_AUTO_TEST_SUITE_END()
