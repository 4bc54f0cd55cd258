// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges of |w| that take about as long to grid or to predict, with the layers that they touch.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/idg/plan/cost.h"
#include "libcore/array/array_layout.h"

namespace apsyn::imaging {

/// Visibilities by |w|, in bins that double their width as they must.
class WHistogram {
 public:
  struct Bin {
    double n = 0;
    /// The sum of sqrt(u^2 + v^2): how fast visibilities move through the uv plane, so how many subgrids they
    /// take.
    double length_lambda = 0;
    Bin operator+(const Bin& other) const { return {n + other.n, length_lambda + other.length_lambda}; }
  };
  /// n visibilities at about one place. One that is nowhere is for whoever grids it to refuse.
  void add(const Vec3& uvw_lambda, double n);
  double width_lambda() const { return width_lambda_; }
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  static constexpr std::size_t kBins = 4096;
  void widen();
  double width_lambda_ = 1e-3;
  std::vector<Bin> bins_ = std::vector<Bin>(kBins);
};

/// Seconds of the visibilities of each bin, with their part of the subgrids.
std::vector<double> bin_seconds(const PlanCost& cost, const WHistogram& visibilities);

/// Of a layer: w up to an end, and the seconds of its visibilities.
struct WPiece {
  std::size_t layer = 0;
  double end_lambda = 0, seconds = 0;
};

/// In the order of w; each layer has one at least. Layers of a w kernel overlap, and are not cut.
std::vector<WPiece> w_pieces(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities);

/// Of each layer the seconds that its visibilities take to a device.
std::vector<double> travel_seconds(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities);

/// n ranges with the least time of the slowest; n <= plan.n_layers. A layer that two touch is transformed by
/// both, and its visibilities travel to both.
std::vector<LayerRange> cut_w(const IdgPlan& plan, const PlanCost& cost, const WHistogram& visibilities,
                              std::size_t n);

}  // namespace apsyn::imaging
