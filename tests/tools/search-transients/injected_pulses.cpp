// SPDX-License-Identifier: GPL-3.0-or-later
// search-transients on noise with a few hundred pulses: it finds them, with the signal-to-noise ratio, time
// and dispersion measure that brute force in float64 gives without noise, and nothing else.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/formats/filterbank/file.h"
#include "tests/reference/dispersion.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(injected_pulses)

namespace {

constexpr double kNoise = 18, kLevel = 110;  ///< of the 8-bit samples
const reference::Band kBand{1500, -4, 64, 256e-6};

struct Row {
  double time_s, dm, sn, width_s;
};

std::vector<Row> search(const reference::Scratch& scratch, const std::string& options) {
  const auto bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/search-transients";
  const std::string command = "'" + bin.string() + "' -q '" + scratch.path("in.fil") + "' " + options +
                              " --overwrite -o '" + scratch.path("out.csv") + "'";
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  const std::string text = scratch.read("out.csv");
  const CsvTable table = parse_csv(text, "out.csv");
  const auto column = [&](const char* name) { return *table.find(name); };
  std::vector<Row> rows;
  for (const CsvRow& row : table.rows)
    rows.push_back({table.number(row, column("time_s")), table.number(row, column("dm")),
                    table.number(row, column("sn")), table.number(row, column("width_s"))});
  return rows;
}

/// A drift of all channels together, in units of their noise.
struct Drift {
  double height = 0, period_s = 1;
};

/// Noise with the pulses, as 8-bit samples in a file.
void write_file(const reference::Scratch& scratch, std::size_t n_time, std::uint64_t seed,
                const std::vector<reference::Pulse>& pulses, const Drift& drift = {}) {
  FilterbankHeader header;
  header.sample_s = kBand.sample_s, header.first_hz = kBand.first_mhz * 1e6,
  header.step_hz = kBand.step_mhz * 1e6;
  header.n_chan = kBand.n_chan, header.n_bit = 8, header.start = {59000, 0};
  FilterbankWriter writer(scratch.path("in.fil"), header, false);
  Buffer<double, 2> signal({kBand.n_chan, n_time});
  for (const reference::Pulse& pulse : pulses) add_pulse(kBand, pulse, signal);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint8_t> row(kBand.n_chan);
  for (std::size_t t = 0; t < n_time; ++t) {
    const double level =
        drift.height * std::sin(kTwoPi * static_cast<double>(t) * kBand.sample_s / drift.period_s);
    for (std::size_t chan = 0; chan < kBand.n_chan; ++chan) {
      // bandpass and gain differ from channel to channel
      const double gain = 0.7 + 0.3 * std::sin(0.3 * static_cast<double>(chan));
      const double value =
          kLevel * gain + kNoise * gain * (static_cast<double>(normal(random)) + signal(chan, t) + level);
      row[chan] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0l, 255l));
    }
    writer.write(row.data(), row.size());
  }
  writer.commit();
}

