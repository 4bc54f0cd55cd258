// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/spectra/pair_sums.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/common/spectra/multiply.h"
#include "kernels/common/spectra/multiply_codes.h"
#include "libcore/system/parallel.h"

namespace apsyn {

PairSums::PairSums(std::size_t n_channel, std::size_t n_input) : n_input_(n_input) {
  sums_.resize({n_channel, rows_before(panel_count(n_input)) * 2 * kPanelInputs});
}

std::uint64_t PairSums::bytes(std::size_t n_channel, std::size_t n_input) {
  return n_channel * rows_before(panel_count(n_input)) * 2 * kPanelInputs * sizeof(double);
}

bool PairSums::accepts(const SpectraBlock& block) const {
  const std::size_t n_row = block.n_chan * block.n_fine;
  const auto holds = [&](const auto& array, std::size_t n) {
    return array.extent(0) >= n_row && array.extent(1) == panel_count(n_input_) && array.extent(2) >= n;
  };
  return block.first_chan * block.n_fine + n_row <= sums_.extent(0) &&
         (block.coded ? holds(block.codes, (block.n_spectra + 1) / 2) : holds(block.planes, block.n_spectra));
}

void PairSums::add(const SpectraBlock& block, unsigned n_threads) {
  if (!accepts(block)) throw std::logic_error("PairSums: spectra of another shape than planned");
  for (std::size_t first = 0; first < block.n_spectra; first += kMaxBlockSpectra) {
    const std::size_t n = std::min(kMaxBlockSpectra, block.n_spectra - first);
    block.coded ? add_codes(block, first, n, n_threads) : add_planes(block, first, n, n_threads);
  }
}

void PairSums::add_planes(const SpectraBlock& block, std::size_t first, std::size_t n, unsigned n_threads) {
  const std::size_t n_panel = panel_count(n_input_), n_row = block.n_chan * block.n_fine;
  parallel_for(n_threads, n_row * n_panel, [&](std::size_t item, unsigned) {
    const std::size_t panel = item % n_panel, channel = item / n_panel;
    PanelRun run;
    run.first = &block.planes(channel, 0, first, 0);
    run.panel_stride = block.planes.extent(2) * 2 * kPanelInputs;
    run.n_spectra = n;
    const std::size_t n_rows = std::min(kPanelInputs * (panel + 1), n_input_);
    double* sums = &sums_(block.first_chan * block.n_fine + channel, rows_before(panel) * 2 * kPanelInputs);
    multiply_panel(run, panel, n_rows, sums);
  });
}

void PairSums::add_codes(const SpectraBlock& block, std::size_t first, std::size_t n, unsigned n_threads) {
  const std::size_t n_panel = panel_count(n_input_), n_row = block.n_chan * block.n_fine;
  const std::size_t n_pair = (n + 1) / 2;
  if (code_sums_.size() == 0 || code_sums_.extent(0) < n_row)
    code_sums_.resize({n_row, n_panel * 2 * kPanelInputs});
  parallel_for(n_threads, n_row, [&](std::size_t channel, unsigned) {
    for (std::size_t panel = 0; panel < n_panel; ++panel)
      sum_codes(&block.codes(channel, panel, first / 2, 0), n_pair,
                &code_sums_(channel, panel * 2 * kPanelInputs));
  });
  parallel_for(n_threads, n_row * n_panel, [&](std::size_t item, unsigned) {
    const std::size_t panel = item % n_panel, channel = item / n_panel;
    const CodeRun run{&block.codes(channel, 0, first / 2, 0), block.codes.extent(2) * kCodeBytes, n_pair};
    const std::size_t n_rows = std::min(kPanelInputs * (panel + 1), n_input_);
    double* sums = &sums_(block.first_chan * block.n_fine + channel, rows_before(panel) * 2 * kPanelInputs);
    multiply_codes(run, panel, n_rows, &code_sums_(channel, 0), sums);
  });
}

}  // namespace apsyn
