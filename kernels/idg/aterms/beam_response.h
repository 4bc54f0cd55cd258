// SPDX-License-Identifier: GPL-3.0-or-later
// The response to an unpolarised source through the A-terms of two stations (aterm_math.h), for many
// baselines: only five numbers of each station matter. With P = adj A_p and the Hermitian G_p = P^H P
//
//   1 / N = sqrt(2 |det A_p det A_q|^2 / tr(G_p G_q)),
//   tr(G_p G_q) = G_p,xx G_q,xx + G_p,yy G_q,yy + 2 Re(G_p,xy conj(G_q,xy)),
//
// and the adjoint's response is tr(H_p H_q) / 2 with H_p = A_p^H A_p.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn {

enum class BeamResponse { normalised, adjoint };

/// One row of coarse pixels of one station: [xx, yy, sqrt(2) Re xy, sqrt(2) Im xy, |det A|^2][pixel].
class StationBeams {
 public:
  StationBeams(BeamResponse response, std::size_t side);
  /// jones [pixel][XX XY YX YY].
  void set(std::size_t station, const std::complex<float>* jones);
  /// sum[pixel] += weight times the response of p and q, which have been set.
  void add(std::size_t p, std::size_t q, double weight, double* sum) const;

 private:
  BeamResponse response_;
  std::size_t side_;
  std::vector<double> values_;
};

}  // namespace apsyn
