// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/gridding_kernel.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/math/gauss_legendre.h"
#include "kernels/common/math/prolate.h"
#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr std::size_t kSide = 20;  ///< points along a quarter's side; kernels of 9 cells turn 2.5 times there
constexpr std::size_t kNodes = 64;
/// Terms of the series for a prolate window's response over the sky: it oscillates at most 2.25 times, and 24
/// terms leave an error of 8e-15.
constexpr std::size_t kResponseTerms = 24;

/// Solves L L^T x = b in place, b complex, L [n][n] lower.
void solve(const std::vector<double>& factor, std::span<std::complex<double>> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) b[i] -= factor[i * n + j] * b[j];
    b[i] /= factor[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= factor[j * n + i] * b[j];
    b[i] /= factor[i * n + i];
  }
}

/// In place, [n][n]; the matrix is made a little more definite than it is.
void factorise(std::vector<double>& matrix, std::size_t n) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, matrix[i * n + i]);
  constexpr double kRidge = 1e-11;
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += kRidge * largest;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
}

}  // namespace

KernelResponse::KernelResponse(EpicKernel kind, std::size_t cells, double edge)
    : cells_(static_cast<double>(cells)) {
  // Near where the window's transform falls to its first zero as the edge of the sky repeats: 0.96 of it had
  // the least errors for 5 to 9 cells.
  beta_ = 0.96 * kPi * cells_ * std::max(0.0, 1 - edge);
  // The transform's first zero (for Kaiser-Bessel at hypot(beta, pi), for prolates not far beyond beta) must
  // not lie on the sky where that fills the field: measured for 7 to 9 cells.
  const double last = kPi * cells_ * edge, from_zero = 0.4 * kPi;
  if (kind == EpicKernel::prolate || std::hypot(beta_, kPi) < 1.01 * last)
    beta_ = std::max(beta_, std::sqrt(std::max(0.0, last * last - from_zero * from_zero)));
  if (kind == EpicKernel::prolate) {
    const ProlateWindow window(beta_);
    const GaussLegendre rule = gauss_legendre(kNodes);
    for (std::size_t i = 0; i < kNodes; ++i) {
      place_.push_back(kPi * cells_ * rule.x[i]);
      value_.push_back(rule.weight[i] * window(rule.x[i]));
    }
  }
  scale_ = 1 / (*this)(0);
  // Each pixel of each image asks for it. The response is even, hence a function of the square.
  if (kind == EpicKernel::prolate && edge > 0) {
    series_ =
        ChebyshevSeries([&](double x) { return (*this)(edge * std::sqrt((1 + x) / 2)); }, kResponseTerms);
    edge_ = edge;
  }
}

double KernelResponse::operator()(double turns_per_cell) const {
  if (std::abs(turns_per_cell) <= edge_) {
    const double share = turns_per_cell / edge_;
    return series_(2 * share * share - 1);
  }
  if (!place_.empty()) {
    double sum = 0;
    for (std::size_t i = 0; i < place_.size(); ++i) sum += value_[i] * std::cos(place_[i] * turns_per_cell);
    return sum * scale_;
  }
  const double angle = kPi * cells_ * turns_per_cell;
  const double rest = beta_ * beta_ - angle * angle;
  const double root = std::sqrt(std::abs(rest));
  if (root < 1e-4) return scale_ * (1 + rest / 6);
  return scale_ * (rest > 0 ? std::sinh(root) : std::sin(root)) / root;
}

KernelFit::KernelFit(const EpicPlan& plan, const FftGrid& grid)
    : cells_(plan.kernel_cells),
      n_side_(kSide),
      response_x_(plan.kernel, cells_, grid.x.edge()),
      response_y_(plan.kernel, cells_, grid.y.edge()) {
  const std::size_t n = cells_ * cells_;
  for (std::size_t i = 0; i < n_side_; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(n_side_);
    x_.push_back(place * grid.x.edge());
    y_.push_back(place * grid.y.edge());
  }
  for (double y : y_)
    for (double x : x_) {
      const double l = x / grid.x.spacing(), m = y / grid.y.spacing();
      const double rest = 1 - l * l - m * m;
      response_.push_back(rest > 0 ? response_x_(x) * response_y_(y) : 0);
      n_minus_1_.push_back(rest > 0 ? -(l * l + m * m) / (1 + std::sqrt(rest)) : 0);
    }
  // Sums over all four quarters leave products of cosines of the distance between cells.
  std::vector<double> of_distance(n, 0.0);
  for (std::size_t dy = 0; dy < cells_; ++dy)
    for (std::size_t dx = 0; dx < cells_; ++dx)
      for (std::size_t iy = 0; iy < n_side_; ++iy)
        for (std::size_t ix = 0; ix < n_side_; ++ix) {
          const double t = response_[iy * n_side_ + ix];
          if (t != 0)
            of_distance[dy * cells_ + dx] += std::cos(kTwoPi * static_cast<double>(dy) * y_[iy]) *
                                             std::cos(kTwoPi * static_cast<double>(dx) * x_[ix]) / (t * t);
        }
  factor_.resize(n * n);
  const auto distance = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      factor_[i * n + j] =
          of_distance[distance(i / cells_, j / cells_) * cells_ + distance(i % cells_, j % cells_)];
  factorise(factor_, n);
}

