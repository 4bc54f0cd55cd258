// SPDX-License-Identifier: GPL-3.0-or-later
// Image planes out of correlation products: apsyn-conventions(7). Linear: I = (XX + YY) / 2, Q = (XX - YY) /
// 2, U = (XY + YX) / 2, V = -i (XY - YX) / 2. Circular: I = (RR + LL) / 2, V = (RR - LL) / 2, Q = (RL + LR) /
// 2, U = -i (RL - LR) / 2.
#pragma once

#include <array>
#include <complex>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/visibility/visibility.h"

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

/// Each product as it is, by its own name: for whoever makes planes of them later.
std::vector<PlaneRecipe> product_planes(const std::vector<Product>& products);

/// What a source of brightness I, Q, U, V (Jy) puts into a product, the inverse of the planes above: XX = I +
/// Q, YY = I - Q, XY = U + iV, YX = U - iV; RR = I + V, LL = I - V, RL = Q + iU, LR = Q - iU; I, Q, U, V
/// themselves.
std::complex<double> coherency(const std::array<double, 4>& stokes_jy, Product product);

/// The other direction of parse_planes: [product][plane], product = sum of coefficient * plane. Planes are I,
/// Q, U, V, of which missing ones count as 0, or XX, YY, RR, LL, which leave cross products at 0. DataError,
/// beginning with `source`, for planes of both kinds, for a feed's plane that the data lack, and when the
/// data have a parallel-hand product that no such plane tells.
Buffer<std::complex<double>, 2> products_of_planes(const std::vector<std::string>& planes,
                                                   const std::vector<Product>& products,
                                                   const std::string& source);

/// Whether the products are those of receptors R and L.
bool are_circular(const std::vector<Product>& products);

/// XX, XY, YX and YY out of linear or circular products, all with the smallest weight of the products: what
/// A-terms act on. Cross products that the data lack are 0. UsageError when the parallel hands are not both
/// there.
std::vector<PlaneRecipe> correlation_planes(const std::vector<Product>& products);

/// Products of the feeds out of XX, XY, YX and YY: [product][correlation].
Buffer<std::complex<double>, 2> products_of_correlations(const std::vector<Product>& products);

/// The recipe of a plane out of the four of correlation_planes(): plane = sum of mix[i] * correlation i.
std::array<std::complex<double>, 4> correlation_mix(const PlaneRecipe& plane);

}  // namespace apsyn
