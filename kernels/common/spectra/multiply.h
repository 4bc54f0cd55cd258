// SPDX-License-Identifier: GPL-3.0-or-later
// The cross-multiply of one column panel with the rows of all panels up to it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn {

/// Spectra [panel][spectrum][re 16 | im 16] of one channel.
struct PanelRun {
  const float* first = nullptr;  ///< panel 0
  std::size_t panel_stride = 0;  ///< floats from panel to panel
  std::size_t n_spectra = 0;
};

/// sums[row][re 16 | im 16] += sum over spectra of E_row E_column*, rows 0 .. n_rows-1, columns of `panel`.
void multiply_panel(const PanelRun& run, std::size_t panel, std::size_t n_rows, double* sums);

}  // namespace apsyn
