// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/weights.h"

#include <algorithm>

namespace apsyn {

EpicWeights::EpicWeights(const EpicPlan& plan)
    : n_fine_(plan.n_fine),
      n_average_(plan.n_average),
      autos_(plan.autos),
      flagged_(plan.flagged),
      left_out_(plan.left_out),
      n_channel_(static_cast<std::int64_t>(plan.n_channel())) {
  flagged_.resize(plan.n_ant, 0);
  n_used_ = std::count(flagged_.begin(), flagged_.end(), 0);
  pairs_.assign(plan.n_image_channel(), 0);
  full_ = pairs_;
  sums_.resize(pairs_.size());
}

void EpicWeights::start() {
  std::fill(pairs_.begin(), pairs_.end(), 0);
  std::fill(full_.begin(), full_.end(), 0);
  std::fill(sums_.begin(), sums_.end(), std::nullopt);
  n_channel_spectra_ = 0;
}

void EpicWeights::add(const SpectraBlock& block) {
  const auto n_spectra = static_cast<std::int64_t>(block.n_spectra);
  const auto pairs_of = [&](std::int64_t n) { return n * n - (autos_ ? 0 : n); };
  const std::int64_t full = n_spectra * pairs_of(n_used_);
  std::vector<std::int64_t> of_row(block.all_valid ? 1 : block.valid.extent(0), full);
  if (!block.all_valid) {
    std::vector<std::int64_t> count(block.n_spectra);
    for (std::size_t row = 0; row < of_row.size(); ++row) {
      std::fill(count.begin(), count.end(), 0);
      for (std::size_t ant = 0; ant < flagged_.size(); ++ant)
        for (std::size_t t = 0; t < block.n_spectra && flagged_[ant] == 0; ++t)
          count[t] += block.valid(row, ant, t) != 0;
      of_row[row] = 0;
      for (std::int64_t n : count) of_row[row] += pairs_of(n);
    }
  }
  for (std::size_t chan = 0; chan < block.n_chan; ++chan)
    for (std::size_t fine = 0; fine < n_fine_; ++fine) {
      const std::size_t image = ((block.first_chan + chan) * n_fine_ + fine) / n_average_;
      const std::size_t channel = (block.first_chan + chan) * n_fine_ + fine;
      full_[image] += full;
      if (!left_out_.empty() && left_out_[channel] != 0) continue;
      pairs_[image] += of_row[of_row.size() == 1 ? 0 : chan];
    }
  n_channel_spectra_ += n_spectra * static_cast<std::int64_t>(block.n_chan * n_fine_);
}

double EpicWeights::share(std::size_t image_channel) const {
  if (full_[image_channel] == 0) return 0;
  return static_cast<double>(pairs_[image_channel]) / static_cast<double>(full_[image_channel]);
}

}  // namespace apsyn
