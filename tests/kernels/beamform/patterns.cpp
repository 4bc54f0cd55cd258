// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of BEST-2 against equation 1 of Magro, Zarb Adami & Hickish (2014): the pattern of a beam, in floats
// and with 4-bit samples, and a strong source that drifts through beams fixed to the ground (figure 7).
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise.h"
#include "libcore/array/beam_table.h"
#include "libcore/measures/beam_tracker.h"
#include "tests/reference/beamform.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(patterns)

namespace {

constexpr double kFreq_hz = 408e6;
constexpr std::size_t kAnt = 32;
const UtcTime kStart = parse_utc("2014-03-21T10:00:00");

std::vector<std::array<double, 3>> positions() {
  std::vector<std::array<double, 3>> metres;
  for (const Antenna& antenna : builtin_array("best-2").antennas) metres.push_back(antenna.enu_m);
  return metres;
}

VoltageHeader header_of(double sample_s) {
  VoltageHeader header;
  header.n_ant = kAnt;
  header.sample_s = sample_s;
  header.bandwidth_hz = 1 / sample_s;
  header.freq_hz = kFreq_hz;
  return header;
}

/// Power of every beam [beam][integration] for waves from s(t), each sample of phase `turns(t)`; amplitude 1,
/// or `steps` levels of 4-bit integers.
std::vector<std::vector<float>> powers(const std::vector<Vec3>& waves, std::vector<BeamDirection> beams,
                                       double sample_s, std::size_t n_integrate, double steps) {
  const VoltageHeader header = header_of(sample_s);
  const auto metres = positions();
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 1);
  VoltageBlock block;
  block.n_time = waves.size();
  block.integer = false;
  block.samples_f32.resize({waves.size(), 1, kAnt, 1, 2});
  block.valid.resize({(waves.size() + 127) / 128, kAnt});
  block.valid.fill(1);
  for (std::size_t t = 0; t < waves.size(); ++t) {
    const double turns = steps > 0 ? any(random) : 0;
    for (std::size_t ant = 0; ant < kAnt; ++ant) {
      double path_m = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) path_m += metres[ant][axis] * waves[t][axis];
      const std::complex<double> e = std::polar(1.0, 2 * M_PI * (kFreq_hz * path_m / 299792458.0 + turns));
      const auto level = [&](double x) {
        return steps > 0 ? float(std::clamp(std::nearbyint(steps * x), -8.0, 7.0) / steps) : float(x);
      };
      block.samples_f32(t, 0, ant, 0, 0) = level(e.real());
      block.samples_f32(t, 0, ant, 0, 1) = level(e.imag());
    }
  }
  Channeliser channeliser(plan_channelise(header, 1, 2), nullptr);
  channeliser.append(block);
  channeliser.end_of_stream();
  const ArrayLayout layout = builtin_array("best-2");
  BeamTracker tracker(layout, kStart, beams, {}, false);
  BeamformPlan plan;
  plan.n_ant = kAnt;
  plan.n_beam = beams.size();
  plan.channel_hz = {kFreq_hz};
  plan.spectrum_s = sample_s;
  plan.n_integrate = n_integrate;
  plan.update_spectra = steering_interval(tracker.max_rate(), kFreq_hz, sample_s, 1e-3);
  plan.member.resize({beams.size(), kAnt});
  plan.member.fill(1);
  plan.n_threads = 2;
  const auto beamformer = make_cpu_beamformer(std::move(plan), tracker);
  SpectraBlock spectra;
  BeamBlock out;
  channeliser.spectra(0, waves.size(), 0, 1, spectra);
  beamformer->start(0, waves.size(), out);
  beamformer->add(spectra, out);
  std::vector<std::vector<float>> result(beams.size());
  for (std::size_t beam = 0; beam < beams.size(); ++beam)
    for (std::size_t t = 0; t < out.n_time; ++t) result[beam].push_back(out.values(beam, t, 0));
  return result;
}

