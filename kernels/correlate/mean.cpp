// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/mean.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/correlate/unquantised.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

/// 1 / g of an input at one channel, or 1; NaN where it has no gain.
std::complex<double> inverse_gain(const MeanPlan& mean, const CorrelatorPlan& plan, std::size_t input,
                                  std::size_t channel) {
  if (mean.gains.size() == 0) return 1.0;
  const std::size_t chan = mean.gains.extent(2) == plan.n_chan ? channel / plan.n_fine : channel;
  return 1.0 / mean.gains(input / plan.n_pol, input % plan.n_pol, chan);
}

}  // namespace

bool mean_of(const CorrelationSums& sums, const CorrelatorPlan& plan, const MeanPlan& mean,
             VisibilityRecord& record) {
  const std::size_t n_pol = plan.n_pol, n_product = n_pol * n_pol;
  const std::size_t n_channel = plan.n_chan * plan.n_fine;
  if (mean.n_average == 0 || n_channel % mean.n_average != 0 || mean.n_spectra < 1)
    throw std::logic_error("Correlator: channels do not divide into averages");
  if (mean.gains.size() != 0 && (mean.gains.extent(0) != plan.n_ant || mean.gains.extent(1) != n_pol ||
                                 (mean.gains.extent(2) != plan.n_chan && mean.gains.extent(2) != n_channel)))
    throw std::logic_error("Correlator: gains of another shape");
  const std::size_t n_out = n_channel / mean.n_average;
  record.data.resize({mean.baselines.size(), n_out, n_product});
  record.weight.resize({mean.baselines.size(), n_out, n_product});
  const double full = static_cast<double>(mean.n_spectra) * static_cast<double>(mean.n_average);
  const Unquantised unquantised(sums, plan, mean.quantisers);
  const bool corrects = mean.quantisers.recorder || mean.quantisers.requantiser;
  std::vector<std::uint8_t> any(mean.baselines.size(), 0);
  parallel_for(plan.n_threads, mean.baselines.size(), [&](std::size_t baseline, unsigned) {
    const auto ant1 = static_cast<std::size_t>(mean.baselines[baseline].ant1);
    const auto ant2 = static_cast<std::size_t>(mean.baselines[baseline].ant2);
    for (std::size_t out = 0; out < n_out; ++out)
      for (std::size_t product = 0; product < n_product; ++product) {
        const std::size_t i = ant1 * n_pol + product / n_pol, j = ant2 * n_pol + product % n_pol;
        std::complex<double> total = 0;
        std::int64_t valid = 0;
        for (std::size_t channel = out * mean.n_average; channel < (out + 1) * mean.n_average; ++channel) {
          const std::int64_t n = sums.count(channel / plan.n_fine, ant1, ant2);
          if (n == 0) continue;
          const std::complex<double> gain_i = inverse_gain(mean, plan, i, channel),
                                     gain_j = inverse_gain(mean, plan, j, channel);
          if (std::isnan(gain_i.real()) || std::isnan(gain_j.real())) continue;
          const std::complex<double> gain =
              i == j ? std::complex<double>(std::norm(gain_i)) : gain_i * std::conj(gain_j);
          std::complex<double> value = sums.sum(channel, i, j);
          if (corrects) {
            value /= static_cast<double>(n);
            if (!unquantised.correct(channel, i, j, value)) continue;
            value *= static_cast<double>(n);
          }
          total += value * gain;
          valid += n;
        }
        if (valid == 0) continue;
        const std::complex<double> value = total * (mean.scale * mean.scale / static_cast<double>(valid));
        const std::complex<float> rounded(value);
        if (!std::isfinite(rounded.real()) || !std::isfinite(rounded.imag())) continue;
        record.data(baseline, out, product) = {rounded.real(), i == j ? 0.0f : rounded.imag()};
        record.weight(baseline, out, product) = static_cast<float>(static_cast<double>(valid) / full);
        any[baseline] = 1;
      }
  });
  return std::any_of(any.begin(), any.end(), [](std::uint8_t flag) { return flag != 0; });
}

}  // namespace apsyn
