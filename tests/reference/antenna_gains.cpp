// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/antenna_gains.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace apsyn::reference {
namespace {

using Complex = std::complex<double>;

/// Elimination with pivots on the diagonal of a symmetric matrix; rows that have nothing left get 0.
std::vector<double> eliminate(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, a[i][i]);
  std::vector<std::size_t> order;
  std::vector<bool> done(n, false);
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t pivot = n;
    for (std::size_t i = 0; i < n; ++i)
      if (!done[i] && (pivot == n || a[i][i] > a[pivot][pivot])) pivot = i;
    if (!(a[pivot][pivot] > 1e-11 * largest)) break;
    done[pivot] = true;
    order.push_back(pivot);
    for (std::size_t i = 0; i < n; ++i) {
      if (done[i] || a[i][pivot] == 0) continue;
      const double factor = a[i][pivot] / a[pivot][pivot];
      for (std::size_t k = 0; k < n; ++k) a[i][k] -= factor * a[pivot][k];
      b[i] -= factor * b[pivot];
    }
  }
  std::vector<double> x(n, 0.0);
  for (std::size_t step = order.size(); step-- > 0;) {
    const std::size_t i = order[step];
    double sum = b[i];
    for (std::size_t later = step + 1; later < order.size(); ++later)
      sum -= a[i][order[later]] * x[order[later]];
    x[i] = sum / a[i][i];
  }
  return x;
}

/// Eigenvalues and vectors of a symmetric matrix by Jacobi rotations.
void eigen(std::vector<std::vector<double>> a, std::vector<double>& values,
           std::vector<std::vector<double>>& vectors) {
  const std::size_t n = a.size();
  vectors.assign(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) vectors[i][i] = 1;
  for (int sweep = 0; sweep < 60; ++sweep) {
    double off = 0, on = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k) (i == k ? on : off) += a[i][k] * a[i][k];
    if (off <= 1e-26 * on) break;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = i + 1; k < n; ++k) {
        if (a[i][k] == 0) continue;
        const double theta = (a[k][k] - a[i][i]) / (2 * a[i][k]);
        const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (std::size_t m = 0; m < n; ++m) {
          const double x = a[m][i], y = a[m][k];
          a[m][i] = c * x - s * y;
          a[m][k] = s * x + c * y;
        }
        for (std::size_t m = 0; m < n; ++m) {
          const double x = a[i][m], y = a[k][m];
          a[i][m] = c * x - s * y;
          a[k][m] = s * x + c * y;
        }
        for (std::size_t m = 0; m < n; ++m) {
          const double x = vectors[m][i], y = vectors[m][k];
          vectors[m][i] = c * x - s * y;
          vectors[m][k] = s * x + c * y;
        }
      }
  }
  values.resize(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = a[i][i];
}

/// Row a, column b of J_p M J_q^H.
Complex model_of(const Jones& j_p, const Jones& m, const Jones& j_q, std::size_t a, std::size_t b) {
  Complex sum = 0;
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t d = 0; d < 2; ++d) sum += j_p[2 * a + c] * m[2 * c + d] * std::conj(j_q[2 * b + d]);
  return sum;
}

double chi2_of(const std::vector<GainSample>& samples, const std::vector<Jones>& gain) {
  double chi2 = 0;
  for (const GainSample& s : samples)
    for (std::size_t k = 0; k < 4; ++k)
      if (s.weight[k] > 0)
        chi2 += s.weight[k] * std::norm(s.data[k] - model_of(gain[s.p], s.model, gain[s.q], k / 2, k % 2));
  return chi2;
}

struct Normal {
  std::vector<std::vector<double>> matrix;
  std::vector<double> right;
};

/// Unknown of the real part of element k of antenna p; the imaginary part follows.
std::size_t unknown(std::size_t p, std::size_t k) {
  return 8 * p + 2 * k;
}

Normal normal_of(const std::vector<GainSample>& samples, const std::vector<Jones>& gain, FreeElements free) {
  const std::size_t n = 8 * gain.size();
  Normal normal{std::vector<std::vector<double>>(n, std::vector<double>(n, 0.0)),
                std::vector<double>(n, 0.0)};
  for (const GainSample& s : samples)
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 2; ++b) {
        const double w = s.weight[2 * a + b];
        if (!(w > 0)) continue;
        const Complex residual = s.data[2 * a + b] - model_of(gain[s.p], s.model, gain[s.q], a, b);
        std::vector<std::pair<std::size_t, Complex>> slope;
        for (std::size_t c = 0; c < 2; ++c) {
          if (free == FreeElements::diagonal && c != a) continue;
          Complex x = 0;  // (M J_q^H)_cb
          for (std::size_t d = 0; d < 2; ++d) x += s.model[2 * c + d] * std::conj(gain[s.q][2 * b + d]);
          slope.emplace_back(unknown(s.p, 2 * a + c), x);
          slope.emplace_back(unknown(s.p, 2 * a + c) + 1, Complex(0, 1) * x);
        }
        for (std::size_t d = 0; d < 2; ++d) {
          if (free == FreeElements::diagonal && d != b) continue;
          Complex y = 0;  // (J_p M)_ad
          for (std::size_t c = 0; c < 2; ++c) y += gain[s.p][2 * a + c] * s.model[2 * c + d];
          slope.emplace_back(unknown(s.q, 2 * b + d), y);
          slope.emplace_back(unknown(s.q, 2 * b + d) + 1, Complex(0, -1) * y);
        }
        for (const auto& [i, at_i] : slope) {
          normal.right[i] += w * std::real(std::conj(at_i) * residual);
          for (const auto& [k, at_k] : slope) normal.matrix[i][k] += w * std::real(std::conj(at_i) * at_k);
        }
      }
  return normal;
}

}  // namespace

