// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities onto the fine cells of one subgrid (spread_kernel.h), for several terms in w:
//
//   cell[term][v][u][plane] += phi(s_v - v) phi(s_u - u) weight_term(w) exp(-2 pi i phase) V[plane].
//
// The terms are polynomials in w: the values at `n_terms` nodes that interpolate a function of w, or the w
// kernel's for as many layers.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/math/spread_kernel.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Number of visibilities whose taps fit into the caches together.
constexpr std::size_t spread_chunk = 128;
/// Number of visibilities that are sorted by cell at a time. Those of one row seldom share a cell; those of
/// many rows often do.
constexpr std::size_t spread_batch = 8 * spread_chunk;
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
  /// Place in cells from the first of a row: u * scale_u + origin_u.
  double scale_u = 0, origin_u = 0, scale_v = 0, origin_v = 0;
  double w_middle = 0, w_scale = 0;  ///< t = (w - w_middle) w_scale, clamped to [-1, 1]
  double w_origin = 0, phase_w = 0;  ///< phase = (w - w_origin) phase_w turns
  std::size_t n_u = 0, n_v = 0;      ///< cells of a row, and rows
};

/// Planes that lie beside each other in the cells.
template <class T>
struct SpreadPlanes {
  std::size_t n = 1;         ///< 1, 2 or 4
  const T* value = nullptr;  ///< [vis][plane][re, im], and 64 bytes behind
  T* cells = nullptr;        ///< [term][v][u][plane][re, im]
};

/// Visibilities that are placed together.
template <class T>
struct SpreadBatch {
  explicit SpreadBatch(std::size_t most);
  std::size_t n = 0;
  Buffer<double, 1> u, v, w;  ///< [vis] wavelengths, folded

  /// Set by locate_batch().
  Buffer<T, 1> turn_cos, turn_sin, q_u, q_v;  ///< [vis]
  Buffer<std::uint32_t, 1> cell;              ///< [vis] of the first tap, v * n_u + u
  Buffer<T, 2> term;                          ///< [term][vis]

  std::size_t most() const { return u.size(); }
};

/// One thread's memory of spread().
template <class T>
struct SpreadScratch {
  SpreadScratch();
  std::vector<std::uint16_t> order;  ///< the batch's visibilities by their cells
  std::vector<std::uint16_t> half_sorted, digit_begin;
  Buffer<T, 2> taps_u;  ///< [vis of a chunk][tap]
  Buffer<T, 1> taps_v;  ///< [term][vis of a chunk][tap], times the term
  Buffer<T, 1> row;     ///< [vis of a chunk][tap][plane][re, im]
};

/// Fills scratch.order: the batch's visibilities by their cells, those of one cell in their order.
template <class T>
void order_by_cell(std::size_t n_cells, const SpreadBatch<T>& batch, SpreadScratch<T>& scratch);

/// Adds the batch, which locate_batch() has placed, to the cells.
void spread(const SpreadTarget<float>& target, const SpreadBatch<float>& batch,
            std::span<const SpreadPlanes<float>> groups, SpreadScratch<float>& scratch);
void spread(const SpreadTarget<double>& target, const SpreadBatch<double>& batch,
            std::span<const SpreadPlanes<double>> groups, SpreadScratch<double>& scratch);

/// Computes the cells, phases and terms of the batch's visibilities.
void locate_batch(const SpreadTarget<float>& target, SpreadBatch<float>& batch);
void locate_batch(const SpreadTarget<double>& target, SpreadBatch<double>& batch);

/// value[i] = data[i] weight[i], the imaginary part times `sign` (1 or -1); 0 where the weight is, whatever
/// the data are.
void weigh_values(std::size_t n, const std::complex<float>* data, const float* weight, float sign,
                  float* value);
void weigh_values(std::size_t n, const std::complex<float>* data, const float* weight, float sign,
                  double* value);

/// The first n_turned planes of value [vis][n_planes][re, im] times exp(-2 pi i turns[vis]).
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 float* value);
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 double* value);

}  // namespace apsyn
