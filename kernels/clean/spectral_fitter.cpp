// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/spectral_fitter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/common/math/least_squares.h"

namespace apsyn {

SpectralFitter::SpectralFitter(SpectralFit fit, std::size_t n_terms,
                               const std::vector<DeconvolutionGroup>& groups)
    : fit_(fit), n_terms_(n_terms), groups_(groups) {
  double weight = 0;
  for (const DeconvolutionGroup& group : groups_) {
    weight += group.weight;
    reference_hz_ += group.weight * group.freq_hz;
  }
  reference_hz_ /= weight;
  if (fit_ != SpectralFit::polynomial) return;
  // The terms are linear in the values: solve for one unit value after the other.
  const std::size_t n = groups_.size();
  solution_.assign(n_terms_, std::vector<double>(n));
  for (std::size_t unit = 0; unit < n; ++unit) {
    LeastSquares system(n, n_terms_);
    for (std::size_t g = 0; g < n; ++g) {
      const double root = std::sqrt(groups_[g].weight), x = groups_[g].freq_hz / reference_hz_ - 1;
      for (std::size_t k = 0; k < n_terms_; ++k)
        system.matrix(g, k) = root * std::pow(x, static_cast<double>(k));
      system.right(g) = g == unit ? root : 0;
    }
    const std::vector<double> terms = system.solve();
    for (std::size_t k = 0; k < n_terms_; ++k) solution_[k][unit] = terms[k];
  }
  projection_.assign(n, std::vector<double>(n));
  for (std::size_t unit = 0; unit < n; ++unit) {
    std::vector<double> terms(n_terms_);
    for (std::size_t k = 0; k < n_terms_; ++k) terms[k] = solution_[k][unit];
    for (std::size_t g = 0; g < n; ++g) projection_[g][unit] = evaluate(terms, groups_[g].freq_hz);
  }
}

std::vector<double> SpectralFitter::fit(const std::vector<double>& values) const {
  switch (fit_) {
    case SpectralFit::polynomial:
      return fit_polynomial(values);
    case SpectralFit::logarithmic:
      return fit_logarithmic(values);
    case SpectralFit::none:
      break;
  }
  return values;
}

std::vector<double> SpectralFitter::fit_polynomial(const std::vector<double>& values) const {
  std::vector<double> terms;
  for (const auto& row : solution_)
    terms.push_back(std::inner_product(row.begin(), row.end(), values.begin(), 0.0));
  return terms;
}

std::vector<double> SpectralFitter::fit_logarithmic(const std::vector<double>& values) const {
  auto misfit = [&](const std::vector<double>& terms) {
    double sum = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      sum += groups_[g].weight * std::pow(values[g] - evaluate(terms, groups_[g].freq_hz), 2);
    return sum;
  };
  double weight = 0, mean = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    weight += groups_[g].weight;
    mean += groups_[g].weight * values[g];
  }
  // Gauss-Newton from a flat spectrum; a step that does not improve is halved.
  std::vector<double> terms(n_terms_);
  terms[0] = mean / weight;
  double best = misfit(terms);
  for (int iteration = 0; iteration < 30 && terms[0] != 0; ++iteration) {
    LeastSquares system(groups_.size(), n_terms_);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const double root = std::sqrt(groups_[g].weight), x = std::log10(groups_[g].freq_hz / reference_hz_);
      const double value = evaluate(terms, groups_[g].freq_hz);
      system.matrix(g, 0) = root * value / terms[0];
      for (std::size_t k = 1; k < n_terms_; ++k)
        system.matrix(g, k) = root * value * std::log(10.0) * std::pow(x, static_cast<double>(k));
      system.right(g) = root * (values[g] - value);
    }
    std::vector<double> step = system.solve();
    bool better = false;
    for (int halving = 0; halving < 20 && !better; ++halving) {
      std::vector<double> next = terms;
      for (std::size_t k = 0; k < n_terms_; ++k) next[k] += step[k];
      const double now = misfit(next);
      better = now < best;
      if (better) {
        const bool done = best - now <= 1e-12 * best;
        terms = next;
        best = now;
        if (done) return terms;
      }
      for (double& value : step) value /= 2;
    }
    if (!better) break;
  }
  return terms;
}

double SpectralFitter::evaluate(const std::vector<double>& terms, double freq_hz) const {
  if (fit_ == SpectralFit::polynomial) {
    const double x = freq_hz / reference_hz_ - 1;
    double value = 0;
    for (std::size_t k = terms.size(); k-- > 0;) value = value * x + terms[k];
    return value;
  }
  if (fit_ == SpectralFit::logarithmic) {
    const double x = std::log10(freq_hz / reference_hz_);
    double exponent = 0;
    for (std::size_t k = terms.size(); k-- > 1;) exponent = (exponent + terms[k]) * x;
    return terms[0] * std::pow(10.0, exponent);
  }
  // Without a fit each group's value holds up to the middle between groups.
  std::size_t nearest = 0;
  for (std::size_t g = 1; g < groups_.size(); ++g)
    if (std::abs(groups_[g].freq_hz - freq_hz) < std::abs(groups_[nearest].freq_hz - freq_hz)) nearest = g;
  return terms[nearest];
}

std::vector<double> SpectralFitter::smooth(const std::vector<double>& values) const {
  std::vector<double> result(values.size());
  if (fit_ == SpectralFit::polynomial) {
    for (std::size_t g = 0; g < result.size(); ++g)
      result[g] = std::inner_product(projection_[g].begin(), projection_[g].end(), values.begin(), 0.0);
    return result;
  }
  if (fit_ == SpectralFit::none) return values;
  const std::vector<double> terms = fit(values);
  for (std::size_t g = 0; g < result.size(); ++g) result[g] = evaluate(terms, groups_[g].freq_hz);
  return result;
}

}  // namespace apsyn