/// What brute force finds of the pulse alone, in noise of unit variance.
double expected_sn(reference::Pulse pulse) {
  pulse.time_s = std::fmod(pulse.time_s, kBand.sample_s) + 100 * kBand.sample_s;
  const auto n_time = static_cast<std::size_t>(250 + 2 * pulse.width_s / kBand.sample_s +
                                               kBand.delay_samples(pulse.dm, kBand.mhz(64)));
  Buffer<double, 2> signal({kBand.n_chan, n_time});
  add_pulse(kBand, pulse, signal);
  return reference::best_boxcar(reference::dedisperse(kBand, pulse.dm, signal), 100).sn / std::sqrt(64.0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(pulses_are_found_and_nothing_else) {
  constexpr std::size_t kPulses = 240, kSpacing = 1300;  // samples
  std::mt19937_64 random(20);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<reference::Pulse> pulses;
  std::vector<double> truth;
  for (std::size_t i = 0; i < kPulses; ++i) {
    reference::Pulse pulse;
    pulse.time_s = (static_cast<double>(i + 1) * kSpacing + uniform(0, 200)) * kBand.sample_s;
    pulse.dm = uniform(15, 290);
    pulse.width_s = std::exp(uniform(0, std::log(32.0))) * kBand.sample_s;
    pulse.height = 1;
    const double sn = uniform(10, 20);
    pulse.height = sn / expected_sn(pulse);
    pulses.push_back(pulse);
    truth.push_back(sn);
  }
  reference::Scratch scratch;
  write_file(scratch, (kPulses + 2) * kSpacing, 1, pulses);
  std::vector<Row> rows = search(scratch, "--dm-range 0:300 --widths 1:64 --threshold 7");

  std::size_t n_found = 0;
  double sum = 0, square = 0, worst_time = 0, worst_dm = 0;
  for (std::size_t i = 0; i < kPulses; ++i) {
    const reference::Pulse& pulse = pulses[i];
    const auto found = std::find_if(
        rows.begin(), rows.end(), [&](const Row& row) { return std::abs(row.time_s - pulse.time_s) < 0.03; });
    if (found == rows.end()) {
      BOOST_TEST_MESSAGE("lost: S/N " << truth[i] << " DM " << pulse.dm << " width "
                                      << pulse.width_s / kBand.sample_s);
      continue;
    }
    ++n_found;
    const double difference = found->sn - truth[i];
    sum += difference, square += difference * difference;
    // in units of the pulse's length, with the samples and the smearing within channels
    const double length = pulse.width_s + 2 * kBand.sample_s + pulse.dm * 1.1e-5;
    worst_time = std::max(worst_time, std::abs(found->time_s - pulse.time_s) / length);
    const double delay_s =
        kBand.delay_samples(std::abs(found->dm - pulse.dm), kBand.mhz(63)) * kBand.sample_s;
    worst_dm = std::max(worst_dm, delay_s / length);
    rows.erase(found);
  }
  const double mean = sum / static_cast<double>(n_found);
  const double spread = std::sqrt(square / static_cast<double>(n_found) - mean * mean);
  BOOST_TEST_MESSAGE(n_found << " of " << kPulses << ", S/N off by " << mean << " +- " << spread
                             << ", time by " << worst_time << ", DM by " << worst_dm << " lengths, "
                             << rows.size() << " others");
  BOOST_TEST(static_cast<double>(n_found) >= 0.99 * kPulses);
  BOOST_TEST(rows.size() == 0u);
  // trials and widths lose some 5 %; the best of many neighbouring trials gains some 0.5
  BOOST_TEST(mean > -0.9);
  BOOST_TEST(mean < 0.6);
  BOOST_TEST(spread < 1.3);
  BOOST_TEST(worst_time < 1.0);
  BOOST_TEST(worst_dm < 2.0);
}

namespace {

/// Pulses of one S/N, far enough apart to be told from each other.
std::vector<reference::Pulse> equal_pulses(std::size_t n, std::size_t spacing, double sn, double longest,
                                           std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  std::vector<reference::Pulse> pulses;
  for (std::size_t i = 0; i < n; ++i) {
    reference::Pulse pulse;
    pulse.time_s = (static_cast<double>((i + 1) * spacing) + uniform(0, 200)) * kBand.sample_s;
    pulse.dm = uniform(15, 290);
    pulse.width_s = std::exp(uniform(0, std::log(longest))) * kBand.sample_s;
    pulse.height = 1;
    pulse.height = sn / expected_sn(pulse);
    pulses.push_back(pulse);
  }
  return pulses;
}

const Row* found_at(const std::vector<Row>& rows, const reference::Pulse& pulse) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return std::abs(row.time_s - pulse.time_s) < 0.03; });
  return found == rows.end() ? nullptr : &*found;
}

double normal_share_below(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

}  // namespace

