// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of |w| that take about the same time to grid or to predict, with the layers that they touch.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/array/array_layout.h"

namespace apsyn::imaging {

/// Numbers of visibilities by |w|, in 4096 bins whose width doubles when a |w| exceeds the last bin.
class WHistogram {
 public:
  struct Bin {
    double n = 0;
    /// The sum of sqrt(u^2 + v^2): a measure of how fast visibilities move through the uv plane, and so of
    /// how many subgrids they need.
    double length_lambda = 0;
    Bin operator+(const Bin& other) const { return {n + other.n, length_lambda + other.length_lambda}; }
  };
  /// n visibilities at about one place. Those whose w is not finite are ignored: the gridder refuses them.
  void add(const Vec3& uvw_lambda, double n) {
    add(uvw_lambda[2], std::hypot(uvw_lambda[0], uvw_lambda[1]), n);
  }
  void add(double w_lambda, double length_lambda, double n);
  /// All processes' visibilities in each, the same to the last bit in all.
  void sum_over_ranks();
  double width_lambda() const { return width_lambda_; }
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  static constexpr std::size_t kBins = 4096;
  void widen();
  double width_lambda_ = 1e-3;
  std::vector<Bin> bins_ = std::vector<Bin>(kBins);
};

/// Seconds for each bin: its visibilities and their share of the subgrids.
std::vector<double> bin_seconds(const PlanCost& cost, const WHistogram& visibilities);

/// A part of a layer: w up to an end, and the seconds of its visibilities.
struct WPiece {
  std::size_t layer = 0;
  double end_lambda = 0, seconds = 0;
};

/// In the order of w, at least one for each layer. Layers of a w kernel overlap, and are not divided.
std::vector<WPiece> w_pieces(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities);

/// Seconds to copy each layer's visibilities to the GPU.
std::vector<double> travel_seconds(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities);

/// n ranges, chosen so that the slowest takes as little time as possible; n <= plan.n_layers. A layer in two
/// ranges is transformed for both, and its visibilities are copied to both.
std::vector<LayerRange> cut_w(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities,
                              std::size_t n);

}  // namespace apsyn::imaging
