// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/lagrange_shares.h"

#include <cmath>
#include <numbers>

#include "kernels/idg/tracks/node_series.h"

namespace apsyn {

LagrangeShares::LagrangeShares(std::size_t n) : node_(n), weight_(n), part_(n) {
  for (std::size_t k = 0; k < n; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(n);
    node_[k] = idg::chebyshev_node(k, n);
    weight_[k] = (k % 2 == 0 ? 1 : -1) * std::sin(angle);
  }
}

template <class T>
void LagrangeShares::at(double t, T* share) {
  double sum = 0;
  for (std::size_t k = 0; k < node_.size(); ++k) {
    const double distance = t - node_[k];
    part_[k] = weight_[k] / (distance == 0 ? 1e-100 : distance);
    sum += part_[k];
  }
  const double scale = 1 / sum;
  for (std::size_t k = 0; k < node_.size(); ++k) share[k] = static_cast<T>(part_[k] * scale);
}

template void LagrangeShares::at(double, float*);
template void LagrangeShares::at(double, double*);

}  // namespace apsyn
