// SPDX-License-Identifier: GPL-3.0-or-later
// How processes share the gridding or the prediction of a field: each has w layers of its own, so that every
// layer is transformed once, and only images or visibilities travel (Hodgson 2025, section 5.6, finds that
// transforming all layers everywhere ends the scaling). Where there are fewer layers than processes, those of
// one layer share its rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/idg/idg.h"
#include "libcore/core/ranks.h"

namespace apsyn::imaging {

struct RankShare {
  std::size_t first_layer = 0, n_layers = 0;
  std::size_t part = 0, n_parts = 1;  ///< of the rows of every block

  /// Of n rows those of this share: [first, first + n).
  std::size_t first_row(std::size_t n) const { return n * part / n_parts; }
  std::size_t n_rows(std::size_t n) const { return n * (part + 1) / n_parts - first_row(n); }

  struct Rows {
    std::size_t skip = 0, n = 0;
  };
  /// Of rows [first, first + n) of a block of n_block those of this share: n after so many of them. Blocks
  /// are the same for every field, what a field cuts them into is not.
  Rows rows_of_part(std::size_t first, std::size_t n, std::size_t n_block) const {
    const std::size_t own_first = first_row(n_block), own_end = own_first + n_rows(n_block);
    const std::size_t begin = std::clamp(own_first, first, first + n),
                      end = std::clamp(own_end, begin, first + n);
    return {begin - first, end - begin};
  }
};

/// The rows alone.
inline RankShare share_rows(const Ranks& ranks, std::size_t n_layers) {
  return {0, n_layers, static_cast<std::size_t>(ranks.rank), static_cast<std::size_t>(ranks.size)};
}

/// Shares of about the same work. `layer_work` [layer], any unit.
inline RankShare share_of(const Ranks& ranks, const std::vector<double>& layer_work) {
  const auto size = static_cast<std::size_t>(ranks.size), rank = static_cast<std::size_t>(ranks.rank);
  std::size_t n_groups = std::min(size, layer_work.size());
  while (size % n_groups != 0) --n_groups;
  RankShare share;
  share.n_parts = size / n_groups;
  share.part = rank % share.n_parts;
  const std::size_t group = rank / share.n_parts;

  // group g ends at the layer where the work so far comes nearest to g + 1 parts of n_groups, but leaves a
  // layer to each group behind
  double total = 0, sum = 0;
  for (const double work : layer_work) total += work;
  std::size_t layer = 0;
  for (std::size_t g = 0; g <= group; ++g) {
    share.first_layer = layer;
    const double wanted = total * static_cast<double>(g + 1) / static_cast<double>(n_groups);
    const std::size_t last = layer_work.size() - (n_groups - 1 - g);
    do sum += layer_work[layer++];
    while (layer < last && (g + 1 == n_groups || sum + layer_work[layer] / 2 < wanted));
    share.n_layers = layer - share.first_layer;
  }
  return share;
}

/// How many visibilities there are by |w|, in bins that double their width as they must.
class WHistogram {
 public:
  void add(double w_lambda, double n) {
    while (w_lambda >= width_lambda_ * static_cast<double>(kBins)) widen();
    count_[static_cast<std::size_t>(w_lambda / width_lambda_)] += n;
  }
  /// Visibilities of each layer of a plan.
  std::vector<double> per_layer(const IdgPlan& plan) const {
    std::vector<double> layers(plan.n_layers, 0);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double w = (static_cast<double>(bin) + 0.5) * width_lambda_;
      const double layer =
          plan.n_layers > 1 ? std::round((w - plan.first_layer_lambda) / plan.layer_step_lambda) : 0;
      layers[static_cast<std::size_t>(std::clamp(layer, 0.0, static_cast<double>(plan.n_layers - 1)))] +=
          count_[bin];
    }
    return layers;
  }

 private:
  static constexpr std::size_t kBins = 4096;
  void widen() {
    for (std::size_t bin = 0; bin < kBins; ++bin)
      count_[bin] = bin < kBins / 2 ? count_[2 * bin] + count_[2 * bin + 1] : 0;
    width_lambda_ *= 2;
  }
  double width_lambda_ = 1e-3;
  std::vector<double> count_ = std::vector<double>(kBins, 0);
};

/// What the layers of a plan cost. A cell of a layer, with its transform and its phase, takes about as long
/// as three visibilities (tests/bench/README.md).
inline std::vector<double> layer_work(const IdgPlan& plan, const WHistogram& visibilities) {
  std::vector<double> work = visibilities.per_layer(plan);
  for (double& layer : work) layer += 0.25 * static_cast<double>(plan.n_u * plan.n_v);
  return work;
}

}  // namespace apsyn::imaging
