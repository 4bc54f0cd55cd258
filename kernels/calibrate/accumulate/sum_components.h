// SPDX-License-Identifier: GPL-3.0-or-later
// Where the sums of a product lie among the components of a baseline and lane: with E elements of the model
// [A_0 re, A_0 im, A_1 re ..][S_00, S_11 ..][S_01 re, S_01 im, S_02 re .., S_12 re ..][R][N], of which S_ef
// is sum w M_e conj(M_f). The elements are M itself (E = 1), its diagonal (E = 2) or M row by row (E = 4).
#pragma once

#include <cstddef>

#include "kernels/calibrate/sums.h"

namespace apsyn {

constexpr std::size_t n_model_elements(SumKind kind) {
  return kind == SumKind::jones_general ? 4 : kind == SumKind::jones_diagonal ? 2 : 1;
}

/// Components of one product.
constexpr std::size_t n_product_components(std::size_t n_elements) {
  return 2 * n_elements + n_elements * n_elements + 2;
}

/// S_ee.
constexpr std::size_t own_component(std::size_t e, std::size_t n_elements) {
  return 2 * n_elements + e;
}

/// The real part of S_ef, e < f; the imaginary part follows.
constexpr std::size_t pair_component(std::size_t e, std::size_t f, std::size_t n_elements) {
  return 3 * n_elements + 2 * (e * (2 * n_elements - e - 1) / 2 + (f - e - 1));
}

constexpr std::size_t power_component(std::size_t n_elements) {
  return n_product_components(n_elements) - 2;
}
constexpr std::size_t count_component(std::size_t n_elements) {
  return n_product_components(n_elements) - 1;
}

/// The i-th block whose cross hands diagonal sums keep, of n_monitored ones that are evenly spaced.
constexpr std::size_t monitored_block(std::size_t i, std::size_t n_monitored, std::size_t n_blocks) {
  return (2 * i + 1) * n_blocks / (2 * n_monitored);
}

}  // namespace apsyn
