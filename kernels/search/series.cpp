// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/search/series.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/search/series_cuda.h"
#include "libcore/base/median.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxPieces = 64, kFewestPieces = 4, kPieceSamples = 16;
/// Of the largest weight; windows with less are left out.
constexpr float kMinWeight = 0.25f;
/// Weights of a tile that differ by less than 1 % count as the largest: S/N is then at most 0.5 % too low.
constexpr float kEvenWeight = 0.99f;

/// The detrended series around one segment.
class SegmentSearch {
 public:
  SegmentSearch(const SeriesPlan& plan, SeriesScratch& scratch, std::vector<SeriesHit>& hits)
      : plan_(plan), scratch_(scratch), hits_(hits) {}

  /// Windows that begin in [from, to) of the detrended series; `origin` is the sample of index 0, `slow` as
  /// in SegmentStatistics, `most` the largest weight.
  void search(std::size_t from, std::size_t to, std::int64_t origin, double slow, bool one_weight,
              float most) {
    for (std::size_t begin = from; begin < to; begin += kSearchTile)
      search_tile(begin, std::min(begin + kSearchTile, to), origin, slow, one_weight, most);
  }

 private:
  void search_tile(std::size_t begin, std::size_t end, std::int64_t origin, double slow, bool one_weight,
                   float most) {
    const std::size_t n_value =
        std::min(end + plan_.program.longest() - 1, scratch_.detrended.size()) - begin;
    const Range weight = one_weight ? Range{most, most} : range_of(scratch_.weights.data() + begin, n_value);
    if (weight.high < kMinWeight * most) return;
    const bool even = weight.low >= kEvenWeight * weight.high;
    run_program(scratch_.detrended.data() + begin, n_value, scratch_.sums);
    if (!even) run_program(scratch_.weights.data() + begin, n_value, scratch_.weight_sums);
    scratch_.above.clear();
    for (std::size_t i = 0; i < plan_.widths.size(); ++i) {
      const std::size_t width = plan_.widths[i];
      if (width > n_value) break;
      const std::size_t n = std::min(end - begin, n_value - width + 1);
      float* sums = row(scratch_.sums, plan_.program.wanted[i], n_value);
      const double w = static_cast<double>(width);
      float scale = static_cast<float>(1 / std::sqrt(1 + slow * w));
      if (even)
        scale *= static_cast<float>(1 / std::sqrt(w * static_cast<double>(weight.high)));
      else
        divide_windows(sums, plan_.program.wanted[i], width, n, n_value, most);
      if (!(largest_of(sums, n) * scale > static_cast<float>(plan_.threshold))) continue;
      for (std::size_t t = 0; t < n; ++t)
        if (sums[t] * scale > static_cast<float>(plan_.threshold))
          scratch_.above.push_back({origin + static_cast<std::int64_t>(begin + t),
                                    static_cast<std::uint32_t>(width), sums[t] * scale});
    }
    keep_best();
  }

  /// Sums of one width are divided into a copy, as wider windows are made of them.
  void divide_windows(float*& sums, std::size_t step, std::size_t width, std::size_t n, std::size_t n_value,
                      float most) {
    scratch_.values.assign(sums, sums + n);
    sums = scratch_.values.data();
    divide_by_root(sums, row(scratch_.weight_sums, step, n_value),
                   kMinWeight * most * static_cast<float>(width), n);
  }

  static float* row(std::vector<float>& sums, std::size_t step, std::size_t n_value) {
    return sums.data() + step * n_value;
  }

  void run_program(const float* values, std::size_t n_value, std::vector<float>& sums) {
    const auto& steps = plan_.program.steps;
    sums.resize(steps.size() * n_value);
    std::copy(values, values + n_value, sums.begin());
    for (std::size_t i = 1; i < steps.size() && steps[i].width <= n_value; ++i)
      add_windows(row(sums, steps[i].first, n_value),
                  row(sums, steps[i].second, n_value) + steps[steps[i].first].width,
                  n_value - steps[i].width + 1, row(sums, i, n_value));
  }

  /// The best windows that do not overlap.
  void keep_best() {
    auto& above = scratch_.above;
    std::sort(above.begin(), above.end(), [](const SeriesHit& a, const SeriesHit& b) {
      if (a.sn != b.sn) return a.sn > b.sn;
      return a.begin != b.begin ? a.begin < b.begin : a.width < b.width;
    });
    const std::size_t first = hits_.size();
    for (const SeriesHit& hit : above) {
      const bool apart = std::all_of(
          hits_.begin() + static_cast<std::ptrdiff_t>(first), hits_.end(), [&](const SeriesHit& taken) {
            return hit.begin >= taken.begin + taken.width || hit.begin + hit.width <= taken.begin;
          });
      if (apart) hits_.push_back(hit);
      if (hits_.size() - first == kMaxTileHits) break;
    }
  }

