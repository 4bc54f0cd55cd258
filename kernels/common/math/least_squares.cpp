// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/math/least_squares.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/math/least_squares.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Eight sums at a time, whatever the vectors hold, and products rounded by themselves: the same bits from
/// any processor.
constexpr std::size_t kAtOnce = 8;
using D = hn::CappedTag<double, kAtOnce>;
constexpr std::size_t kVectors = kAtOnce / hn::MaxLanes(D());

double dot_product(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> part[kVectors];
  for (auto& each : part) each = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce)
    for (std::size_t v = 0; v < kVectors; ++v)
      part[v] = hn::Add(part[v], hn::Mul(hn::LoadU(d, a + i + v * lanes), hn::LoadU(d, b + i + v * lanes)));
  double sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  HWY_ALIGN double each[kAtOnce];
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(part[v], d, each + v * lanes);
  for (const double of_lane : each) sum += of_lane;
  return sum;
}

void subtract(double factor, const double* HWY_RESTRICT v, std::size_t n, double* HWY_RESTRICT from) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Sub(hn::LoadU(d, from + i), hn::Mul(by, hn::LoadU(d, v + i))), d, from + i);
  for (; i < n; ++i) from[i] -= factor * v[i];
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(dot_product);
HWY_EXPORT(subtract);

std::vector<double> LeastSquares::solve() {
  const auto dot_of = HWY_DYNAMIC_DISPATCH(dot_product);
  const auto subtract_from = HWY_DYNAMIC_DISPATCH(subtract);
  const std::size_t n = std::min(n_rows_, n_columns_);
  std::vector<double> diagonal(n_columns_, 0.0);
  auto column = [&](std::size_t j) { return values_.data() + j * n_rows_; };
  double largest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double* v = column(j);
    const double norm = std::sqrt(dot_of(v + j, v + j, n_rows_ - j));
    largest = std::max(largest, norm);
    if (norm <= largest * 1e-15) continue;
    diagonal[j] = v[j] > 0 ? -norm : norm;
    v[j] -= diagonal[j];
    const double scale = -1 / (v[j] * diagonal[j]);  // 2 / v.v
    for (std::size_t k = j + 1; k <= n_columns_; ++k) {
      double* other = column(k);
      const double dot = scale * dot_of(v + j, other + j, n_rows_ - j);
      subtract_from(dot, v + j, n_rows_ - j, other + j);
    }
  }
  std::vector<double> x(n_columns_, 0.0);
  for (std::size_t j = n; j-- > 0;) {
    if (diagonal[j] == 0) continue;
    double rest = column(n_columns_)[j];
    for (std::size_t k = j + 1; k < n_columns_; ++k) rest -= column(k)[j] * x[k];
    x[j] = rest / diagonal[j];
  }
  return x;
}

}  // namespace apsyn
#endif
