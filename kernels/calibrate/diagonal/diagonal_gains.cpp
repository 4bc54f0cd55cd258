// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/diagonal/diagonal_gains.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/cholesky.h"
#include "kernels/calibrate/diagonal/step.h"
#include "libcore/system/parallel.h"

namespace apsyn {

void DiagonalGains::resize(std::size_t n_lanes, std::size_t n_antennas) {
  gain.resize({n_lanes, n_antennas});
  information.resize({n_lanes, n_antennas});
  signal.resize({n_lanes, n_antennas});
  n_iterations.assign(n_lanes, 0);
  converged.assign(n_lanes, 0);
}

DiagonalProblem make_problem(const CalibrationSums& sums, std::size_t n_merged, unsigned n_threads,
                             Buffer<float, 4> memory) {
  const SumLayout& layout = sums.layout();
  DiagonalProblem problem;
  problem.n_antennas = layout.n_antennas;
  problem.n_lanes = layout.n_lanes() / n_merged;
  problem.active.resize({problem.n_lanes, problem.n_antennas});
  problem.active.fill(1);
  problem.sums = std::move(memory);
  const std::size_t n_baselines = layout.n_baselines();
  resize_for_threads(n_threads, {problem.n_groups(), n_baselines, 3, kLanes}, problem.sums);
  const View<const float, 4> from = sums.recent();
  constexpr std::size_t kBaselines = 4096;  // of a piece
  const std::size_t n_pieces = (n_baselines + kBaselines - 1) / kBaselines;
  parallel_for(n_threads, problem.n_groups() * n_pieces, [&](std::size_t item, unsigned) {
    const std::size_t group = item / n_pieces, first = item % n_pieces * kBaselines;
    for (std::size_t b = first; b < std::min(n_baselines, first + kBaselines); ++b) {
      float* to = &problem.sums(group, b, 0, 0);
      if (n_merged == 1) {
        const float* own = &from(group, b, 0, 0);
        std::copy_n(own, 3 * kLanes, to);
        continue;
      }
      std::fill_n(to, 3 * kLanes, 0.f);
      for (std::size_t i = 0; i < kLanes && group * kLanes + i < problem.n_lanes; ++i)
        for (std::size_t hand = 0; hand < n_merged; ++hand) {
          const std::size_t lane = (group * kLanes + i) * n_merged + hand;
          for (std::size_t c = 0; c < 3; ++c) to[c * kLanes + i] += from(lane / kLanes, b, c, lane % kLanes);
        }
    }
  });
  return problem;
}

void leave_out(DiagonalProblem& problem, std::size_t lane, std::size_t antenna) {
  problem.active(lane, antenna) = 0;
  for (std::size_t other = 0; other < problem.n_antennas; ++other) {
    if (other == antenna) continue;
    const std::size_t b =
        baseline_index(std::min(antenna, other), std::max(antenna, other), problem.n_antennas);
    for (std::size_t c = 0; c < 3; ++c) problem.sums(lane / kLanes, b, c, lane % kLanes) = 0;
  }
}

namespace {

/// Least relative change that sums of float32 show.
constexpr double kFloatTolerance = 3e-7;
constexpr std::size_t kNewtonSteps = 40;

/// A_pq of any order of p and q.
std::complex<double> product_of(const DiagonalProblem& problem, std::size_t lane, std::size_t p,
                                std::size_t q) {
  const std::size_t b = baseline_index(std::min(p, q), std::max(p, q), problem.n_antennas);
  const float* own = &problem.sums(lane / kLanes, b, 0, lane % kLanes);
  return {own[0], p < q ? own[kLanes] : -own[kLanes]};
}

/// Chi^2 of gains, less what all gains share, on a few baselines of each antenna: with those next to it in
/// the list.
double misfit_of(const DiagonalProblem& problem, std::size_t lane,
                 const std::vector<std::complex<double>>& gain) {
  constexpr std::size_t kNeighbours = 8;
  double misfit = 0;
  for (std::size_t p = 0; p < gain.size(); ++p)
    for (std::size_t q = p + 1; q < std::min(gain.size(), p + 1 + kNeighbours); ++q) {
      const float* own =
          &problem.sums(lane / kLanes, baseline_index(p, q, problem.n_antennas), 0, lane % kLanes);
      const std::complex<double> a(own[0], own[kLanes]), m = gain[p] * std::conj(gain[q]);
      misfit += own[2 * kLanes] * std::norm(m) - 2 * (std::conj(m) * a).real();
    }
  return misfit;
}

/// Start of a group's lanes: the phases on the baselines of the antenna with the most signal; where an
/// antenna has none with it, those against all antennas that have a phase already. Amplitudes (sum |A|^2 /
/// sum S^2)^1/4. Gains that are given are taken in place of these where they fit better: those of a former
/// interval may have drifted by more than noise spoils single baselines.
void start_group(const DiagonalProblem& problem, std::size_t group, bool unit, DiagonalGains& gains) {
  const std::size_t n = problem.n_antennas;
  std::vector<double> signal(n * kLanes), model(n * kLanes);
  const float* b = problem.sums.view()[group].data();
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q, b += 3 * kLanes)
      for (std::size_t i = 0; i < kLanes; ++i) {
        const float power = b[i] * b[i] + b[kLanes + i] * b[kLanes + i],
                    s = b[2 * kLanes + i] * b[2 * kLanes + i];
        signal[p * kLanes + i] += power;
        signal[q * kLanes + i] += power;
        model[p * kLanes + i] += s;
        model[q * kLanes + i] += s;
      }
  const std::size_t n_lanes = std::min(kLanes, problem.n_lanes - group * kLanes);
  for (std::size_t i = 0; i < n_lanes; ++i) {
    const std::size_t lane = group * kLanes + i;
    bool is_given = false;
    for (std::size_t p = 0; p < n; ++p) is_given |= gains.gain(lane, p) != 0.0;
    std::vector<std::complex<double>> given;
    if (is_given) {
      // An antenna without a gain of its own to start from gets the mean amplitude, phase 0.
      for (std::size_t p = 0; p < n; ++p) {
        std::complex<double>& g = gains.gain(lane, p);
        if (!problem.active(lane, p)) {
          g = 0;
        } else if (g == 0.0 || !std::isfinite(std::abs(g))) {
          g = unit || !(model[p * kLanes + i] > 0)
                  ? 1
                  : std::sqrt(std::sqrt(signal[p * kLanes + i] / model[p * kLanes + i]));
        } else if (unit) {
          g /= std::abs(g);
        }
        given.push_back(g);
      }
    }
    std::size_t root = 0;
    for (std::size_t p = 1; p < n; ++p)
      if (signal[p * kLanes + i] > signal[root * kLanes + i]) root = p;
    std::vector<std::size_t> waiting;
    const auto amplitude = [&](std::size_t p) {
      return unit ? 1.0 : std::sqrt(std::sqrt(signal[p * kLanes + i] / model[p * kLanes + i]));
    };
    for (std::size_t p = 0; p < n; ++p) {
      gains.gain(lane, p) = 0;
      if (!problem.active(lane, p) || !(signal[p * kLanes + i] > 0) || !(model[p * kLanes + i] > 0)) continue;
      if (p == root) {
        gains.gain(lane, p) = amplitude(p);
        continue;
      }
      const std::complex<double> a = product_of(problem, lane, p, root);
      if (std::abs(a) > 0) {
        gains.gain(lane, p) = a / std::abs(a) * amplitude(p);
      } else {
        waiting.push_back(p);
      }
    }
    for (bool found = true; found && !waiting.empty();) {
      found = false;
      std::vector<std::size_t> rest;
      for (const std::size_t p : waiting) {
        std::complex<double> sum = 0;
        for (std::size_t q = 0; q < n; ++q)
          if (q != p) sum += product_of(problem, lane, p, q) * gains.gain(lane, q);
        if (std::abs(sum) > 0) {
          gains.gain(lane, p) = sum / std::abs(sum) * amplitude(p);
          found = true;
        } else {
          rest.push_back(p);
        }
      }
      waiting.swap(rest);
    }
    if (!is_given) continue;
    std::vector<std::complex<double>> fresh(n);
    for (std::size_t p = 0; p < n; ++p) fresh[p] = gains.gain(lane, p);
    if (misfit_of(problem, lane, given) > misfit_of(problem, lane, fresh)) continue;
    for (std::size_t p = 0; p < n; ++p) gains.gain(lane, p) = given[p];
  }
}

/// g [antenna][re, im][kLanes] becomes what the sums say, or the mean with it; returns by lane the squared
/// change before the mean, and the squared size of the new gains.
template <class T>
void update(const T* sums, std::size_t n_antennas, bool unit, bool mean, T* gains, T* change, T* size) {
  std::fill_n(change, kLanes, T{0});
  std::fill_n(size, kLanes, T{0});
  for (std::size_t p = 0; p < n_antennas; ++p) {
    const T* own = sums + p * 3 * kLanes;
    T* g = gains + p * 2 * kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const T re = own[i], im = own[kLanes + i], s = own[2 * kLanes + i];
      const T scale = unit ? std::sqrt(re * re + im * im) : s;
      const T inverse = scale > 0 ? 1 / scale : 0;
      T new_re = re * inverse, new_im = im * inverse;
      const T d_re = new_re - g[i], d_im = new_im - g[kLanes + i];
      change[i] += d_re * d_re + d_im * d_im;
      size[i] += new_re * new_re + new_im * new_im;
      if (mean) {
        new_re = (new_re + g[i]) / 2;
        new_im = (new_im + g[kLanes + i]) / 2;
        if (unit) {
          const T length = std::sqrt(new_re * new_re + new_im * new_im);
          const T one = length > 0 ? 1 / length : 0;
          new_re *= one;
          new_im *= one;
        }
      }
      g[i] = new_re;
      g[kLanes + i] = new_im;
    }
  }
}

}  // namespace

