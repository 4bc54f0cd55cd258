// SPDX-License-Identifier: GPL-3.0-or-later
// GridLists of all channels as the gridder of fft/cuda/steps.cuh reads them. For host code with CUDA only.
#pragma once

#include <functional>
#include <vector>

#include "kernels/epic/fft/cuda/steps.cuh"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

struct StagedChannel {
  std::size_t first_cell = 0, n_cell = 0;
};
struct StagedLists {
  std::vector<StagedChannel> channels;
  std::vector<StagedCell> cells;  ///< of all channels, and one more of each
  std::vector<StagedEntry> entries;
};

/// On planes of n_x columns; `factor` is what a cell's entries are multiplied by.
StagedLists staged_lists(
    const FftGridded& gridded, std::size_t n_x,
    const std::function<double(std::size_t row, std::size_t column)>& factor = [](auto, auto) {
      return 1.0;
    });

}  // namespace apsyn::epic_fft
