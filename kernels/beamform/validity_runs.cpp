// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/validity_runs.h"

namespace apsyn {

std::vector<ValidityRun> validity_runs(const SpectraBlock& block, std::size_t row,
                                       const std::vector<std::uint8_t>& used) {
  if (block.all_valid) return {{0, block.n_spectra}};
  std::vector<std::uint8_t> changes(block.n_spectra, 0);
  for (std::size_t ant = 0; ant < used.size(); ++ant) {
    if (used[ant] == 0) continue;
    const std::uint8_t* valid = &block.valid(row, ant, 0);
    for (std::size_t t = 1; t < block.n_spectra; ++t)
      changes[t] = static_cast<std::uint8_t>(changes[t] | (valid[t] ^ valid[t - 1]));
  }
  std::vector<ValidityRun> runs;
  std::size_t begin = 0;
  for (std::size_t t = 1; t <= block.n_spectra; ++t)
    if (t == block.n_spectra || changes[t] != 0) {
      runs.push_back({begin, t});
      begin = t;
    }
  return runs;
}

}  // namespace apsyn
