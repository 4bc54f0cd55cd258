// SPDX-License-Identifier: GPL-3.0-or-later
// An hour of a millisecond pulsar at Parkes, whose turns are astropy's, through a filterbank file and a par
// file: the pulse stays at its phase, where a constant period smears it over half a turn.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <random>

#include "kernels/fold/fold.h"
#include "kernels/fold/pulse_fit.h"
#include "libcore/array/telescopes.h"
#include "libcore/base/constants.h"
#include "libcore/formats/filterbank/file.h"
#include "libcore/formats/par_file/par_file.h"
#include "libcore/measures/pulsar_phase.h"
#include "libcore/streams/power_source.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(pulsar)

namespace {

struct Row {
  Vec3 itrf_m;
  double ra_deg, dec_deg;
  std::int64_t day;
  double second, ut1_utc_s, pole_x_rad, pole_y_rad;
  double tdb_utc_s, travel_s, shapiro_s;
};
struct PhaseRow {
  double second, turns, speed;
};

#include "tests/libcore/measures/barycentric_times.inc"

constexpr double kSample_s = 0.2e-3, kDm = 2.64476, kF0_hz = 641.9282333345536, kFirst_hz = 1400e6;
constexpr std::size_t kChannels = 2, kSamples = 17'990'000;
constexpr double kPulsePhase = 0.3, kWidth = 0.2, kHeight = 4, kNoise = 20;

/// The table's turns and speed between its rows, by cubics and lines.
struct Turns {
  std::size_t at = 0;
  double speed = 0;
  double operator()(double s) {
    const std::size_t n = std::size(kPhases);
    while (at + 4 < n && s > kPhases[at + 2].second) ++at;
    const double x = (s - kPhases[at].second) / (kPhases[at + 1].second - kPhases[at].second);
    const double y0 = kPhases[at].turns, y1 = kPhases[at + 1].turns - y0, y2 = kPhases[at + 2].turns - y0,
                 y3 = kPhases[at + 3].turns - y0;
    speed = kPhases[at].speed + x * (kPhases[at + 1].speed - kPhases[at].speed);
    return y0 + y1 * x * (x - 2) * (x - 3) / 2 - y2 * x * (x - 1) * (x - 3) / 2 +
           y3 * x * (x - 1) * (x - 2) / 6;
  }
};

void write_recording(const std::string& path) {
  FilterbankHeader header;
  header.start = {kDay, static_cast<std::int64_t>(kSecond * 1e6) * 1'000'000};
  header.sample_s = kSample_s, header.first_hz = kFirst_hz, header.step_hz = -200e6;
  header.n_chan = kChannels, header.n_bit = 8;
  FilterbankWriter writer(path, header, false);
  std::mt19937 random(1);
  std::vector<std::uint8_t> bytes(kSamples * kChannels);
  std::vector<double> pulse(4096);
  for (std::size_t i = 0; i < pulse.size(); ++i) {
    const double x = std::remainder(static_cast<double>(i) / 4096 - kPulsePhase, 1) / kWidth;
    pulse[i] = kHeight * std::exp(-4 * std::log(2.0) * x * x);
  }
  Turns turns;
  for (std::size_t t = 0; t < kSamples; ++t) {
    const double phase = turns((static_cast<double>(t) + 0.5) * kSample_s);
    for (std::size_t chan = 0; chan < kChannels; ++chan) {
      const double hz = (kFirst_hz - 200e6 * static_cast<double>(chan)) * (1 - turns.speed);
      const double delayed = phase - kF0_hz * 1e12 / 2.41e-4 * kDm / (hz * hz);
      const double mean = 100 + pulse[static_cast<std::size_t>((delayed - std::floor(delayed)) * 4096)];
      // Four uniform numbers are normal enough, and quick.
      const std::uint32_t r = static_cast<std::uint32_t>(random());
      const double noise =
          (static_cast<double>((r & 255) + (r >> 8 & 255) + (r >> 16 & 255) + (r >> 24)) - 510) / 147.8;
      bytes[t * kChannels + chan] = static_cast<std::uint8_t>(std::lround(mean + kNoise * noise));
    }
  }
  writer.write(bytes.data(), bytes.size());
  writer.commit();
}

Pulse fold(const std::string& path, PulsarPhase& phase, bool follow) {
  const auto powers = open_powers(path, "", 2);
  FoldPlan plan;
  plan.sample_s = powers->sample_s, plan.channel_hz = powers->channel_hz;
  plan.period_s = phase.period_s(), plan.dm_pc_cm3 = phase.dm_pc_cm3();
  plan.n_bin = 128, plan.subint_s = 60, plan.n_threads = 2;
  if (follow)
    plan.phases = [&](std::span<const double> at_s, std::span<double> turns, std::span<double> stretch) {
      phase.phases(at_s, turns, stretch);
    };
  Folder folder(plan);
  Buffer<float, 2> samples;
  while (powers->read(65536, samples)) folder.add(samples);
  FoldedPulses folded = folder.finish();
  fit_pulse(folded);
  return folded.pulse;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_hour_does_not_smear) {
  reference::Scratch scratch;
  const std::string path = scratch.path("pulsar.fil");
  write_recording(path);
  PulsarPhase phase(parse_par(kPar, "par"), find_telescope("parkes").value(),
                    {kDay, static_cast<std::int64_t>(kSecond * 1e6) * 1'000'000}, Ephemeris::epv00,
                    {kDut1_s, kPoleX_rad, kPoleY_rad});
  const Pulse followed = fold(path, phase, true), constant = fold(path, phase, false);
  // The matched filter of a Gaussian pulse, whose mean does not count: sqrt(n mean of (g - mean of g)^2) /
  // noise.
  const double area = kWidth * std::sqrt(kPi / 4 / std::log(2.0));
  const double expected =
      kHeight / kNoise * std::sqrt(kSamples * kChannels * (area / std::sqrt(2.0) - area * area));
  BOOST_TEST_MESSAGE("S/N " << followed.snr << " of " << expected << ", with a constant period "
                            << constant.snr);
  BOOST_TEST(followed.snr > 0.95 * expected);
  BOOST_TEST(followed.snr < 1.05 * expected);
  BOOST_TEST(constant.snr < 0.8 * followed.snr);
  // A pulse is found to about its width over its S/N.
  BOOST_TEST(std::abs(std::remainder(followed.phase_turns - kPulsePhase, 1)) < 3 * kWidth / expected);
  BOOST_TEST(std::abs(followed.width_turns - kWidth) < 0.01);
}

BOOST_AUTO_TEST_SUITE_END()