void solve_group(const DiagonalProblem& problem, std::size_t group, const DiagonalSettings& settings,
                 DiagonalGains& gains) {
  const std::size_t n = problem.n_antennas, n_lanes = std::min(kLanes, problem.n_lanes - group * kLanes);
  start_group(problem, group, settings.unit, gains);
  std::vector<float> g(n * 2 * kLanes), sums(n * 3 * kLanes);
  for (std::size_t i = 0; i < n_lanes; ++i)
    for (std::size_t p = 0; p < n; ++p) {
      const std::complex<double> own = gains.gain(group * kLanes + i, p);
      g[p * 2 * kLanes + i] = static_cast<float>(own.real());
      g[(p * 2 + 1) * kLanes + i] = static_cast<float>(own.imag());
    }
  const float* baselines = problem.sums.view()[group].data();
  std::vector<std::uint32_t> n_iterations(kLanes, 0);
  float change[kLanes], size[kLanes];
  const double tolerance = std::max(settings.tolerance, kFloatTolerance), limit = tolerance * tolerance;
  std::size_t n_open = n_lanes;
  for (std::size_t iteration = 1; iteration <= settings.max_iterations && n_open > 0; ++iteration) {
    sum_over_baselines(baselines, n, g.data(), sums.data());
    update(sums.data(), n, settings.unit, iteration % 2 == 0, g.data(), change, size);
    n_open = 0;
    for (std::size_t i = 0; i < n_lanes; ++i) {
      if (n_iterations[i] == 0 && change[i] <= limit * size[i])
        n_iterations[i] = static_cast<std::uint32_t>(iteration);
      n_open += n_iterations[i] == 0;
    }
  }

  // The last step, in float64, takes the mean: it makes the common amplitude right. Tolerances that float32
  // does not reach take more of them.
  std::vector<double> exact(g.begin(), g.end()), exact_sums(n * 3 * kLanes);
  double exact_change[kLanes], exact_size[kLanes];
  const std::size_t n_exact = settings.tolerance < kFloatTolerance ? settings.max_iterations : 1;
  std::size_t n_steps = 0;
  for (bool open = true; open && n_steps < n_exact; ++n_steps) {
    sum_over_baselines(baselines, n, exact.data(), exact_sums.data());
    update(exact_sums.data(), n, settings.unit, n_steps % 2 == 0, exact.data(), exact_change, exact_size);
    open = n_steps % 2 == 1;  // ends with a mean
    for (std::size_t i = 0; i < n_lanes && n_exact > 1; ++i)
      open |= exact_change[i] > settings.tolerance * settings.tolerance * exact_size[i];
  }
  for (std::size_t i = 0; i < n_lanes; ++i) {
    const std::size_t lane = group * kLanes + i;
    gains.converged[lane] = n_iterations[i] > 0;
    gains.n_iterations[lane] = static_cast<std::uint32_t>(
        (n_iterations[i] > 0 ? n_iterations[i] : settings.max_iterations) + n_steps);
    for (std::size_t p = 0; p < n; ++p) {
      gains.gain(lane, p) = {exact[p * 2 * kLanes + i], exact[(p * 2 + 1) * kLanes + i]};
      gains.information(lane, p) = exact_sums[(p * 3 + 2) * kLanes + i];
      gains.signal(lane, p) =
          std::hypot(exact_sums[p * 3 * kLanes + i], exact_sums[(p * 3 + 1) * kLanes + i]);
    }
  }
}