  const SeriesPlan& plan_;
  SeriesScratch& scratch_;
  std::vector<SeriesHit>& hits_;
};

/// Values of one buffer of a series, with what is known of its segments.
struct SeriesBuffer {
  std::span<const float> values, weights;
  float weight = 1;
  std::vector<std::size_t> ends;  ///< of the segments
  std::size_t begin(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
  std::size_t length(std::size_t i) const { return ends[i] - begin(i); }
};

/// Fills scratch.detrended: lines between the middles of segments, level ones beyond the first and the last.
void detrend_segments(const SeriesPlan& plan, const SeriesState& state, const SeriesBuffer& buffer,
                      SeriesScratch& scratch) {
  const auto& statistics = scratch.statistics;
  const auto gain = [](const SegmentStatistics& s) {
    return s.variance > 0 ? 1 / std::sqrt(s.variance) : 0.0;
  };
  // one half of segment i, towards a neighbour whose middle is `distance` samples away
  const auto half = [&](std::size_t i, std::size_t from, std::size_t to, const SegmentStatistics* other,
                        double distance) {
    const SegmentStatistics& now = statistics[i];
    DetrendRun run;
    run.level = static_cast<float>(now.level), run.gain = static_cast<float>(gain(now));
    run.weight = buffer.weight;
    run.first = static_cast<float>(static_cast<double>(from - buffer.begin(i)) + 0.5 -
                                   static_cast<double>(buffer.length(i)) / 2);
    if (other != nullptr && other->variance > 0 && now.variance > 0) {
      run.level_slope = static_cast<float>((other->level - now.level) / distance);
      run.gain_slope = static_cast<float>((gain(*other) - gain(now)) / distance);
    }
    detrend(buffer.values.data() + from, buffer.weights.empty() ? nullptr : buffer.weights.data() + from,
            to - from, run, scratch.detrended.data() + from);
  };
  scratch.detrended.resize(buffer.values.size());
  for (std::size_t i = 0; i < buffer.ends.size(); ++i) {
    const std::size_t begin = buffer.begin(i), middle = begin + buffer.length(i) / 2;
    const auto distance = [&](std::size_t other) {
      return static_cast<double>(buffer.length(i) + other) / 2;
    };
    const bool has_before = i > 0 || state.has_before, has_after = i + 1 < buffer.ends.size();
    const SegmentStatistics* before = i > 0 ? &statistics[i - 1] : &state.before;
    half(i, begin, middle, has_before ? before : nullptr,
         -distance(i > 0 ? buffer.length(i - 1) : plan.segment));
    half(i, middle, buffer.ends[i], has_after ? &statistics[i + 1] : nullptr,
         distance(has_after ? buffer.length(i + 1) : 0));
  }
}

}  // namespace

SeriesPlan plan_series(std::size_t segment, std::vector<std::size_t> widths, double threshold) {
  SeriesPlan plan{segment, std::move(widths), threshold, {}};
  plan.program = plan_boxcars(plan.widths);
  if (16 * plan.widths.back() > segment)
    throw std::invalid_argument("plan_series: a segment needs 16 times the longest window");
  return plan;
}

std::vector<std::size_t> segment_ends(std::size_t n, std::size_t segment, bool ends) {
  std::vector<std::size_t> result;
  for (std::size_t end = segment; end <= n; end += segment) result.push_back(end);
  const std::size_t rest = n % segment;
  if (!ends || rest == 0) return result;
  if (2 * rest < segment && !result.empty())
    result.back() = n;
  else
    result.push_back(n);
  return result;
}

