// SPDX-License-Identifier: GPL-3.0-or-later
// Images of visibilities through A-terms by the sums of their definition, in float64 (Hodgson 2025, section
// 3.3).
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <vector>

#include "tests/reference/dft_image.h"

namespace apsyn::reference {

using AtermMatrix = std::array<std::array<std::complex<double>, 2>, 2>;

struct AtermVisibility {
  double u, v, w;          ///< wavelengths
  AtermMatrix weighted;    ///< V_pq, element by element times its weight
  std::size_t p, q, slot;  ///< stations and whatever else chooses their A-terms
};

/// A station's A-term in a direction.
using AtermFunction = std::function<AtermMatrix(std::size_t station, std::size_t slot, double l, double m)>;

AtermMatrix multiply(const AtermMatrix& a, const AtermMatrix& b);
AtermMatrix hermitian(const AtermMatrix& a);
AtermMatrix inverse(const AtermMatrix& a);

/// For each pixel the sum of A_p^-1 V A_q^-H / |A_p^-1 A_q^-H|_F sqrt(2), or of A_p^H V A_q, times
/// exp(-2 pi i (u l + v m + w (n - 1))).
std::vector<AtermMatrix> aterm_image(const std::vector<AtermVisibility>& visibilities,
                                     const std::vector<DftPixel>& pixels, const AtermFunction& aterm,
                                     bool normalised);

}  // namespace apsyn::reference
