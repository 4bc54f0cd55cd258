// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/beamform/beam_integration.h"

#include <algorithm>

#include "kernels/beamform/cpu/tile.h"

namespace apsyn {
namespace {

constexpr std::size_t kRow = kTileSpectra;

}  // namespace

BeamIntegration::BeamIntegration(const BeamformPlan& plan)
    : n_value_(plan.n_value()), n_integrate_(static_cast<std::int64_t>(plan.n_integrate)) {
  if (n_integrate_ == 1) return;
  sums_.resize({plan.n_beam, plan.n_out_channel(), n_value_});
  counts_.resize({plan.n_beam, plan.n_out_channel()});
}

void BeamIntegration::add(const BeamRows& rows, const Tile& tile) {
  const std::size_t n_beam = rows.beams.n;
  const auto store = [&](std::size_t b, std::size_t time, std::size_t value, float result) {
    rows.out[((b * kRow + time) * n_value_ + value) * rows.step] = result;
  };
  if (n_integrate_ == 1) {
    for (std::size_t b = 0; b < n_beam; ++b) {
      const float* counts = rows.counts + b * kRow;
      const float* sums = rows.sums + b * n_value_ * kRow;
      for (std::size_t value = 0; value < n_value_; ++value, sums += kRow)
        for (std::size_t t = 0; t < tile.n; ++t)
          store(b, t, value, counts[t] > 1 ? sums[t] / counts[t] : sums[t]);
    }
    return;
  }
  const std::int64_t first_time = time_of(tile.first);
  for (std::size_t t = 0; t < tile.n;) {
    const std::int64_t spectrum = tile.first + static_cast<std::int64_t>(t);
    const std::int64_t time = time_of(spectrum);
    const auto left = static_cast<std::size_t>((time + 1) * n_integrate_ - spectrum);
    const auto out_time = static_cast<std::size_t>(time - first_time);
    const std::size_t n = std::min(tile.n - t, left);
    const float* segment_counts = rows.segment + n_beam * n_value_;
    sum_rows(rows.sums, n_beam * n_value_, t, n, rows.segment);
    sum_rows(rows.counts, n_beam, t, n, rows.segment + n_beam * n_value_);
    const bool all_here = static_cast<std::int64_t>(n) == n_integrate_;
    for (std::size_t b = 0; b < n_beam; ++b) {
      const auto segment_count = static_cast<double>(segment_counts[b]);
      const float* segment = rows.segment + b * n_value_;
      if (all_here) {
        for (std::size_t value = 0; value < n_value_; ++value)
          store(b, out_time, value,
                segment_count > 0 ? static_cast<float>(static_cast<double>(segment[value]) / segment_count)
                                  : 0.0f);
        continue;
      }
      double& count = counts_(rows.beams.first + b, rows.chan);
      count += segment_count;
      for (std::size_t value = 0; value < n_value_; ++value) {
        double& sum = sums_(rows.beams.first + b, rows.chan, value);
        sum += static_cast<double>(segment[value]);
        if (n < left) continue;
        store(b, out_time, value, count > 0 ? static_cast<float>(sum / count) : 0.0f);
        sum = 0;
      }
      if (n == left) count = 0;
    }
    t += n;
  }
}

}  // namespace apsyn
