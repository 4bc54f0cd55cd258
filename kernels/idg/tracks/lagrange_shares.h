// SPDX-License-Identifier: GPL-3.0-or-later
// Lagrange's polynomials of Chebyshev nodes: the share of each node in a place between them.
#pragma once

#include <cstddef>
#include <vector>

namespace apsyn {

/// L_k(t), k < n, of idg::chebyshev_node(), for t in [-1, 1]; the barycentric form (Berrut and Trefethen
/// 2004).
class LagrangeShares {
 public:
  explicit LagrangeShares(std::size_t n);
  double node(std::size_t k) const { return node_[k]; }
  /// Barycentric weights, up to a common factor.
  double weight(std::size_t k) const { return weight_[k]; }
  template <class T>
  void at(double t, T* share);

 private:
  std::vector<double> node_, weight_, part_;
};

}  // namespace apsyn
