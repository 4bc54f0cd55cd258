// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/norm_rows.h"

#include <algorithm>

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

void NormRows::prepare(const BeamformPlan& plan, const BeamWeights& weights, const BeamRange& beams,
                       std::size_t first_chan, std::size_t n_chan, const SpectraBlock& block,
                       const std::vector<std::vector<ValidityRun>>& runs) {
  runs_ = &runs;
  n_beam_ = beams.n;
  n_row_ = plan.incoherent ? 3 : plan.n_pol;
  first_chan_ = first_chan;
  n_fine_ = plan.n_fine;
  first_input_chan_ = block.first_chan;
  n_valid_row_ = block.valid.extent(0);
  const bool one = plan.weights.size() == 0 && n_valid_row_ == 1;
  std::size_t n_run = 0;
  for (const auto& of_row : runs) n_run = std::max(n_run, of_row.size());
  stride_ = one ? 0 : n_run * n_beam_ * 3;
  values_.resize((one ? 1 : n_chan) * n_run * n_beam_ * 3);
  for (std::size_t i = 0; i < (one ? 1 : n_chan); ++i) {
    float* norm = values_.data() + i * stride_;
    const std::size_t row = row_of(first_chan + i);
    for (const ValidityRun& run : runs[row])
      for (std::size_t b = 0; b < n_beam_; ++b, norm += 3)
        weights.norm(beams.first + b, first_chan + i, &block.valid(row, 0, run.begin), block.n_spectra, norm);
  }
}

void NormRows::fill(std::size_t channel, const Tile& tile, float* norm, float* counts) const {
  constexpr std::size_t kRow = kTileSpectra;
  const auto& runs = (*runs_)[row_of(channel)];
  auto run = std::partition_point(runs.begin(), runs.end(),
                                  [&](const ValidityRun& r) { return r.end <= tile.begin; });
  for (; run != runs.end() && run->begin < tile.begin + tile.n; ++run) {
    const std::size_t from = std::max(run->begin, tile.begin) - tile.begin;
    const std::size_t to = std::min(run->end, tile.begin + tile.n) - tile.begin;
    const float* values = values_.data() + (channel - first_chan_) * stride_ +
                          static_cast<std::size_t>(run - runs.begin()) * n_beam_ * 3;
    for (std::size_t b = 0; b < n_beam_; ++b, values += 3) {
      for (std::size_t i = 0; i < n_row_; ++i)
        std::fill_n(norm + (b * 3 + i) * kRow + from, to - from, values[i]);
      if (values[0] > 0)
        for (std::size_t t = from; t < to; ++t) counts[b * kRow + t] += 1;
    }
  }
  if (tile.n < kRow)
    for (std::size_t i = 0; i < n_beam_ * 3; ++i) std::fill_n(norm + i * kRow + tile.n, kRow - tile.n, 0.0f);
}

}  // namespace apsyn
