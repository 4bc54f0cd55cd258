// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of beamformers share: recordings, plans, and errors against beams computed one spectrum at a
// time in float64.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <random>

#include "kernels/beamform/beam_engine.h"
#include "tests/reference/beamform.h"
#include "tests/support/correlate_setup.h"

namespace apsyn::test {

using Beams = std::vector<std::vector<std::vector<float>>>;  ///< [beam][time][value]

struct LinearDelays final : BeamDelaySource {
  double rate = 0;
  double at(std::size_t beam, std::size_t ant, double t_s) const {
    return 1e-8 * std::sin(1.0 + 3.0 * double(beam) + 1.7 * double(ant)) +
           rate * t_s * std::cos(double(beam) + double(ant));
  }
  void prepare(double, double) override {}
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override {
    for (std::size_t ant = 0; ant < delay_s.size(); ++ant) delay_s[ant] = at(beam, ant, t_s);
  }
};

struct Case {
  std::size_t n_chan, n_ant, n_pol, n_beam;
  BeamProduct product;
  bool incoherent = false;
  std::size_t n_integrate = 1, n_average = 1;
  bool missing = false, weights = false, circular = false;
};

inline Recording recording_of(const Case& c, std::size_t n_time) {
  VoltageHeader header = voltage_header(c.n_chan, c.n_ant, c.n_pol, 1e6, 150e6);
  header.missing_samples = 8;
  Recording recording(header, n_time);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (auto& sample : recording.samples) sample = {normal(random), normal(random)};
  if (!c.missing) return recording;
  for (auto& valid : recording.valid) valid = random() % 4 != 0;
  for (std::size_t ant = 0; ant < c.n_ant; ++ant) recording.valid[3 * c.n_ant + ant] = 0;  // all of them
  return recording;
}

inline BeamformPlan plan_of(const Case& c, const VoltageHeader& header) {
  BeamformPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_ant = c.n_ant;
  plan.n_pol = c.n_pol;
  plan.n_beam = c.n_beam;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan) plan.channel_hz.push_back(header.channel_freq_hz(chan));
  plan.circular = c.circular;
  plan.spectrum_s = header.sample_s;
  plan.product = c.product;
  plan.incoherent = c.incoherent;
  plan.n_integrate = c.n_integrate;
  plan.n_average = c.n_average;
  plan.scale = 0.5;
  plan.member.resize({c.n_beam, c.n_ant});
  plan.member.fill(1);
  if (c.n_beam > 1 && c.n_ant > 2) plan.member(1, 2) = plan.member(1, 0) = 0;
  if (c.weights) {
    plan.weights.resize({c.n_ant, c.n_pol, c.n_chan});
    plan.calibration.resize({c.n_ant, c.n_pol, c.n_chan});
    std::mt19937 random(5);
    std::uniform_real_distribution<double> part(-1, 1);
    for (auto& w : plan.weights.view()) w = {part(random), part(random)};
    for (auto& g : plan.calibration.view()) g = {part(random), part(random)};
  }
  return plan;
}

inline BeamformPlan copy_of(const BeamformPlan& plan) {
  BeamformPlan copy;
  copy.n_chan = plan.n_chan, copy.n_fine = plan.n_fine, copy.n_ant = plan.n_ant, copy.n_pol = plan.n_pol;
  copy.n_beam = plan.n_beam, copy.channel_hz = plan.channel_hz, copy.circular = plan.circular;
  copy.spectrum_s = plan.spectrum_s, copy.first_middle_s = plan.first_middle_s;
  copy.first_spectrum = plan.first_spectrum;
  copy.update_spectra = plan.update_spectra, copy.product = plan.product;
  copy.incoherent = plan.incoherent, copy.n_integrate = plan.n_integrate, copy.n_average = plan.n_average;
  copy.scale = plan.scale;
  const auto copied = [](auto& to, const auto& from) {
    to.resize(from.shape());
    std::copy(from.begin(), from.end(), to.begin());
  };
  copied(copy.member, plan.member);
  if (plan.weights.size() > 0) copied(copy.weights, plan.weights);
  if (plan.calibration.size() > 0) copied(copy.calibration, plan.calibration);
  return copy;
}

/// Other gains than those of the plan, which leave antenna 1 out of all beams.
inline BeamGains other_gains(const BeamformPlan& plan) {
  BeamGains gains;
  gains.member.resize(plan.member.shape());
  std::copy(plan.member.begin(), plan.member.end(), gains.member.begin());
  for (std::size_t beam = 0; beam < plan.n_beam; ++beam) gains.member(beam, 1) = 0;
  gains.calibration.resize({plan.n_ant, plan.n_pol, plan.n_chan});
  for (std::size_t i = 0; i < gains.calibration.size(); ++i)
    gains.calibration.data()[i] =
        std::polar(1.0 + 0.1 * static_cast<double>(i), 0.7 * static_cast<double>(i));
  return gains;
}

