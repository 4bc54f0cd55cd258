// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/correlate/correlate.h"
#include "libcore/core/parallel.h"

namespace apsyn {

namespace {

/// 1 / (g_i g_j*) of every input's gain at one channel, or 1.
std::complex<double> inverse_gain(const MeanPlan& mean, const CorrelatorPlan& plan, std::size_t input,
                                  std::size_t channel) {
  if (mean.gains.size() == 0) return 1.0;
  const std::size_t chan = mean.gains.extent(2) == plan.n_chan ? channel / plan.n_fine : channel;
  return 1.0 / mean.gains(input / plan.n_pol, input % plan.n_pol, chan);
}

}  // namespace

bool Correlator::mean(const MeanPlan& mean, VisibilityRecord& record) const {
  const std::size_t n_pol = plan_.n_pol, n_product = n_pol * n_pol;
  const std::size_t n_channel = plan_.n_chan * plan_.n_fine;
  if (mean.n_average == 0 || n_channel % mean.n_average != 0 || mean.n_spectra < 1)
    throw std::logic_error("Correlator: channels do not divide into averages");
  if (mean.gains.size() != 0 && (mean.gains.extent(0) != plan_.n_ant || mean.gains.extent(1) != n_pol ||
                                 (mean.gains.extent(2) != plan_.n_chan && mean.gains.extent(2) != n_channel)))
    throw std::logic_error("Correlator: gains of another shape");
  const std::size_t n_out = n_channel / mean.n_average;
  record.data.resize({mean.baselines.size(), n_out, n_product});
  record.weight.resize({mean.baselines.size(), n_out, n_product});
  const double full = static_cast<double>(mean.n_spectra) * static_cast<double>(mean.n_average);
  std::vector<std::uint8_t> any(mean.baselines.size(), 0);
  parallel_for(plan_.n_threads, mean.baselines.size(), [&](std::size_t baseline, unsigned) {
    const auto ant1 = static_cast<std::size_t>(mean.baselines[baseline].ant1);
    const auto ant2 = static_cast<std::size_t>(mean.baselines[baseline].ant2);
    for (std::size_t out = 0; out < n_out; ++out)
      for (std::size_t product = 0; product < n_product; ++product) {
        const std::size_t i = ant1 * n_pol + product / n_pol, j = ant2 * n_pol + product % n_pol;
        std::complex<double> total = 0;
        std::int64_t valid = 0;
        for (std::size_t channel = out * mean.n_average; channel < (out + 1) * mean.n_average; ++channel) {
          const std::int64_t n = count(channel / plan_.n_fine, ant1, ant2);
          if (n == 0) continue;
          const std::complex<double> gain =
              i == j
                  ? std::complex<double>(std::norm(inverse_gain(mean, plan_, i, channel)))
                  : inverse_gain(mean, plan_, i, channel) * std::conj(inverse_gain(mean, plan_, j, channel));
          total += sum(channel, i, j) * gain;
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

std::uint64_t spectra_bytes(const CorrelatorPlan& plan, const IntegrationPlan& integration) {
  return std::uint64_t{integration.batch_chan} * plan.n_fine * panel_count(plan.n_input()) *
         (integration.block_spectra | 1) * 2 * kPanelInputs * sizeof(float);
}

IntegrationPlan plan_integration(const CorrelatorPlan& plan, std::int64_t n_spectra,
                                 std::uint64_t cache_bytes) {
  IntegrationPlan integration;
  integration.n_spectra = std::max<std::int64_t>(1, n_spectra);
  // long blocks spill their float32 sums seldom; short ones stay in the cache, and in little memory
  constexpr std::size_t kBest = 128, kGood = 32, kLeast = 4;
  integration.batch_chan = 1;
  integration.block_spectra = plan.n_fine == 1 ? kMaxBlockSpectra : kBest;
  while (integration.block_spectra > kGood && spectra_bytes(plan, integration) > cache_bytes)
    integration.block_spectra /= 2;
  while (integration.block_spectra > kLeast && spectra_bytes(plan, integration) > 4 * cache_bytes)
    integration.block_spectra /= 2;
  const std::uint64_t one = spectra_bytes(plan, integration);
  integration.batch_chan =
      std::clamp<std::size_t>(static_cast<std::size_t>(cache_bytes / one), 1, plan.n_chan);
  integration.block_spectra = static_cast<std::size_t>(
      std::min<std::int64_t>(integration.n_spectra, static_cast<std::int64_t>(integration.block_spectra)));
  return integration;
}

bool Integrator::advance(std::int64_t available, bool at_end) {
  const std::int64_t end = (index_ + 1) * integration_.n_spectra;
  while (next_ < end) {
    const auto whole = static_cast<std::int64_t>(integration_.block_spectra);
    std::int64_t n = std::min(whole, end - next_);
    if (next_ + n > available) {
      if (!at_end) return false;
      n = available - next_;
    }
    if (n <= 0) return spectra_taken() > 0;
    for (std::size_t chan = 0; chan < plan_.n_chan; chan += integration_.batch_chan) {
      source_.spectra(next_, static_cast<std::size_t>(n), chan,
                      std::min(integration_.batch_chan, plan_.n_chan - chan), block_);
      correlator_.add(block_);
    }
    next_ += n;
  }
  return true;
}

void Integrator::next_integration() {
  correlator_.clear();
  ++index_;
}

}  // namespace apsyn