/// Directions over the sky, `repeat` samples of each.
std::vector<Vec3> directions(std::size_t n, std::size_t repeat) {
  std::vector<Vec3> waves;
  for (std::size_t i = 0; i < n; ++i)
    // a spiral from the zenith to 10 deg above the horizon; the beam is on it
    waves.insert(waves.end(), repeat,
                 enu_from_azimuth(2.4 * double(i), M_PI / 2 - 1.4 * double(i) / double(n)));
  return waves;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_pattern_is_equation_1) {
  const auto metres = positions();
  BOOST_TEST(metres.size() == kAnt);
  for (const double steps : {0.0, 7.0}) {
    const std::size_t repeat = steps > 0 ? 64 : 1, n = steps > 0 ? 512 : 8192;
    const std::vector<Vec3> waves = directions(n, repeat);
    BeamDirection beam{"beam", {}, waves[n / 10 * repeat], ""};
    const auto power = powers(waves, {beam}, 1e-4, repeat, steps);
    // the sum of N voltages is divided by N: a coherent gain of 32 is a peak of 1. The staircase of 4 bits
    // makes the amplitude of a constant wave of 7 steps 0.55 % larger
    const double peak = double(power[0][n / 10]);
    BOOST_TEST(std::abs(peak - 1) <= (steps > 0 ? 0.015 : 1e-5));
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double wanted =
          std::norm(reference::array_response(metres, waves[i * repeat], beam.enu, kFreq_hz));
      worst = std::max(worst, std::abs(double(power[0][i]) / (steps > 0 ? peak : 1) - wanted));
    }
    BOOST_TEST_MESSAGE((steps > 0 ? "4 bits" : "float") << ": worst error over the peak " << worst);
    // measured: 5.4e-7 and 0.0023
    BOOST_TEST(worst <= (steps > 0 ? 0.01 : 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(a_source_drifts_through_fixed_beams) {
  const ArrayLayout layout = builtin_array("best-2");
  const SkyFrame frame(*layout.site);
  const SkyDirection cas_a{6.123, 1.0264};
  constexpr double kSample_s = 8;
  std::vector<Vec3> waves;
  std::size_t transit = 0;
  for (std::size_t t = 0; t < 1500; ++t) {
    const UtcTime time = sample_time(kStart, std::int64_t(t), kSample_s);
    waves.push_back(frame.enu_from_direction(time, cas_a));
    if (waves[t][2] > waves[transit][2]) transit = t;
  }
  BOOST_TEST(transit > 200u);
  BOOST_TEST(transit < 1300u);
  // eight beams on the source's path, half a degree apart
  const double step_s = 0.5 / 360 * 86164 / std::cos(cas_a.dec_rad);
  std::vector<BeamDirection> beams;
  for (int i = -4; i < 4; ++i) {
    const auto at = static_cast<std::size_t>(double(transit) + (i + 0.5) * step_s / kSample_s);
    beams.push_back({std::to_string(i), {}, waves[at], ""});
  }
  const auto power = powers(waves, beams, kSample_s, 1, 0);
  const auto metres = positions();
  double worst = 0;
  std::size_t last_peak = 0;
  for (std::size_t beam = 0; beam < beams.size(); ++beam) {
    for (std::size_t t = 0; t < waves.size(); ++t) {
      const double wanted = std::norm(reference::array_response(metres, waves[t], beams[beam].enu, kFreq_hz));
      worst = std::max(worst, std::abs(double(power[beam][t]) - wanted));
    }
    // the beams see it one after the other
    const auto peak = static_cast<std::size_t>(std::max_element(power[beam].begin(), power[beam].end()) -
                                               power[beam].begin());
    BOOST_TEST(power[beam][peak] > 0.999f);
    if (beam > 0) BOOST_TEST(std::abs(double(peak - last_peak) * kSample_s - step_s) < 2 * kSample_s);
    last_peak = peak;
  }
  BOOST_TEST_MESSAGE("drift: worst error over the peak " << worst);
  BOOST_TEST(worst <= 1e-4);  // measured: 6.3e-7
}

BOOST_AUTO_TEST_SUITE_END()
