// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities onto the fine cells of one subgrid (spread_kernel.h), for several terms in w:
//
//   cell[term][v][u][plane] += phi(s_v - v) phi(s_u - u) weight_term(w) exp(-2 pi i phase) V[plane].
//
// The terms are polynomials in w: the values at `n_terms` nodes that interpolate a function of w, or the w
// kernel's for as many layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/idg/spread_kernel.h"
#include "libcore/core/view.h"

namespace apsyn {

constexpr std::size_t spread_batch = 128;
/// Cells behind a row's last that a vector may reach (they get zeros), and values behind the last row.
constexpr std::size_t spread_overrun = 8;

/// A spread kernel in the precision of the cells.
template <class T>
struct SpreadTaps {
  explicit SpreadTaps(const SpreadKernel& kernel)
      : width(kernel.width()),
        stride(kernel.stride()),
        degree(kernel.degree()),
        coefficients(kernel.coefficients().begin(), kernel.coefficients().end()) {}
  std::size_t width, stride, degree;
  std::vector<T> coefficients;  ///< [power][tap]
};

/// weight_term(t) = sum_k matrix[term][k] T_k(t) with T_k the Chebyshev polynomials.
template <class T>
struct TermPolynomials {
  std::size_t n_terms = 0, n_powers = 0;
  std::vector<T> matrix;  ///< [term][k]
};

/// What a task's visibilities have in common.
template <class T>
struct SpreadTarget {
  const SpreadTaps<T>* taps = nullptr;
  const TermPolynomials<T>* terms = nullptr;
  std::size_t n_planes = 1;  ///< 1, 2 or 4
  /// Place in cells from the first of a row: u * scale_u + origin_u.
  double scale_u = 0, origin_u = 0, scale_v = 0, origin_v = 0;
  double w_middle = 0, w_scale = 0;  ///< t = (w - w_middle) w_scale, clamped to [-1, 1]
  double w_origin = 0, phase_w = 0;  ///< phase = (w - w_origin) phase_w turns
  T* cells = nullptr;                ///< [term][v][u][plane][re, im]
  std::size_t row_stride = 0, term_stride = 0;
};

/// Up to spread_batch visibilities.
template <class T>
struct SpreadBatch {
  SpreadBatch();
  std::size_t n = 0;
  Buffer<double, 1> u, v, w;  ///< [vis] wavelengths, folded
  Buffer<T, 1> value;         ///< [vis][plane][re, im]

  /// Scratch of spread().
  Buffer<T, 1> turn_cos, turn_sin, q_u, q_v;  ///< [vis]
  Buffer<std::uint32_t, 1> cell;              ///< [vis] of the first tap, in cells
  Buffer<T, 2> term;                          ///< [term][vis]
  Buffer<T, 2> taps_u;                        ///< [vis][tap]
  Buffer<T, 3> taps_v;                        ///< [term][vis][tap], times the term
  Buffer<T, 1> row;                           ///< [vis][tap][plane][re, im]
};

/// Adds the batch to the cells and empties it.
void spread(const SpreadTarget<float>& target, SpreadBatch<float>& batch);
void spread(const SpreadTarget<double>& target, SpreadBatch<double>& batch);

/// The part of spread() that is done for each visibility before its taps: batch.cell, q_u, q_v, turn_cos,
/// turn_sin and term.
void locate_batch(const SpreadTarget<float>& target, SpreadBatch<float>& batch);
void locate_batch(const SpreadTarget<double>& target, SpreadBatch<double>& batch);

/// The first n_turned planes of value [vis][n_planes][re, im] times exp(-2 pi i turns[vis]).
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 float* value);
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 double* value);

}  // namespace apsyn
