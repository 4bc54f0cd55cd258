// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "kernels/correlate/correlate.h"
#include "kernels/correlate/multiply.h"
#include "libcore/core/parallel.h"

namespace apsyn {

namespace {

/// Rows of all panels before `panel`: panel p has 16 (p + 1).
std::size_t rows_before(std::size_t panel) {
  return kPanelInputs * panel * (panel + 1) / 2;
}

std::size_t pair_index(std::size_t n_ant, std::size_t ant1, std::size_t ant2) {
  return ant1 * n_ant - ant1 * (ant1 + 1) / 2 + ant2;
}

std::size_t pair_count(std::size_t n_ant) {
  return n_ant * (n_ant + 1) / 2;
}

}  // namespace

std::uint64_t correlator_bytes(const CorrelatorPlan& plan) {
  const std::uint64_t sums = rows_before(panel_count(plan.n_input())) * 2 * kPanelInputs * sizeof(double);
  return plan.n_chan * (plan.n_fine * sums + pair_count(plan.n_ant) * sizeof(std::int64_t));
}

Correlator::Correlator(const CorrelatorPlan& plan)
    : plan_(plan), rows_(rows_before(panel_count(plan.n_input()))) {
  if (plan.n_input() == 0 || plan.n_chan == 0 || plan.n_fine == 0)
    throw std::logic_error("Correlator: an empty plan");
  sums_.resize({plan.n_chan * plan.n_fine, rows_ * 2 * kPanelInputs});
  counts_.resize({plan.n_chan, pair_count(plan.n_ant)});
}

Correlator::~Correlator() = default;

void Correlator::add(const SpectraBlock& block) {
  const std::size_t n_panel = panel_count(plan_.n_input());
  if (block.n_fine != plan_.n_fine || block.first_chan + block.n_chan > plan_.n_chan ||
      block.planes.extent(1) != n_panel || block.n_spectra > kMaxBlockSpectra ||
      block.planes.extent(2) < block.n_spectra || block.planes.extent(0) < block.n_chan * block.n_fine ||
      block.valid.extent(1) != plan_.n_ant || block.valid.extent(2) != block.n_spectra)
    throw std::logic_error("Correlator: spectra of another shape than planned");
  add_counts(block);
  parallel_for(plan_.n_threads, block.n_chan * plan_.n_fine * n_panel, [&](std::size_t item, unsigned) {
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

void Correlator::add_counts(const SpectraBlock& block) {
  const std::size_t n_ant = plan_.n_ant;
  const auto spectra = static_cast<std::int64_t>(block.n_spectra);
  if (block.all_valid) {
    for (std::size_t chan = 0; chan < block.n_chan; ++chan)
      for (std::int64_t& count : counts_.view()[block.first_chan + chan]) count += spectra;
    return;
  }
  const std::size_t n_rows = block.valid.extent(0), n_word = (block.n_spectra + 63) / 64;
  Buffer<std::uint64_t, 3> bits({n_rows, n_ant, n_word});
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t ant = 0; ant < n_ant; ++ant)
      for (std::size_t i = 0; i < block.n_spectra; ++i)
        bits(row, ant, i / 64) |= std::uint64_t{block.valid(row, ant, i) != 0} << (i % 64);
  parallel_for(plan_.n_threads, n_ant, [&](std::size_t ant1, unsigned) {
    for (std::size_t ant2 = ant1; ant2 < n_ant; ++ant2) {
      const std::size_t pair = pair_index(n_ant, ant1, ant2);
      std::int64_t both = 0;
      for (std::size_t chan = 0; chan < block.n_chan; ++chan) {
        if (chan < n_rows) {
          both = 0;
          for (std::size_t word = 0; word < n_word; ++word)
            both += std::popcount(bits(chan, ant1, word) & bits(chan, ant2, word));
        }
        counts_(block.first_chan + chan, pair) += both;
      }
    }
  });
}

void Correlator::clear() {
  sums_.fill(0);
  counts_.fill(0);
}

std::complex<double> Correlator::sum(std::size_t channel, std::size_t i, std::size_t j) const {
  if (i > j) return std::conj(sum(channel, j, i));
  const std::size_t panel = j / kPanelInputs;
  const double* at = &sums_(channel, (rows_before(panel) + i) * 2 * kPanelInputs + j % kPanelInputs);
  // |E|^2 is real; a fused multiply-add leaves the rounding of one product in place of 0
  return {at[0], i == j ? 0.0 : at[kPanelInputs]};
}

std::int64_t Correlator::count(std::size_t input_chan, std::size_t ant1, std::size_t ant2) const {
  return counts_(input_chan, pair_index(plan_.n_ant, std::min(ant1, ant2), std::max(ant1, ant2)));
}

}  // namespace apsyn