namespace {

/// The equations of Gauss-Newton steps of a lane: active antennas, c = S |g_p g_q|^2, gradients.
struct LogGainEquations {
  std::vector<std::size_t> antenna;
  std::vector<double> amplitude, phase;        ///< matrices [n][n]: sum c +- c
  std::vector<double> to_amplitude, to_phase;  ///< right sides
  double fit = 0;                              ///< sum 2 Re(conj(m) A) - S |m|^2: chi^2 is R less this
};

LogGainEquations equations_of(const DiagonalProblem& problem, std::size_t lane,
                              const std::vector<std::complex<double>>& gain) {
  LogGainEquations e;
  for (std::size_t p = 0; p < problem.n_antennas; ++p)
    if (problem.active(lane, p) && gain[p] != 0.0) e.antenna.push_back(p);
  const std::size_t n = e.antenna.size();
  e.amplitude.resize(n * n);
  e.phase.resize(n * n);
  e.to_amplitude.resize(n);
  e.to_phase.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const std::size_t q = e.antenna[i], p = e.antenna[k];
      const float* own =
          &problem.sums(lane / kLanes, baseline_index(p, q, problem.n_antennas), 0, lane % kLanes);
      const std::complex<double> a(own[0], own[kLanes]), m = gain[p] * std::conj(gain[q]);
      const double s = own[2 * kLanes], c = s * std::norm(m);
      const std::complex<double> ma = std::conj(m) * a;
      e.fit += 2 * ma.real() - c;
      e.amplitude[i * n + i] += c;
      e.amplitude[k * n + k] += c;
      e.amplitude[i * n + k] = c;
      e.phase[i * n + i] += c;
      e.phase[k * n + k] += c;
      e.phase[i * n + k] = -c;
      e.to_amplitude[i] += ma.real() - c;
      e.to_amplitude[k] += ma.real() - c;
      e.to_phase[k] += ma.imag();
      e.to_phase[i] -= ma.imag();
    }
  return e;
}