SegmentStatistics measure_segment(std::span<const float> values, std::span<const float> weights,
                                  float weight) {
  const std::size_t n_piece =
      std::clamp(values.size() / kPieceSamples, std::min(kFewestPieces, values.size()), kMaxPieces);
  std::vector<SeriesSums> pieces;
  std::vector<double> level, variance, scatter;
  double length = 0;
  for (std::size_t i = 0; i < n_piece; ++i) {
    const std::size_t from = i * values.size() / n_piece, n = (i + 1) * values.size() / n_piece - from;
    SeriesSums sums = sum_series(values.data() + from, weights.empty() ? nullptr : weights.data() + from, n);
    if (weights.empty()) {
      sums.weight = static_cast<double>(weight) * static_cast<double>(n);
      sums.weight_square = static_cast<double>(weight) * sums.weight;
      sums.product = static_cast<double>(weight) * sums.value;
    }
    if (!(sums.weight > 0)) continue;
    level.push_back(sums.value / sums.weight);
    pieces.push_back(sums);
    length += static_cast<double>(n);
  }
  SegmentStatistics result;
  if (pieces.size() < kFewestPieces) return result;
  length /= static_cast<double>(pieces.size());
  result.level = median_of(level);
  for (const SeriesSums& s : pieces)
    variance.push_back(
        (s.square - 2 * result.level * s.product + result.level * result.level * s.weight_square) / s.weight);
  result.variance = std::max(0.0, median_of(variance) / chi_squared_median(length));
  if (!(result.variance > 0)) return {};
  for (const SeriesSums& s : pieces)
    scatter.push_back((s.value - result.level * s.weight) / std::sqrt(result.variance * s.weight));
  const double spread = robust_spread(std::move(scatter), 0.0);
  // the square of the spread of 64 pieces is 1 +- 0.3 for white noise
  const double chance = 1 + 8 / std::sqrt(static_cast<double>(pieces.size()));
  result.slow = std::max(0.0, spread * spread - chance) / length;
  return result;
}

void search_series(const SeriesPlan& plan, SeriesState& state, std::span<const float> values,
                   std::span<const float> weights, float weight, bool ends, SeriesScratch& scratch,
                   std::vector<SeriesHit>& hits) {
  scratch.joined.assign(state.kept.begin(), state.kept.end());
  scratch.joined.insert(scratch.joined.end(), values.begin(), values.end());
  const bool one_weight = weights.empty();
  if (!one_weight && weights.size() != scratch.joined.size())
    throw std::length_error("search_series: as many weights as values are needed");
  SeriesBuffer buffer{scratch.joined, weights, weight,
                      segment_ends(scratch.joined.size(), plan.segment, ends)};
  float most = weight;
  if (!one_weight) {
    scratch.weights.assign(weights.begin(), weights.end());
    most = range_of(scratch.weights.data(), scratch.weights.size()).high;
  }
  scratch.statistics.clear();
  for (std::size_t i = 0; i < buffer.ends.size(); ++i)
    scratch.statistics.push_back(
        measure_segment(buffer.values.subspan(buffer.begin(i), buffer.length(i)),
                        one_weight ? weights : weights.subspan(buffer.begin(i), buffer.length(i)), weight));
  detrend_segments(plan, state, buffer, scratch);
  const std::size_t n_search =
      ends ? buffer.ends.size() : buffer.ends.size() - std::min<std::size_t>(1, buffer.ends.size());
  SegmentSearch search(plan, scratch, hits);
  for (std::size_t i = 0; i < n_search; ++i)
    if (scratch.statistics[i].variance > 0)
      search.search(buffer.begin(i), buffer.ends[i], state.begin, scratch.statistics[i].slow, one_weight,
                    most);
  const std::size_t n_searched = n_search == 0 ? 0 : buffer.ends[n_search - 1];
  const auto rest = scratch.joined.begin() + static_cast<std::ptrdiff_t>(n_searched);
  state.kept.assign(rest, scratch.joined.end());
  state.begin += static_cast<std::int64_t>(n_searched);
  if (n_search == 0) return;
  state.before = scratch.statistics[n_search - 1];
  state.has_before = true;
}

std::size_t buffer_samples(const CudaSeriesGroup& group) {
  return group.n_time + 2 * group.plan->segment;
}

std::size_t max_tiles(const CudaSeriesGroup& group) {
  return buffer_samples(group) / kSearchTile + buffer_samples(group) / group.plan->segment + 2;
}

std::uint64_t cuda_series_search_bytes(const std::vector<CudaSeriesGroup>& groups, unsigned n_lane) {
  std::uint64_t kept = 0, work = 0;
  for (const CudaSeriesGroup& group : groups) {
    kept += group.n_series * group.plan->segment * sizeof(float);
    // values and weights, and the sums of both
    const std::uint64_t own = group.n_series * buffer_samples(group) * 2 * (sizeof(float) + sizeof(double)) +
                              group.n_series * max_tiles(group) * kMaxTileHits * 24;
    work = std::max(work, own);
  }
  return kept + n_lane * work;
}

}  // namespace apsyn
