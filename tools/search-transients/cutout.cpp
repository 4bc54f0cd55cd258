// SPDX-License-Identifier: GPL-3.0-or-later
// The dynamic spectrum around a pulse, for its picture.
#include <algorithm>
#include <cmath>

#include "tools/search-transients/engine.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxBands = 64;
constexpr std::int64_t kTimeBins = 96;

}  // namespace

PulseCutout TransientSearch::cut_out(const Hit& hit) const {
  const DedispersionPlan& plan = plan_.dedispersion;
  std::size_t level = 0;
  while (plan.levels[level].factor != hit.factor) ++level;
  const auto factor = static_cast<std::int64_t>(hit.factor);
  // the pulse takes about a tenth of the picture, or as few samples as there are
  const std::int64_t width = hit.width / factor, bin = std::max<std::int64_t>(1, width / 8);
  const std::int64_t first = (hit.begin + hit.width / 2) / factor - kTimeBins / 2 * bin;
  const std::size_t n_chan = plan.band.n_chan, n_band = std::min(kMaxBands, n_chan);
  PulseCutout cutout;
  cutout.step_s = static_cast<double>(bin * factor) * plan.band.sample_s;
  cutout.first_s = static_cast<double>(first * factor) * plan.band.sample_s -
                   (static_cast<double>(hit.begin) + static_cast<double>(hit.width) / 2) * plan.band.sample_s;
  const double a = plan.band.first_hz - plan.band.step_hz / 2,
               b = plan.band.channel_hz(n_chan - 1) + plan.band.step_hz / 2;
  cutout.low_hz = std::min(a, b), cutout.high_hz = std::max(a, b);
  cutout.spectrum.resize({n_band, static_cast<std::size_t>(kTimeBins)});
  cutout.profile.resize({static_cast<std::size_t>(kTimeBins)});
  Buffer<double, 2> count(cutout.spectrum.shape());
  const SampleRows rows = history_->rows(level, history_->begin());
  const std::int64_t stored_from = history_->begin() / factor, stored_to = history_->end() / factor;
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    const std::size_t band = (plan.band.step_hz > 0 ? chan : n_chan - 1 - chan) * n_band / n_chan;
    const std::int64_t from = first + std::llround(plan.band.delay_per_dm(chan) * plan_.dm[hit.trial] /
                                                   static_cast<double>(factor));
    const std::int8_t* row = rows.first + chan * rows.stride;
    const std::int64_t begin = std::max(from, stored_from), end = std::min(from + kTimeBins * bin, stored_to);
    // channels that were taken out, and times beyond the end, are zero throughout
    if (begin >= end || std::all_of(row + (begin - stored_from), row + (end - stored_from),
                                    [](std::int8_t x) { return x == 0; }))
      continue;
    for (std::int64_t t = begin; t < end; ++t) {
      const auto column = static_cast<std::size_t>((t - from) / bin);
      cutout.spectrum(band, column) += row[t - stored_from] / static_cast<double>(kStepsPerSigma);
      count(band, column) += 1;
    }
  }
  for (std::size_t column = 0; column < cutout.profile.size(); ++column) {
    double sum = 0, n = 0;
    for (std::size_t band = 0; band < n_band; ++band) {
      sum += cutout.spectrum(band, column), n += count(band, column);
      cutout.spectrum(band, column) =
          count(band, column) > 0 ? cutout.spectrum(band, column) / std::sqrt(count(band, column)) : NAN;
    }
    cutout.profile(column) = n > 0 ? sum / std::sqrt(n) : NAN;
  }
  return cutout;
}

}  // namespace apsyn