// Noise of unit variance is on every S/N that is measured, so that of pulses of 10 a share is below a
// threshold of 8: what trials, widths and samples leave of 10, 9.6 on average, is above it in Phi(1.6) = 94.5
// % of all cases; above 6.5 in 99.9 %. Whatever is lost at 8 is there at 6.5: noise alone loses pulses.
BOOST_AUTO_TEST_CASE(completeness_follows_the_noise) {
  constexpr std::size_t kPulses = 200, kSpacing = 1300;
  constexpr double kSn = 10, kLeft = 0.96, kThreshold = 8, kLow = 6.5;
  const std::vector<reference::Pulse> pulses = equal_pulses(kPulses, kSpacing, kSn, 32, 77);
  reference::Scratch scratch;
  write_file(scratch, (kPulses + 2) * kSpacing, 6, pulses);
  const std::string options = "--dm-range 0:300 --widths 1:64 --threshold ";
  const std::vector<Row> high = search(scratch, options + "8"), low = search(scratch, options + "6.5");
  std::size_t n_high = 0, n_low = 0, n_unexplained = 0;
  double sum = 0, square = 0;
  for (const reference::Pulse& pulse : pulses) {
    const Row *above = found_at(high, pulse), *any = found_at(low, pulse);
    n_high += above != nullptr, n_low += any != nullptr;
    n_unexplained += above == nullptr && any != nullptr && any->sn > kThreshold;
    if (any != nullptr) sum += any->sn, square += any->sn * any->sn;
  }
  const double n = static_cast<double>(n_low), mean = sum / n, spread = std::sqrt(square / n - mean * mean);
  const auto least = [](double threshold) {
    const double share = normal_share_below(kSn * kLeft - threshold);
    return share - 3 * std::sqrt(share * (1 - share) / kPulses) - 0.5 / kPulses;
  };
  BOOST_TEST_MESSAGE(n_high << " of " << kPulses << " above 8, " << n_low << " above 6.5, S/N " << mean
                            << " +- " << spread << "; at least " << least(kThreshold) << " and "
                            << least(kLow) << " are due");
  BOOST_TEST(static_cast<double>(n_high) >= least(kThreshold) * kPulses);
  BOOST_TEST(static_cast<double>(n_low) >= least(kLow) * kPulses);
  BOOST_TEST(n_unexplained == 0u);
  BOOST_TEST(mean > kSn * 0.92);
  BOOST_TEST(spread < 1.3);
}

// A level that goes up and down by twice a sample's noise (in all channels together) every 4 s: medians
// over 0.13 s follow it, those over 1 s do not, and long windows lose against what is left: 80 pulses and 66.
BOOST_AUTO_TEST_CASE(short_baselines_follow_drifts) {
  constexpr std::size_t kPulses = 80, kSpacing = 1300;
  const std::vector<reference::Pulse> pulses = equal_pulses(kPulses, kSpacing, 12, 16, 3);
  reference::Scratch scratch;
  write_file(scratch, (kPulses + 2) * kSpacing, 8, pulses, {0.25, 4});
  const std::string options = "--dm-range 0:300 --widths 1:16 --threshold 7 --rfi-sigma 0 ";
  const std::vector<Row> with = search(scratch, options + "--baseline 140ms"),
                         without = search(scratch, options);
  std::size_t n_with = 0, n_without = 0;
  for (const reference::Pulse& pulse : pulses)
    n_with += found_at(with, pulse) != nullptr, n_without += found_at(without, pulse) != nullptr;
  BOOST_TEST_MESSAGE(n_with << " with short medians, " << n_without << " without, of " << kPulses << "; "
                            << with.size() << " and " << without.size() << " candidates");
  BOOST_TEST(static_cast<double>(n_with) >= 0.97 * kPulses);
  BOOST_TEST(n_without < n_with);
  BOOST_TEST(with.size() <= n_with + 1);
}

BOOST_AUTO_TEST_CASE(noise_gives_no_more_than_chance) {
  constexpr std::size_t n_time = 100000;
  reference::Scratch scratch;
  write_file(scratch, n_time, 2, {});
  constexpr double kThreshold = 5.5;
  const std::vector<Row> rows =
      search(scratch, "--dm-range 0:300 --dm-step 2 --widths 1,4,16,64 --threshold 5.5");
  // as many as there would be if all trials, times and widths were independent: an upper limit; windows that
  // overlap by half still count as one, so that the number of independent ones is about that of disjoint ones
  const double tail = 0.5 * std::erfc(kThreshold / std::sqrt(2.0));
  const double disjoint = 151 * n_time * (1 + 1 / 4.0 + 1 / 16.0 + 1 / 64.0) * tail,
               all = 151 * n_time * 4 * tail;
  BOOST_TEST_MESSAGE(rows.size() << " candidates; " << disjoint << " for disjoint windows, " << all
                                 << " for all");
  BOOST_TEST(static_cast<double>(rows.size()) <= all + 3 * std::sqrt(all));
}

BOOST_AUTO_TEST_SUITE_END()
