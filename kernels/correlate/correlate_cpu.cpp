// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <stdexcept>

#include "kernels/correlate/correlate.h"
#include "kernels/correlate/multiply.h"
#include "kernels/correlate/multiply_codes.h"
#include "libcore/core/parallel.h"

namespace apsyn {

namespace {

/// Rows of all panels before `panel`: panel p has 16 (p + 1).
std::size_t rows_before(std::size_t panel) {
  return kPanelInputs * panel * (panel + 1) / 2;
}

}  // namespace

std::uint64_t correlator_bytes(const CorrelatorPlan& plan) {
  const std::uint64_t sums = rows_before(panel_count(plan.n_input())) * 2 * kPanelInputs * sizeof(double);
  return plan.n_chan * plan.n_fine * sums + PairCounts::bytes(plan.n_chan, plan.n_ant);
}

Correlator::Correlator(const CorrelatorPlan& plan)
    : plan_(plan), rows_(rows_before(panel_count(plan.n_input()))), counts_(plan.n_chan, plan.n_ant) {
  if (plan.n_input() == 0 || plan.n_chan == 0 || plan.n_fine == 0)
    throw std::logic_error("Correlator: an empty plan");
  sums_.resize({plan.n_chan * plan.n_fine, rows_ * 2 * kPanelInputs});
  steps_.resize({plan.n_chan, plan.n_input()});
  steps_.fill(1);
}

Correlator::~Correlator() = default;

void Correlator::add(const SpectraBlock& block) {
  const std::size_t n_panel = panel_count(plan_.n_input());
  const std::size_t n_row = block.n_chan * block.n_fine, n_pair = (block.n_spectra + 1) / 2;
  const auto holds = [&](const auto& array, std::size_t n) {
    return array.extent(0) >= n_row && array.extent(1) == n_panel && array.extent(2) >= n;
  };
  if (block.n_fine != plan_.n_fine || block.first_chan + block.n_chan > plan_.n_chan ||
      block.n_spectra > kMaxBlockSpectra ||
      !(block.coded ? holds(block.codes, n_pair) : holds(block.planes, block.n_spectra)) ||
      block.valid.extent(1) != plan_.n_ant || block.valid.extent(2) != block.n_spectra)
    throw std::logic_error("Correlator: spectra of another shape than planned");
  counts_.add(block, plan_.n_threads);
  for (std::size_t chan = 0; block.steps.size() != 0 && chan < block.n_chan; ++chan)
    for (std::size_t input = 0; input < plan_.n_input(); ++input)
      steps_(block.first_chan + chan, input) = block.steps(chan, input);
  if (block.coded) return add_codes(block);
  parallel_for(plan_.n_threads, n_row * n_panel, [&](std::size_t item, unsigned) {
    const std::size_t panel = item % n_panel, channel = item / n_panel;
    PanelRun run;
    run.first = &block.planes(channel, 0, 0, 0);
    run.panel_stride = block.planes.extent(2) * 2 * kPanelInputs;
    run.n_spectra = block.n_spectra;
    const std::size_t n_rows = std::min(kPanelInputs * (panel + 1), plan_.n_input());
    double* sums = &sums_(block.first_chan * plan_.n_fine + channel, rows_before(panel) * 2 * kPanelInputs);
    multiply_panel(run, panel, n_rows, sums);
  });
}

void Correlator::add_codes(const SpectraBlock& block) {
  const std::size_t n_panel = panel_count(plan_.n_input()), n_row = block.n_chan * block.n_fine;
  const std::size_t n_pair = (block.n_spectra + 1) / 2;
  if (code_sums_.size() == 0 || code_sums_.extent(0) < n_row)
    code_sums_.resize({n_row, n_panel * 2 * kPanelInputs});
  parallel_for(plan_.n_threads, n_row, [&](std::size_t channel, unsigned) {
    for (std::size_t panel = 0; panel < n_panel; ++panel)
      sum_codes(&block.codes(channel, panel, 0, 0), n_pair, &code_sums_(channel, panel * 2 * kPanelInputs));
  });
  parallel_for(plan_.n_threads, n_row * n_panel, [&](std::size_t item, unsigned) {
    const std::size_t panel = item % n_panel, channel = item / n_panel;
    const CodeRun run{&block.codes(channel, 0, 0, 0), block.codes.extent(2) * kCodeBytes, n_pair};
    const std::size_t n_rows = std::min(kPanelInputs * (panel + 1), plan_.n_input());
    double* sums = &sums_(block.first_chan * plan_.n_fine + channel, rows_before(panel) * 2 * kPanelInputs);
    multiply_codes(run, panel, n_rows, &code_sums_(channel, 0), sums);
  });
}

void Correlator::clear() {
  sums_.fill(0);
  counts_.clear();
}

std::complex<double> Correlator::sum(std::size_t channel, std::size_t i, std::size_t j) const {
  if (i > j) return std::conj(sum(channel, j, i));
  const std::size_t panel = j / kPanelInputs;
  const double* at = &sums_(channel, (rows_before(panel) + i) * 2 * kPanelInputs + j % kPanelInputs);
  // |E|^2 is real; a fused multiply-add leaves the rounding of one product in place of 0
  return {at[0], i == j ? 0.0 : at[kPanelInputs]};
}

std::int64_t Correlator::count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const {
  return counts_(input_chan, ant1, ant2);
}

}  // namespace apsyn
