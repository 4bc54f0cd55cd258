// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/unquantised.h"

#include "libcore/system/parallel.h"

namespace apsyn {

std::uint64_t quantiser_bytes(const CorrelatorPlan& plan, const QuantiserPlan& quantisers) {
  if (!quantisers.recorder && !quantisers.requantiser) return 0;
  constexpr std::uint64_t kTables = 2u << 20;
  return 2 * kTables + std::uint64_t{plan.n_chan} * plan.n_fine * plan.n_input() *
                           (sizeof(QuantiserCurve::Level) + 3 * sizeof(double));
}

Unquantised::Unquantised(const CorrelationSums& sums, const CorrelatorPlan& plan,
                         const QuantiserPlan& quantisers)
    : plan_(plan), quantisers_(quantisers) {
  if (quantisers.requantiser)
    exact_ = quantisers.requantiser.get();
  else if (quantisers.of_samples)
    exact_ = quantisers.recorder.get();
  if (!exact_ && !quantisers.recorder) return;
  find_levels(sums);
  if (quantisers.recorder && exact_ != quantisers.recorder.get()) find_gains();
}

void Unquantised::find_levels(const CorrelationSums& sums) {
  const std::size_t n_input = plan_.n_input(), n_channel = plan_.n_chan * plan_.n_fine;
  power_.resize({n_channel, n_input});
  steps_.resize({plan_.n_chan, n_input});
  if (exact_) levels_.resize({n_channel, n_input});
  parallel_for(plan_.n_threads, n_channel, [&](std::size_t channel, unsigned) {
    const std::size_t chan = channel / plan_.n_fine;
    for (std::size_t input = 0; input < n_input; ++input) {
      const std::size_t ant = input / plan_.n_pol;
      const std::int64_t n = sums.count(chan, ant, ant);
      const double steps = sums.steps_per_unit(chan, input);
      if (channel % plan_.n_fine == 0) steps_(chan, input) = steps;
      double& power = power_(channel, input);
      power = n > 0 ? sums.sum(channel, input, input).real() / static_cast<double>(n) : -1;
      if (!exact_ || n == 0) continue;
      const auto level = exact_->level(power / 2);
      levels_(channel, input) = level;
      power = level.rms > 0 ? 2 * level.rms * level.rms / (steps * steps) : -1;
    }
  });
}

void Unquantised::find_gains() {
  const std::size_t n_input = plan_.n_input();
  const double n_component = quantisers_.real_samples ? 1 : 2;
  whitened_.resize({plan_.n_chan, n_input});
  for (std::size_t chan = 0; chan < plan_.n_chan; ++chan)
    for (std::size_t input = 0; input < n_input; ++input) {
      double sum = 0;
      std::size_t n = 0;
      for (std::size_t fine = 0; fine < plan_.n_fine; ++fine) {
        const double power = power_(chan * plan_.n_fine + fine, input);
        if (power < 0) continue;
        sum += power;
        ++n;
      }
      if (n == 0) continue;
      const double square = sum / static_cast<double>(n) / n_component;
      const auto level = quantisers_.recorder->level(square);
      if (level.rms == 0) continue;
      const double kept = level.gain * level.rms;
      whitened_(chan, input) = {level.gain, n_component * (square - kept * kept)};
    }
}

bool Unquantised::correct(std::size_t channel, std::size_t i, std::size_t j,
                          std::complex<double>& mean) const {
  const std::size_t chan = channel / plan_.n_fine;
  if (exact_) {
    const auto& level1 = levels_(channel, i);
    const auto& level2 = levels_(channel, j);
    if (level1.rms == 0 || level2.rms == 0) return false;
    if (i == j)
      mean = 2 * level1.rms * level1.rms;
    else
      mean = {2 * exact_->product(level1, level2, mean.real() / 2),
              2 * exact_->product_of_difference(level1, level2, mean.imag() / 2)};
    mean /= steps_(chan, i) * steps_(chan, j);
  }
  if (whitened_.size() == 0) return true;
  const Whitened &first = whitened_(chan, i), &second = whitened_(chan, j);
  if (first.gain == 0 || second.gain == 0) return false;
  if (i == j) mean -= first.noise;
  mean /= first.gain * second.gain;
  return true;
}

}  // namespace apsyn