GainFit fit_gains(const std::vector<GainSample>& samples, std::vector<Jones> start, FreeElements free,
                  std::size_t n_null) {
  GainFit fit;
  fit.gain = std::move(start);
  fit.chi2 = chi2_of(samples, fit.gain);
  double damping = 1e-3;
  for (int iteration = 0; iteration < 100; ++iteration) {
    Normal normal = normal_of(samples, fit.gain, free);
    for (std::size_t i = 0; i < normal.right.size(); ++i) normal.matrix[i][i] *= 1 + damping;
    const std::vector<double> step = eliminate(std::move(normal.matrix), std::move(normal.right));
    std::vector<Jones> trial = fit.gain;
    double change = 0, size = 0;
    for (std::size_t p = 0; p < trial.size(); ++p)
      for (std::size_t k = 0; k < 4; ++k) {
        const Complex d(step[unknown(p, k)], step[unknown(p, k) + 1]);
        trial[p][k] += d;
        change += std::norm(d);
        size += std::norm(trial[p][k]);
      }
    const double chi2 = chi2_of(samples, trial);
    if (chi2 <= fit.chi2 * (1 + 1e-14)) {
      fit.gain = std::move(trial);
      fit.chi2 = chi2;
      damping = std::max(damping / 10, 1e-12);
      if (change < 1e-20 * size) break;
    } else {
      damping *= 10;
      if (damping > 1e8) break;
    }
  }
  if (n_null > 0) {
    const Normal normal = normal_of(samples, fit.gain, free);
    std::vector<double> values;
    std::vector<std::vector<double>> vectors;
    eigen(normal.matrix, values, vectors);
    // Unknowns that are not free, or of no data, have zeros and count among the null directions.
    std::size_t n_idle = 0;
    for (std::size_t i = 0; i < values.size(); ++i) n_idle += normal.matrix[i][i] == 0;
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const double limit = sorted[n_idle + n_null - 1];
    fit.variance.assign(fit.gain.size(), {});
    for (std::size_t e = 0; e < values.size(); ++e) {
      if (values[e] <= limit) continue;
      for (std::size_t p = 0; p < fit.gain.size(); ++p)
        for (std::size_t k = 0; k < 4; ++k)
          for (std::size_t part = 0; part < 2; ++part) {
            const double v = vectors[unknown(p, k) + part][e];
            fit.variance[p][k] +=
                v * v / values[e] / 2;  // complex noise has half of its variance in each part
          }
    }
  }
  return fit;
}

double diagonal_error(const std::vector<Jones>& gain, const std::vector<Jones>& truth) {
  double error = 0;
  for (const std::size_t k : {std::size_t{0}, std::size_t{3}}) {
    Complex overlap = 0;
    for (std::size_t p = 0; p < gain.size(); ++p) overlap += std::conj(gain[p][k]) * truth[p][k];
    const Complex turn = std::abs(overlap) > 0 ? overlap / std::abs(overlap) : 1;
    for (std::size_t p = 0; p < gain.size(); ++p) error += std::norm(gain[p][k] * turn - truth[p][k]);
  }
  return error;
}

double jones_error(const std::vector<Jones>& gain, const std::vector<Jones>& truth) {
  // The unitary U that makes sum |J U - T|^2 least is the polar factor of X = sum J^H T; U = X (X^H X)^-1/2
  // by Newton's iteration.
  Jones x{};
  for (std::size_t p = 0; p < gain.size(); ++p)
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 2; ++b)
        for (std::size_t c = 0; c < 2; ++c)
          x[2 * a + b] += std::conj(gain[p][2 * c + a]) * truth[p][2 * c + b];
  for (int iteration = 0; iteration < 100; ++iteration) {
    const Complex det = x[0] * x[3] - x[1] * x[2];
    const Jones inverse = {x[3] / det, -x[1] / det, -x[2] / det, x[0] / det};
    const Jones adjoint = {std::conj(inverse[0]), std::conj(inverse[2]), std::conj(inverse[1]),
                           std::conj(inverse[3])};
    for (std::size_t k = 0; k < 4; ++k) x[k] = (x[k] + adjoint[k]) / 2.0;
  }
  double error = 0;
  for (std::size_t p = 0; p < gain.size(); ++p)
    for (std::size_t a = 0; a < 2; ++a)
      for (std::size_t b = 0; b < 2; ++b)
        error += std::norm(gain[p][2 * a] * x[b] + gain[p][2 * a + 1] * x[2 + b] - truth[p][2 * a + b]);
  return error;
}

}  // namespace apsyn::reference
