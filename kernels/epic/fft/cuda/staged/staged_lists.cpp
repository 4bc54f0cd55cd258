// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/cuda/staged/staged_lists.cuh"

namespace apsyn::epic_fft {

StagedLists staged_lists(const FftGridded& gridded, std::size_t n_x,
                         const std::function<double(std::size_t, std::size_t)>& factor) {
  StagedLists out;
  for (const GridLists& lists : gridded.lists) {
    out.channels.push_back({out.cells.size(), lists.cells.size() - 1});
    for (std::size_t row = 0; row < lists.rows.size(); ++row)
      for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
        const GridCell& cell = lists.cells[i];
        out.cells.push_back({static_cast<std::uint32_t>(lists.rows[row] * n_x + cell.column),
                             static_cast<std::uint32_t>(out.entries.size())});
        const auto by = static_cast<float>(factor(lists.rows[row], cell.column));
        for (std::size_t e = cell.begin; e < lists.cells[i + 1].begin; ++e) {
          const GridEntry& entry = lists.entries[e];
          out.entries.push_back({entry.ant, {by * entry.re, by * entry.im}});
        }
      }
    out.cells.push_back({0, static_cast<std::uint32_t>(out.entries.size())});
  }
  return out;
}

}  // namespace apsyn::epic_fft
