// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/taper.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "kernels/common/math/fft.h"
#include "kernels/common/math/prolate.h"
#include "libcore/base/error.h"
#include "libcore/base/view.h"

namespace apsyn {
namespace {

double bessel_i0_ratio(double c, double eta) {
  return std::cyl_bessel_i(0.0, c * std::sqrt(std::max(0.0, 1 - eta * eta))) / std::cyl_bessel_i(0.0, c);
}

}  // namespace

const char* taper_name(TaperKind kind) {
  switch (kind) {
    case TaperKind::automatic:
      return "auto";
    case TaperKind::least_misfit:
      return "lm";
    case TaperKind::pswf:
      return "pswf";
    case TaperKind::kaiser_bessel:
      break;
  }
  return "kb";
}

TaperKind parse_taper(std::string_view name) {
  for (TaperKind kind :
       {TaperKind::automatic, TaperKind::least_misfit, TaperKind::pswf, TaperKind::kaiser_bessel})
    if (name == taper_name(kind)) return kind;
  throw UsageError("--taper {}: auto, lm, pswf or kb", name);
}

Taper::Taper(TaperKind kind, double c) : kind_(kind), c_(c) {
  if (kind == TaperKind::kaiser_bessel) return;
  prolate_ = prolate_series(c);
  scale_ = 1 / (*this)(0.0);
}

Taper Taper::times(std::vector<double> factor) const {
  Taper product = *this;
  product.kind_ = TaperKind::least_misfit;
  product.factor_ = std::move(factor);
  product.scale_ /= product(0.0);
  return product;
}

double Taper::operator()(double eta) const {
  if (!(std::abs(eta) <= 1)) return 0;
  if (kind_ == TaperKind::kaiser_bessel) return bessel_i0_ratio(c_, eta);
  const double prolate = even_legendre_sum(prolate_, eta) * scale_;
  return factor_.empty() ? prolate : prolate * even_legendre_sum(factor_, eta);
}

std::vector<double> Taper::at(const std::vector<double>& eta) const {
  std::vector<double> value(eta.size());
  if (kind_ == TaperKind::kaiser_bessel) {
    std::transform(eta.begin(), eta.end(), value.begin(), [&](double each) { return (*this)(each); });
    return value;
  }
  const std::vector<double> prolate = even_legendre_sums(prolate_, eta);
  const std::vector<double> factor =
      factor_.empty() ? std::vector<double>(eta.size(), 1.0) : even_legendre_sums(factor_, eta);
  for (std::size_t i = 0; i < eta.size(); ++i)
    value[i] = std::abs(eta[i]) <= 1 ? prolate[i] * scale_ * factor[i] : 0;
  return value;
}

double taper_error(const Taper& taper, double support, double padding, const ResidualPhase& phase) {
  constexpr std::size_t n = 512;
  static const ComplexFft<double> forward(n, 1, FftSign::minus), backward(n, 1, FftSign::plus);
  Buffer<std::complex<double>, 1> function({n});
  std::vector<double> value(n), turns(n);
  for (std::size_t i = 0; i < n / 2; ++i) {  // even functions both
    const double eta = (static_cast<double>(i) + 0.5) * 2 / n - 1, l = eta * phase.half_width_l;
    const double n_here = std::sqrt(std::max(0.0, 1 - l * l - phase.other_axis_max * phase.other_axis_max));
    value[i] = value[n - 1 - i] = taper(eta);
    turns[i] = turns[n - 1 - i] = phase.half_w * n_here;
  }
  double square_sum = 0;
  std::size_t n_summed = 0;
  // The visibility may lie anywhere between two cells.
  for (double fraction : {0.0, 0.5}) {
    for (std::size_t i = 0; i < n; ++i) {
      const double eta = (static_cast<double>(i) + 0.5) * 2 / n - 1;
      function.data()[i] = std::polar(value[i], std::numbers::pi * (fraction * eta - 2 * turns[i]));
    }
    forward.execute(function.data());
    for (std::size_t k = 0; k < n; ++k) {
      const double cell = static_cast<double>(k) - (k < n / 2 ? 0.0 : double(n));
      if (std::abs(cell - fraction) < std::floor(support / 2) + 1) function.data()[k] = 0;
    }
    backward.execute(function.data());
    for (std::size_t i = 0; i < n; ++i) {
      const double eta = (static_cast<double>(i) + 0.5) * 2 / n - 1;
      if (std::abs(eta) > 1 / padding) continue;
      square_sum += std::norm(function.data()[i]) / (double(n) * n * value[i] * value[i]);
      ++n_summed;
    }
  }
  return std::sqrt(2 * square_sum / static_cast<double>(n_summed));
}

double choose_taper_c(TaperKind kind, double support, double padding, double wanted) {
  const double natural = std::numbers::pi * (std::floor(support / 2) + 1);
  double best_c = natural, best_error = INFINITY;
  auto try_c = [&](double c) {
    const double error = taper_error(Taper(kind, c), support, padding, {});
    if (error < best_error) {
      best_error = error;
      best_c = c;
    }
    return error;
  };
  for (double c = std::max(1.0, 0.2 * natural); c <= 1.1 * natural; c += 0.5)
    if (try_c(c) <= wanted) return c;
  for (double step : {0.25, 0.125}) {
    const double middle = best_c;
    try_c(middle - step);
    try_c(middle + step);
  }
  return best_c;
}

}  // namespace apsyn
