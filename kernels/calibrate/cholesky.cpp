// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/calibrate/cholesky.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

/// Rows that are factored together: each earlier row is read once for all of them.
constexpr std::size_t kRows = 4;

/// sums [row] = the products of the first n elements of neighbouring rows, `stride` apart, and of `other`.
template <std::size_t n_rows>
HWY_INLINE void products(const double* rows, std::size_t stride, const double* other, std::size_t n,
                         double* sums) {
  const std::size_t lanes = hn::Lanes(D());
  V sum[n_rows];
  for (std::size_t r = 0; r < n_rows; ++r) sum[r] = hn::Zero(D());
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    const V b = hn::LoadU(D(), other + k);
    for (std::size_t r = 0; r < n_rows; ++r)
      sum[r] = hn::MulAdd(hn::LoadU(D(), rows + r * stride + k), b, sum[r]);
  }
  for (std::size_t r = 0; r < n_rows; ++r) {
    sums[r] = hn::GetLane(hn::SumOfLanes(D(), sum[r]));
    for (std::size_t rest = k; rest < n; ++rest) sums[r] += rows[r * stride + rest] * other[rest];
  }
}

void factor(double* lower, std::size_t n) {
  for (std::size_t first = 0; first < n; first += kRows) {
    const std::size_t n_rows = std::min(kRows, n - first);
    double* rows = lower + first * n;
    double sums[kRows];
    for (std::size_t column = 0; column < first; ++column) {
      const double* other = lower + column * n;
      if (n_rows == kRows)
        products<kRows>(rows, n, other, column, sums);
      else
        for (std::size_t r = 0; r < n_rows; ++r) products<1>(rows + r * n, n, other, column, sums + r);
      for (std::size_t r = 0; r < n_rows; ++r)
        rows[r * n + column] = (rows[r * n + column] - sums[r]) * other[column];
    }
    for (std::size_t row = first; row < first + n_rows; ++row) {
      double* own = lower + row * n;
      const double diagonal = own[row];
      for (std::size_t column = first; column <= row; ++column) {
        const double* other = lower + column * n;
        products<1>(own, n, other, column, sums);
        const double value = own[column] - sums[0];
        if (column < row)
          own[column] = value * other[column];
        else
          own[row] = value > 1e-12 * diagonal && std::isfinite(value) ? 1 / std::sqrt(value) : 0;
      }
    }
  }
}

/// The columns of L^-1, a vector of them at a time, whose squares add up.
void invert(const double* lower, std::size_t n, double* columns, double* variance) {
  const std::size_t lanes = hn::Lanes(D());
  for (std::size_t first = 0; first < n; first += lanes) {
    V sum = hn::Zero(D());
    for (std::size_t row = first; row < n; ++row) {
      const double* own = lower + row * n;
      V value = hn::Zero(D()), other = value;  // two chains, which need not wait for each other
      std::size_t k = first;
      for (; k + 2 <= row; k += 2) {
        value = hn::NegMulAdd(hn::Set(D(), own[k]), hn::LoadU(D(), columns + k * lanes), value);
        other = hn::NegMulAdd(hn::Set(D(), own[k + 1]), hn::LoadU(D(), columns + (k + 1) * lanes), other);
      }
      if (k < row) value = hn::NegMulAdd(hn::Set(D(), own[k]), hn::LoadU(D(), columns + k * lanes), value);
      value = hn::Add(value, other);
      // The unit matrix's element of this row.
      if (row < first + lanes) {
        double unit[hn::MaxLanes(D())] = {};
        unit[row - first] = 1;
        value = hn::Add(value, hn::LoadU(D(), unit));
      }
      value = hn::Mul(value, hn::Set(D(), own[row]));
      hn::StoreU(value, D(), columns + row * lanes);
      sum = hn::MulAdd(value, value, sum);
    }
    double sums[hn::MaxLanes(D())];
    hn::StoreU(sum, D(), sums);
    std::copy_n(sums, std::min(lanes, n - first), variance + first);
  }
}

std::size_t vector_length() {
  return hn::Lanes(D());
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(factor);
HWY_EXPORT(invert);
HWY_EXPORT(vector_length);

Cholesky::Cholesky(std::vector<double> matrix, std::size_t n) : n_(n), lower_(std::move(matrix)) {
  HWY_DYNAMIC_DISPATCH(factor)(lower_.data(), n);
}

void Cholesky::solve(double* x) const {
  for (std::size_t row = 0; row < n_; ++row) {
    const double* own = lower_.data() + row * n_;
    double sum = x[row];
    for (std::size_t k = 0; k < row; ++k) sum -= own[k] * x[k];
    x[row] = sum * own[row];
  }
  for (std::size_t row = n_; row-- > 0;) {
    const double* own = lower_.data() + row * n_;
    x[row] *= own[row];
    for (std::size_t k = 0; k < row; ++k) x[k] -= own[k] * x[row];
  }
}

std::vector<double> Cholesky::inverse_diagonal() const {
  std::vector<double> variance(n_), columns(n_ * HWY_DYNAMIC_DISPATCH(vector_length)());
  HWY_DYNAMIC_DISPATCH(invert)(lower_.data(), n_, columns.data(), variance.data());
  for (std::size_t c = 0; c < n_; ++c)
    if (lower_[c * n_ + c] == 0) variance[c] = std::numeric_limits<double>::infinity();
  return variance;
}

}  // namespace apsyn
#endif
