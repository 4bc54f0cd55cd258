// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/correlate/correlate.h"

namespace apsyn {

std::uint64_t spectra_bytes(const CorrelatorPlan& plan, const IntegrationPlan& integration) {
  return std::uint64_t{integration.batch_chan} * plan.n_fine * panel_count(plan.n_input()) *
         (integration.block_spectra | 1) * 2 * kPanelInputs *
         (plan.codes ? sizeof(std::int8_t) : sizeof(float));
}

IntegrationPlan plan_integration(const CorrelatorPlan& plan, std::int64_t n_spectra,
                                 std::uint64_t cache_bytes) {
  IntegrationPlan integration;
  integration.n_spectra = std::max<std::int64_t>(1, n_spectra);
  // long blocks rarely spill their float32 sums; short ones stay in the cache and need little memory
  constexpr std::size_t kBest = 128, kGood = 32, kMin = 4;
  integration.batch_chan = 1;
  integration.block_spectra = plan.n_fine == 1 ? kMaxBlockSpectra : kBest;
  while (integration.block_spectra > kGood && spectra_bytes(plan, integration) > cache_bytes)
    integration.block_spectra /= 2;
  while (integration.block_spectra > kMin && spectra_bytes(plan, integration) > 4 * cache_bytes)
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
