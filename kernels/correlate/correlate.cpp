// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdexcept>

#include "kernels/correlate/correlate.h"

namespace apsyn {

std::uint64_t correlator_bytes(const CorrelatorPlan& plan) {
  return PairSums::bytes(plan.n_chan * plan.n_fine, plan.n_input()) +
         PairCounts::bytes(plan.n_chan, plan.n_ant);
}

Correlator::Correlator(const CorrelatorPlan& plan)
    : plan_(plan), sums_(plan.n_chan * plan.n_fine, plan.n_input()), counts_(plan.n_chan, plan.n_ant) {
  if (plan.n_input() == 0 || plan.n_chan == 0 || plan.n_fine == 0)
    throw std::logic_error("Correlator: an empty plan");
  steps_.resize({plan.n_chan, plan.n_input()});
  steps_.fill(1);
}

Correlator::~Correlator() = default;

void Correlator::add(const SpectraBlock& block) {
  if (block.n_fine != plan_.n_fine || block.first_chan + block.n_chan > plan_.n_chan ||
      block.n_spectra > kMaxBlockSpectra || !sums_.accepts(block) || block.valid.extent(1) != plan_.n_ant ||
      block.valid.extent(2) != block.n_spectra)
    throw std::logic_error("Correlator: spectra of another shape than planned");
  counts_.add(block, plan_.n_threads);
  for (std::size_t chan = 0; block.steps.size() != 0 && chan < block.n_chan; ++chan)
    for (std::size_t input = 0; input < plan_.n_input(); ++input)
      steps_(block.first_chan + chan, input) = block.steps(chan, input);
  sums_.add(block, plan_.n_threads);
}

void Correlator::clear() {
  sums_.clear();
  counts_.clear();
}

std::complex<double> Correlator::sum(std::size_t channel, std::size_t i, std::size_t j) const {
  return sums_(channel, i, j);
}

std::int64_t Correlator::count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const {
  return counts_(input_chan, ant1, ant2);
}

}  // namespace apsyn
