// SPDX-License-Identifier: GPL-3.0-or-later
// Image planes out of correlation products: apsyn-conventions(7). Linear: I = (XX + YY) / 2, Q = (XX - YY) /
// 2, U = (XY + YX) / 2, V = -i (XY - YX) / 2. Circular: I = (RR + LL) / 2, V = (RR - LL) / 2, Q = (RL + LR) /
// 2, U = -i (RL - LR) / 2.
#pragma once

#include <complex>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/core/visibility.h"

namespace apsyn {

/// plane = sum of coefficient[i] * product[index[i]]; its weight is the smallest of theirs.
struct PlaneRecipe {
  std::string name;
  std::vector<std::size_t> index;
  std::vector<std::complex<double>> coefficient;
};

/// `text`: "I", "XX,YY", "IQUV", "I,Q", "RR"; empty = I, or the only parallel-hand product of the data.
/// UsageError for a name that is none, named twice or not in the data, and for cross products, whose images
/// are complex.
std::vector<PlaneRecipe> parse_planes(std::string_view text, const std::vector<Product>& products);

}  // namespace apsyn