/// Leaves the unknown out: its equation becomes x = 0.
void fix(std::vector<double>& matrix, std::size_t n, std::size_t unknown) {
  for (std::size_t k = 0; k < n; ++k) matrix[unknown * n + k] = matrix[k * n + unknown] = 0;
  matrix[unknown * n + unknown] = 1;
}

}  // namespace

bool polish_gains(const DiagonalProblem& problem, std::size_t lane, const DiagonalSettings& settings,
                  DiagonalGains& gains) {
  std::vector<std::complex<double>> gain(problem.n_antennas);
  for (std::size_t p = 0; p < gain.size(); ++p) gain[p] = gains.gain(lane, p);
  bool converged = false;
  double damping = 1e-3;
  LogGainEquations now = equations_of(problem, lane, gain);
  const std::size_t n = now.antenna.size();
  if (n < 2) return false;
  for (std::size_t iteration = 0; iteration < kNewtonSteps && !converged; ++iteration) {
    std::vector<double> amplitude = now.amplitude, phase = now.phase;
    for (std::size_t i = 0; i < n; ++i) {
      amplitude[i * n + i] *= 1 + damping;
      phase[i * n + i] *= 1 + damping;
    }
    std::vector<double> d_amplitude = now.to_amplitude, d_phase = now.to_phase;
    if (!settings.unit) Cholesky(std::move(amplitude), n).solve(d_amplitude.data());
    Cholesky(std::move(phase), n).solve(d_phase.data());
    std::vector<std::complex<double>> trial = gain;
    double change = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double log_amplitude = settings.unit ? 0 : std::clamp(d_amplitude[i], -1.0, 1.0);
      std::complex<double>& g = trial[now.antenna[i]];
      const std::complex<double> old = g;
      g *= std::polar(std::exp(log_amplitude), std::clamp(d_phase[i], -1.0, 1.0));
      change += std::norm(g - old);
      size += std::norm(g);
    }
    LogGainEquations next = equations_of(problem, lane, trial);
    const bool small = change <= settings.tolerance * settings.tolerance * size;
    if (next.fit >= now.fit || small) {
      converged = small && damping < 1e-2;
      if (next.fit >= now.fit) {
        gain.swap(trial);
        now = std::move(next);
      }
      damping = std::max(1e-9, damping / 10);
    } else {
      damping *= 10;
      if (damping > 1e9) break;
    }
  }
  std::size_t k = 0;
  for (std::size_t p = 0; p < gain.size(); ++p) {
    gains.gain(lane, p) = gain[p];
    if (k < n && now.antenna[k] == p) {
      gains.information(lane, p) = now.amplitude[k * n + k] / std::norm(gain[p]);
      gains.signal(lane, p) = std::abs(now.to_amplitude[k] + now.amplitude[k * n + k]) / std::abs(gain[p]);
      ++k;
    }
  }
  return converged;
}

std::vector<double> fisher_errors(const DiagonalProblem& problem, std::size_t lane,
                                  const DiagonalSettings& settings, const DiagonalGains& gains,
                                  std::size_t reference) {
  std::vector<std::complex<double>> gain(problem.n_antennas);
  for (std::size_t p = 0; p < gain.size(); ++p) gain[p] = gains.gain(lane, p);
  LogGainEquations e = equations_of(problem, lane, gain);
  const std::size_t n = e.antenna.size();
  std::vector<double> errors(problem.n_antennas, std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < n; ++k)
    if (e.antenna[k] == reference) fix(e.phase, n, k);
  const std::vector<double> phase = Cholesky(std::move(e.phase), n).inverse_diagonal();
  const std::vector<double> amplitude =
      settings.unit ? std::vector<double>(n) : Cholesky(std::move(e.amplitude), n).inverse_diagonal();
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t p = e.antenna[k];
    const double of_phase = p == reference ? 0 : phase[k];
    // Complex noise of variance 1 has 1/2 in each part.
    errors[p] = settings.unit ? std::sqrt(of_phase / 2)
                              : std::abs(gain[p]) * std::sqrt((amplitude[k] + of_phase) / 4);
  }
  return errors;
}

}  // namespace apsyn