inline reference::BeamSample sample_of(const Recording& recording, const BeamformPlan& plan,
                                       const LinearDelays& delays, std::size_t beam, std::size_t t,
                                       std::size_t chan) {
  std::vector<reference::BeamInput> inputs(plan.n_ant);
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    reference::BeamInput& input = inputs[ant];
    input.valid = plan.member(beam, ant) != 0 && recording.is_valid(t, ant);
    const double t_s = plan.first_middle_s + static_cast<double>(t) * plan.spectrum_s;
    input.turns = plan.incoherent ? 0 : plan.channel_hz[chan] * delays.at(beam, ant, t_s);
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
      input.voltage[pol] = std::complex<double>(
          recording.samples[((t * plan.n_chan + chan) * plan.n_ant + ant) * plan.n_pol + pol]);
      if (plan.weights.size() > 0) input.weight[pol] = plan.weights(ant, pol, chan);
      if (plan.calibration.size() > 0) input.calibration[pol] = plan.calibration(ant, pol, chan);
    }
  }
  return plan.incoherent ? reference::incoherent_beam(inputs, plan.n_pol, plan.scale)
                         : reference::coherent_beam(inputs, plan.n_pol, plan.scale);
}

/// Differences over the RMS of all values.
struct BeamError {
  double worst = 0, rms = 0;
};

inline BeamError errors_of(const Recording& recording, const BeamformPlan& plan, const LinearDelays& delays,
                           const Beams& result) {
  double worst = 0, square = 0, difference = 0, n = 0;
  const std::size_t n_out = plan.n_chan / plan.n_average;
  BOOST_TEST(result[0].size() == recording.n_time / plan.n_fine / plan.n_integrate);
  for (std::size_t beam = 0; beam < plan.n_beam; ++beam)
    for (std::size_t time = 0; time < result[beam].size(); ++time)
      for (std::size_t out = 0; out < n_out; ++out) {
        std::array<double, 4> truth{};
        double count = 0;
        for (std::size_t t = time * plan.n_integrate; t < (time + 1) * plan.n_integrate; ++t)
          for (std::size_t chan = out * plan.n_average; chan < (out + 1) * plan.n_average; ++chan) {
            const auto s = sample_of(recording, plan, delays, beam, t, chan);
            if (plan.product == BeamProduct::voltage) {
              truth = {s.voltage[0].real(), s.voltage[0].imag(), s.voltage[1].real(), s.voltage[1].imag()};
              count = 1;
              continue;
            }
            if (!s.x_valid || (plan.n_pol == 2 && !s.y_valid)) continue;
            count += 1;
            const auto stokes = reference::stokes(s, plan.circular);
            if (plan.product == BeamProduct::power)
              truth[0] += plan.n_pol == 1 ? s.xx : stokes[0];
            else if (plan.product == BeamProduct::coherence)
              truth = {truth[0] + s.xx, truth[1] + s.yy, truth[2] + s.xy.real(), truth[3] + s.xy.imag()};
            else
              for (std::size_t i = 0; i < 4; ++i) truth[i] += stokes[i];
          }
        for (std::size_t value = 0; value < plan.n_value(); ++value) {
          const double wanted = count > 0 ? truth[value] / count : 0;
          const float got = plan.product == BeamProduct::voltage
                                ? result[beam][time][out * plan.n_value() + value]
                                : result[beam][time][value * n_out + out];
          if (count == 0) BOOST_TEST(got == 0.0f);
          const double off = std::isfinite(got) ? std::abs(double(got) - wanted) : 1e30;
          worst = std::max(worst, off);
          difference += off * off;
          square += wanted * wanted;
          n += 1;
        }
      }
  return {worst / std::sqrt(square / n), std::sqrt(difference / square)};
}

/// All that the engine makes of a recording that comes in gulps of `gulp` samples; 0 = all at once.
/// `before(sample)` is called before the gulp that begins with it.
inline Beams beams_of(BeamEngine& engine, const Recording& recording, std::size_t gulp,
                      const std::function<void(std::size_t)>& before = {}) {
  Beams result;
  BeamBlock beams;
  const auto drain = [&] {
    while (engine.next(beams)) {
      result.resize(beams.values.extent(0));
      BOOST_TEST(std::size_t(beams.first) == result[0].size());
      for (std::size_t beam = 0; beam < result.size(); ++beam)
        for (std::size_t t = 0; t < beams.n_time; ++t)
          result[beam].emplace_back(&beams.values(beam, t, 0),
                                    &beams.values(beam, t, 0) + beams.values.extent(2));
      for (float& value : beams.values.view()) value = 1e30f;  // poison what is used again
    }
  };
  if (gulp == 0) gulp = recording.n_time;
  for (std::size_t first = 0; first < recording.n_time; first += gulp) {
    if (before) before(first);
    engine.append(recording.block(first, std::min(gulp, recording.n_time - first)));
    drain();
  }
  engine.end_of_stream();
  drain();
  return result;
}

}  // namespace apsyn::test
