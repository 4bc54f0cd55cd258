// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the correlator share: streams in memory, and F and X run over them in gulps.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "kernels/channelise/channelise.h"
#include "kernels/correlate/correlate.h"
#include "libcore/voltage/voltage.h"

namespace apsyn::test {

inline VoltageHeader voltage_header(std::size_t n_chan, std::size_t n_ant, std::size_t n_pol,
                                    double bandwidth_hz, double freq_hz) {
  VoltageHeader header;
  header.n_chan = n_chan;
  header.n_ant = n_ant;
  header.n_pol = n_pol;
  header.bandwidth_hz = bandwidth_hz;
  header.freq_hz = freq_hz;
  header.sample_s = static_cast<double>(n_chan) / std::abs(bandwidth_hz);
  header.layout.antennas.resize(n_ant);
  return header;
}

/// A whole recording: [time][chan][ant][pol] complex, as integers or floats.
struct Recording {
  VoltageHeader header;
  std::size_t n_time = 0;
  bool integer = false;
  std::vector<std::complex<float>> samples;
  std::vector<std::uint8_t> valid;  ///< [time / missing_samples][ant]

  Recording(const VoltageHeader& h, std::size_t time) : header(h), n_time(time) {
    samples.resize(n_time * h.n_chan * h.n_ant * h.n_pol);
    valid.assign((n_time + h.missing_samples - 1) / h.missing_samples * h.n_ant, 1);
  }
  std::complex<float>& at(std::size_t t, std::size_t chan, std::size_t ant, std::size_t pol) {
    return samples[((t * header.n_chan + chan) * header.n_ant + ant) * header.n_pol + pol];
  }
  bool is_valid(std::size_t t, std::size_t ant) const {
    return valid[t / header.missing_samples * header.n_ant + ant] != 0;
  }
  /// Samples first .. first + n - 1, wherever spans of missing samples begin.
  VoltageBlock block(std::size_t first, std::size_t n) const {
    VoltageBlock block;
    block.first_sample = static_cast<std::int64_t>(first);
    block.n_time = n;
    block.integer = integer;
    block.missing_samples = header.missing_samples;
    const std::size_t per_time = header.n_chan * header.n_ant * header.n_pol;
    const std::array<std::size_t, 5> shape{n, header.n_chan, header.n_ant, header.n_pol, 2};
    const auto* from = reinterpret_cast<const float*>(samples.data() + first * per_time);
    if (integer) {
      block.samples_i8.resize(shape);
      for (std::size_t i = 0; i < block.samples_i8.size(); ++i)
        block.samples_i8.data()[i] = static_cast<std::int8_t>(from[i]);
    } else {
      block.samples_f32.resize(shape);
      std::copy(from, from + block.samples_f32.size(), block.samples_f32.data());
    }
    block.first_valid_row_offset = first % header.missing_samples;
    const std::size_t rows =
        (block.first_valid_row_offset + n + header.missing_samples - 1) / header.missing_samples;
    block.valid.resize({rows, header.n_ant});
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t ant = 0; ant < header.n_ant; ++ant)
        block.valid(row, ant) = valid[(first / header.missing_samples + row) * header.n_ant + ant];
    return block;
  }
};

struct Run {
  std::size_t n_fine = 1;
  std::int64_t n_spectra = 0;  ///< per integration; 0 = all there are
  std::size_t gulp = 0;        ///< samples; 0 = all at once
  unsigned n_threads = 1;
  DelaySource* delays = nullptr;
  Filterbank filterbank{};
  Requantisation requantise{};
  bool codes = false;
  std::size_t first = 0;  ///< sample at which the first spectrum begins
};

inline CorrelatorPlan correlator_plan(const VoltageHeader& header, const Run& run) {
  return {header.n_chan, run.n_fine, header.n_ant, header.n_pol, run.n_threads, run.codes};
}

/// Calls `each` with the correlator holding each integration's sums.
inline void correlate(const Recording& recording, const Run& run,
                      const std::function<void(const Correlator&, const Integrator&)>& each) {
  ChannelisePlan f = plan_channelise(recording.header, run.n_fine, run.n_threads, run.filterbank);
  const CorrelatorPlan plan = correlator_plan(recording.header, run);
  Correlator correlator(plan);
  const std::size_t length = recording.header.n_dim == 1 ? 2 * run.n_fine : run.n_fine;
  const auto all = static_cast<std::int64_t>((recording.n_time - run.first) / length);
  f.requantise = run.requantise;
  f.integration_spectra = run.n_spectra > 0 ? run.n_spectra : all;
  f.codes = run.codes;
  f.first_sample = static_cast<std::int64_t>(run.first);
  Channeliser channeliser(f, run.delays);
  Integrator integrator(channeliser, correlator, plan,
                        plan_integration(plan, run.n_spectra > 0 ? run.n_spectra : all, 4 << 20));
  const std::size_t gulp = run.gulp > 0 ? run.gulp : recording.n_time;
  for (std::size_t first = run.first; first < recording.n_time; first += gulp) {
    const std::size_t n = std::min(gulp, recording.n_time - first);
    channeliser.append(recording.block(first, n));
    const bool end = first + n == recording.n_time;
    if (end) channeliser.end_of_stream();
    while (integrator.advance(channeliser.available(), end)) {
      each(correlator, integrator);
      integrator.next_integration();
    }
    channeliser.release(integrator.next_spectrum());
  }
}

inline VisibilityRecord mean_of(const Correlator& correlator, std::size_t n_ant, std::int64_t n_spectra,
                                std::size_t n_average = 1) {
  MeanPlan plan;
  plan.baselines.clear();
  for (std::size_t i = 0; i < n_ant; ++i)
    for (std::size_t j = i; j < n_ant; ++j)
      plan.baselines.push_back({static_cast<int>(i), static_cast<int>(j)});
  plan.n_spectra = n_spectra;
  plan.n_average = n_average;
  VisibilityRecord record;
  correlator.mean(plan, record);
  return record;
}

/// Independent noise of unit power.
inline Recording noise(const VoltageHeader& header, std::size_t n_time, unsigned seed) {
  Recording recording(header, n_time);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, header.n_dim == 1 ? 1 : std::sqrt(0.5f));
  for (auto& sample : recording.samples) sample = {normal(random), header.n_dim == 1 ? 0 : normal(random)};
  return recording;
}

}  // namespace apsyn::test
