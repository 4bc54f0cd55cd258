// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/weighting.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/weighting/image_weights.h"

namespace apsyn {

std::string describe_weight(const EpicOptions& options) {
  ImagingOptions names;
  names.weight = options.weight.name;
  names.robustness = options.weight.robustness;
  names.rank_filter = options.rank_filter;
  return describe_weighting(names);
}

PairWeighting pair_weighting(const EpicOptions& options, const EpicPlan& plan) {
  WeightSettings settings;
  settings.mode = options.weight.name == "uniform" ? WeightMode::uniform : WeightMode::briggs;
  settings.robustness = options.weight.robustness;
  settings.rank_filter_level = options.rank_filter;
  const std::size_t nx = plan.nx, ny = plan.ny;
  const double cell = plan.cell;
  PairWeighting weighting;
  weighting.weigh = [settings, nx, ny, cell](std::span<const PairPoint> points, std::span<double> factors) {
    ImageWeights weights(settings, nx, ny, cell);
    for (const PairPoint& point : points)
      if (point.count > 0) weights.add(point.u, point.v, point.count);
    weights.finish(1);
    for (std::size_t i = 0; i < points.size(); ++i) factors[i] = weights.at(points[i].u, points[i].v);
  };
  // A sixteenth of a cell of the padded grid: what few baselines then change cells hardly changes an image.
  constexpr double kStep = 1.0 / 16, kPadding = 1.2;
  weighting.step_lambda = kStep / (kPadding * static_cast<double>(std::max(nx, ny)) * cell);
  weighting.bytes = 2 * static_cast<std::uint64_t>(ImageWeights::bytes_for(nx, ny));
  return weighting;
}

}  // namespace apsyn
