// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/beam_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/beamform/cpu/tile.h"
#include "libcore/system/parallel.h"

namespace apsyn {

double steering_middle_s(const BeamformPlan& plan, std::int64_t interval) {
  // beams that never move are steered for their first spectrum
  const double length = static_cast<double>(plan.update_spectra);
  const double spectrum =
      plan.update_spectra == kNeverSteered ? 0 : (static_cast<double>(interval) + 0.5) * length - 0.5;
  return plan.first_middle_s + spectrum * plan.spectrum_s;
}

double fit_delay_lines(const BeamformPlan& plan, BeamDelaySource& delays, std::int64_t first,
                       std::int64_t span, double* delay_s, double* slope_s) {
  const std::size_t n_ant = plan.n_ant;
  const auto middle_s = [&](std::int64_t interval) { return steering_middle_s(plan, interval); };
  delays.prepare(middle_s(first), middle_s(first + span));
  std::vector<double> off(plan.n_beam, 0);
  parallel_for(plan.n_threads, plan.n_beam, [&](std::size_t beam, unsigned) {
    double *begin = delay_s + beam * n_ant, *slope = slope_s + beam * n_ant;
    delays.delays_s(beam, middle_s(first), {begin, n_ant});
    delays.delays_s(beam, middle_s(first + span), {slope, n_ant});
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      slope[ant] = (slope[ant] - begin[ant]) / static_cast<double>(span);
    std::vector<double> between(n_ant);
    for (const std::int64_t step : {span / 4, span / 4 * 3}) {
      delays.delays_s(beam, middle_s(first + step), between);
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        off[beam] =
            std::max(off[beam],
                     4.0 / 3 * std::abs(between[ant] - begin[ant] - static_cast<double>(step) * slope[ant]));
    }
  });
  return *std::max_element(off.begin(), off.end());
}

BeamWeights::BeamWeights(const BeamformPlan& plan, BeamDelaySource& delays, std::size_t n_beam_group)
    : plan_(plan),
      delays_(delays),
      n_beam_group_(n_beam_group),
      padded_ant_((plan.n_ant + 15) / 16 * 16),
      weights_({plan.n_channel(), plan.n_beam, plan.n_input() * 2}),
      steered_(plan.n_channel() * n_beam_group, -1) {}

void BeamWeights::prepare(std::int64_t first, std::int64_t end) {
  first_interval_ = interval_of(first);
  const std::int64_t last = interval_of(end - 1);
  const auto middle_s = [&](std::int64_t interval) { return steering_middle_s(plan_, interval); };
  delays_.prepare(middle_s(first_interval_), middle_s(last));
  const std::array<std::size_t, 3> shape{static_cast<std::size_t>(last - first_interval_ + 1), plan_.n_beam,
                                         padded_ant_};
  if (delay_s_.shape() != shape) delay_s_.resize(shape);
  for (std::int64_t interval = first_interval_; interval <= last; ++interval)
    for (std::size_t beam = 0; beam < plan_.n_beam; ++beam)
      delays_.delays_s(
          beam, middle_s(interval),
          {&delay_s_(static_cast<std::size_t>(interval - first_interval_), beam, 0), plan_.n_ant});
}

double BeamWeights::amplitude(std::size_t ant, std::size_t pol, std::size_t channel) const {
  if (plan_.weights.size() == 0) return 1;
  const bool coarse = plan_.weights.extent(2) == plan_.n_chan;
  return std::abs(plan_.weights(ant, pol, coarse ? channel / plan_.n_fine : channel));
}

void BeamWeights::steer(const BeamRange& beams, std::size_t channel, std::int64_t spectrum) {
  const std::int64_t interval = interval_of(spectrum);
  std::int64_t& held = steered_[channel * n_beam_group_ + beams.group];
  if (held == interval) return;
  held = interval;
  const auto entry = [&](const Buffer<std::complex<double>, 3>& table, std::size_t ant, std::size_t pol) {
    if (table.size() == 0) return std::complex<double>(1);
    return table(ant, pol, table.extent(2) == plan_.n_chan ? channel / plan_.n_fine : channel);
  };
  std::vector<float> cosine(padded_ant_, 1.0f), sine(padded_ant_, 0.0f);
  for (std::size_t beam = beams.first; beam < beams.first + beams.n; ++beam) {
    if (!plan_.incoherent)
      steer_phases(&delay_s_(static_cast<std::size_t>(interval - first_interval_), beam, 0), plan_.n_ant,
                   plan_.channel_hz[channel], cosine.data(), sine.data());
    float* to = &weights_(channel, beam, 0);
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan_.n_pol; ++pol, to += 2) {
        to[0] = to[1] = 0;
        if (plan_.member(beam, ant) == 0) continue;
        const std::complex<double> towards(cosine[ant], -sine[ant]);
        const std::complex<double> w =
            plan_.scale * towards * entry(plan_.weights, ant, pol) * entry(plan_.calibration, ant, pol);
        to[0] = static_cast<float>(w.real());
        to[1] = static_cast<float>(w.imag());
      }
  }
}

void BeamWeights::norm(std::size_t beam, std::size_t channel, const std::uint8_t* valid, std::size_t stride,
                       float norm[3]) const {
  double sum[3] = {};
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    if (plan_.member(beam, ant) == 0 || valid[ant * stride] == 0) continue;
    const double x = amplitude(ant, 0, channel), y = plan_.n_pol == 2 ? amplitude(ant, 1, channel) : x;
    sum[0] += plan_.incoherent ? x * x : x;
    sum[1] += plan_.incoherent ? y * y : y;
    sum[2] += x * y;
  }
  const bool half = plan_.product != BeamProduct::voltage && (!(sum[0] > 0) || !(sum[1] > 0));
  for (std::size_t i = 0; i < 3; ++i) norm[i] = !half && sum[i] > 0 ? static_cast<float>(1 / sum[i]) : 0;
}

}  // namespace apsyn
