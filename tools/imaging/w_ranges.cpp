// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/w_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libcore/system/ranks.h"

namespace apsyn::imaging {

void WHistogram::add(double w_lambda, double length_lambda, double n) {
  const double w = std::abs(w_lambda);
  if (!(w < std::numeric_limits<double>::infinity())) return;
  while (w >= width_lambda_ * static_cast<double>(kBins)) widen();
  Bin& bin = bins_[static_cast<std::size_t>(w / width_lambda_)];
  bin = bin + Bin{n, n * length_lambda};
}

void WHistogram::sum_over_ranks() {
  const double widest = max_of_ranks(width_lambda_);
  while (width_lambda_ < widest) widen();
  std::vector<double> sums;
  for (const Bin& bin : bins_) sums.insert(sums.end(), {bin.n, bin.length_lambda});
  add_for_all(sums);
  for (std::size_t i = 0; i < kBins; ++i) bins_[i] = {sums[2 * i], sums[2 * i + 1]};
}

void WHistogram::widen() {
  for (std::size_t i = 0; i < kBins; ++i) bins_[i] = i < kBins / 2 ? bins_[2 * i] + bins_[2 * i + 1] : Bin{};
  width_lambda_ *= 2;
}

std::vector<double> bin_seconds(const PlanCost& cost, const WHistogram& visibilities) {
  const WHistogram::Bin all =
      std::accumulate(visibilities.bins().begin(), visibilities.bins().end(), WHistogram::Bin{});
  std::vector<double> seconds;
  for (const auto& [n, length_lambda] : visibilities.bins()) {
    const double of_subgrids =
        all.length_lambda > 0 ? length_lambda / all.length_lambda : n / std::max(1.0, all.n);
    seconds.push_back(n * cost.visibility_s + of_subgrids * cost.subgrids_s);
  }
  return seconds;
}

std::vector<WPiece> w_pieces(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities) {
  const bool whole = plan.w_handling == WHandling::kernel || plan.n_layers == 1;
  const double bin = visibilities.width_lambda();
  const std::vector<double> seconds = bin_seconds(cost, visibilities);
  const double bottom = plan.first_layer_lambda - plan.layer_step_lambda / 2;
  std::vector<WPiece> pieces;
  std::size_t i = 0;
  double begin = 0;
  for (std::size_t layer = 0; layer < plan.n_layers; ++layer) {
    const bool last = layer + 1 == plan.n_layers;
    const double end = bottom + static_cast<double>(layer + 1) * plan.layer_step_lambda;
    WPiece rest{layer, end, 0};
    for (; i < seconds.size() && (last || begin < end); begin = rest.end_lambda) {
      const double bin_end = static_cast<double>(i + 1) * bin;
      rest.end_lambda = last ? bin_end : std::min(bin_end, end);
      rest.seconds += seconds[i] * std::max(0.0, rest.end_lambda - begin) / bin;
      if (!last && bin_end > end) break;
      ++i;
      if (whole || rest.seconds == 0) continue;
      pieces.push_back(rest);
      rest.seconds = 0;
    }
    begin = std::max(begin, end);
    rest.end_lambda = end;
    if (rest.seconds == 0 && !pieces.empty() && pieces.back().layer == layer)
      pieces.back().end_lambda = end;
    else
      pieces.push_back(rest);
  }
  return pieces;
}

std::vector<double> travel_seconds(const IdgPlan& plan, const PlanCost& cost,
                                   const WHistogram& visibilities) {
  std::vector<double> seconds(plan.n_layers, 0);
  const double bin = visibilities.width_lambda(),
               bottom = plan.first_layer_lambda - plan.layer_step_lambda / 2;
  for (std::size_t i = 0; i < visibilities.bins().size(); ++i) {
    const double w = (static_cast<double>(i) + 0.5) * bin,
                 layer = plan.n_layers == 1 ? 0 : std::floor((w - bottom) / plan.layer_step_lambda);
    seconds[static_cast<std::size_t>(std::clamp(layer, 0.0, static_cast<double>(plan.n_layers - 1)))] +=
        visibilities.bins()[i].n * cost.travel_s;
  }
  return seconds;
}

std::vector<LayerRange> cut_w(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities,
                              std::size_t n) {
  const std::vector<WPiece> pieces = w_pieces(plan, cost, visibilities);
  const std::vector<double> travel = travel_seconds(plan, cost, visibilities);
  /// Finds the last piece of each range such that no range takes longer than max_s, if that is possible; the
  /// last range takes the remaining pieces.
  auto ends_within = [&](double max_s, std::vector<std::size_t>& ends) {
    ends.clear();
    double seconds = 0, travelled = 0, longest = 0;
    for (std::size_t i = 0, first = 0; i < pieces.size(); ++i) {
      const bool new_layer = i == first || pieces[i].layer != pieces[i - 1].layer;
      const double more = pieces[i].seconds + (new_layer ? cost.layer_s : 0),
                   more_travel = new_layer ? travel[pieces[i].layer] : 0;
      const bool full =
          std::max(seconds + more, travelled + more_travel) > max_s || pieces.size() - i < n - ends.size();
      if (i > first && ends.size() + 1 < n && full) {
        ends.push_back(i - 1);
        first = i;
        seconds = pieces[i].seconds + cost.layer_s;
        travelled = travel[pieces[i].layer];
      } else {
        seconds += more;
        travelled += more_travel;
      }
      longest = std::max({longest, seconds, travelled});
    }
    ends.push_back(pieces.size() - 1);
    return longest <= max_s;
  };
  double low = 0, high = static_cast<double>(plan.n_layers + n) * cost.layer_s +
                         std::accumulate(travel.begin(), travel.end(), 0.0);
  for (const WPiece& piece : pieces) high += piece.seconds;
  std::vector<std::size_t> ends;
  for (int step = 0; step < 60; ++step) (ends_within((low + high) / 2, ends) ? high : low) = (low + high) / 2;
  ends_within(high, ends);

  std::vector<LayerRange> ranges;
  for (std::size_t g = 0, first = 0; g < n; first = ends[g++] + 1) {
    const std::size_t layer = pieces[first].layer;
    LayerRange& range = ranges.emplace_back(LayerRange{layer, pieces[ends[g]].layer - layer + 1});
    // A range that begins or ends at a layer's border needs no limit in w.
    if (first > 0 && pieces[first - 1].layer == layer) range.min_w_lambda = pieces[first - 1].end_lambda;
    if (g + 1 < n && pieces[ends[g] + 1].layer == pieces[ends[g]].layer)
      range.max_w_lambda = pieces[ends[g]].end_lambda;
  }
  return ranges;
}

}  // namespace apsyn::imaging