std::int64_t KernelFit::first(double u) const {
  return static_cast<std::int64_t>(std::ceil(u - static_cast<double>(cells_) / 2));
}

void KernelFit::weights(double u, double v, double w, std::span<std::complex<double>> c) const {
  const double from_u = static_cast<double>(first(u)) - u, from_v = static_cast<double>(first(v)) - v;
  std::fill(c.begin(), c.end(), 0.0);
  std::vector<double> cosine_x(cells_ * n_side_);
  std::vector<std::complex<double>> row(cells_);
  for (std::size_t a = 0; a < cells_; ++a)
    for (std::size_t ix = 0; ix < n_side_; ++ix)
      cosine_x[a * n_side_ + ix] = std::cos(kTwoPi * (from_u + static_cast<double>(a)) * x_[ix]);
  for (std::size_t iy = 0; iy < n_side_; ++iy) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t ix = 0; ix < n_side_; ++ix) {
      const double t = response_[iy * n_side_ + ix];
      if (t == 0) continue;
      std::complex<double> own = 1 / t;
      if (w != 0) own *= std::polar(1.0, -kTwoPi * w * n_minus_1_[iy * n_side_ + ix]);
      for (std::size_t a = 0; a < cells_; ++a) row[a] += cosine_x[a * n_side_ + ix] * own;
    }
    for (std::size_t b = 0; b < cells_; ++b) {
      const double cosine_y = std::cos(kTwoPi * (from_v + static_cast<double>(b)) * y_[iy]);
      for (std::size_t a = 0; a < cells_; ++a) c[b * cells_ + a] += cosine_y * row[a];
    }
  }
  solve(factor_, c);
}

std::vector<std::array<double, 2>> KernelFit::nodes() const {
  std::vector<std::array<double, 2>> nodes;
  for (const double sign_y : {1.0, -1.0})
    for (const double sign_x : {1.0, -1.0})
      for (std::size_t i = 0; i < response_.size(); ++i)
        if (response_[i] != 0) nodes.push_back({sign_x * x_[i % n_side_], sign_y * y_[i / n_side_]});
  return nodes;
}

double KernelFit::weights(double u, double v, double w, const std::vector<std::complex<double>>& own,
                          std::span<std::complex<double>> c) const {
  const double from_u = static_cast<double>(first(u)) - u, from_v = static_cast<double>(first(v)) - v;
  std::fill(c.begin(), c.end(), 0.0);
  double power = 0;
  std::vector<std::complex<double>> turn_x(cells_), turn_y(cells_);
  auto heard = own.begin();
  for (const double sign_y : {1.0, -1.0})
    for (const double sign_x : {1.0, -1.0})
      for (std::size_t i = 0; i < response_.size(); ++i) {
        if (response_[i] == 0) continue;
        const std::complex<double> f = *heard++ * std::polar(1.0, -kTwoPi * w * n_minus_1_[i]);
        // a quarter of the sum over all four, as factor_ is
        power += std::norm(f) / 4;
        for (std::size_t a = 0; a < cells_; ++a) {
          turn_x[a] = std::polar(1.0, kTwoPi * sign_x * (from_u + static_cast<double>(a)) * x_[i % n_side_]);
          turn_y[a] = std::polar(1.0, kTwoPi * sign_y * (from_v + static_cast<double>(a)) * y_[i / n_side_]);
        }
        for (std::size_t b = 0; b < cells_; ++b) {
          const std::complex<double> row = f / response_[i] / 4.0 * turn_y[b];
          for (std::size_t a = 0; a < cells_; ++a) c[b * cells_ + a] += row * turn_x[a];
        }
      }
  const std::vector<std::complex<double>> seen(c.begin(), c.end());
  solve(factor_, c);
  double fitted = 0;
  for (std::size_t j = 0; j < c.size(); ++j) fitted += (std::conj(seen[j]) * c[j]).real();
  return std::sqrt(std::max(0.0, 1 - fitted / power));
}

}  // namespace apsyn
