// SPDX-License-Identifier: GPL-3.0-or-later
// 2x2 gains and leakages of one slot: solve, flag rows with too little signal, solve the rest again, take out
// what no data show.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/connections.h"
#include "kernels/calibrate/diagonal/diagonal_gains.h"
#include "kernels/calibrate/jones/jones_gains.h"
#include "kernels/calibrate/jones/step.h"
#include "kernels/calibrate/solve_slot.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kFlagRounds = 10;

class JonesTerm {
 public:
  JonesTerm(const CalibrationSums& sums, const SolveSettings& settings)
      : sums_(sums),
        settings_(settings),
        leakage_(settings.term == CalibrationTerm::leakage),
        n_antennas_(sums.layout().n_antennas),
        n_blocks_(sums.layout().n_blocks),
        n_elements_(n_model_elements(sums.layout().kind)),
        n_own_(n_product_components(n_elements_)) {
    gains_.resize(n_blocks_, n_antennas_);
    reason_.resize({n_blocks_, 2, n_antennas_});
    iterations_.assign(n_blocks_, 0);
    fit_.resize({n_blocks_, 3});
    noise_.assign(n_blocks_, 0);
  }

  void exclude(ExcludedSolutions excluded) {
    if (excluded.size() == 0) return;
    for (std::size_t block = 0; block < n_blocks_; ++block)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t row = 0; row < 2; ++row) {
          const FlagReason first = excluded(block, p, 2 * row);
          reason_(block, row, p) = first != FlagReason::none ? first : excluded(block, p, 2 * row + 1);
        }
  }

  SolvedSlot solve(const SlotSolutions* start) {
    parallel_for(settings_.n_threads, n_blocks_, [&](std::size_t block, unsigned) { prune(block); });
    begin(start);
    std::vector<std::uint8_t> open(sums_.layout().n_groups(), 1);
    JonesSettings own;
    own.leakage = leakage_;
    own.tolerance = settings_.tolerance;
    own.max_iterations = settings_.max_iterations;
    for (std::size_t round = 0; round < kFlagRounds; ++round) {
      own.reference = reference();
      parallel_for(settings_.n_threads, open.size(), [&](std::size_t group, unsigned) {
        if (!open[group]) return;
        solve_jones_group(sums_, group, own, gains_);
        const std::size_t end = std::min(n_blocks_, (group + 1) * kLanes);
        for (std::size_t block = group * kLanes; block < end; ++block)
          iterations_[block] = std::max(iterations_[block], gains_.n_iterations[block]);
      });
      parallel_for(settings_.n_threads, open.size(),
                   [&](std::size_t group, unsigned) { measure_noise(group); });
      if (round + 1 == kFlagRounds) break;
      std::fill(open.begin(), open.end(), std::uint8_t{0});
      bool any = false;
      for (std::size_t block = 0; block < n_blocks_; ++block)
        if (flag_weak(block)) {
          open[block / kLanes] = 1;
          any = true;
        }
      if (!any) break;
    }
    return result();
  }

 private:
  const float* baseline(std::size_t block, std::size_t p, std::size_t q) const {
    return &sums_.recent()(block / kLanes, baseline_index(p, q, n_antennas_), 0, block % kLanes);
  }

  /// Samples of a product between two rows, of p < q.
  bool has_samples(std::size_t block, std::size_t p, std::size_t q, std::size_t product) const {
    const float* own = baseline(block, p, q) + product * n_own_ * kLanes;
    for (std::size_t e = 0; e < n_elements_; ++e)
      if (own[own_component(e, n_elements_) * kLanes] > 0) return true;
    return false;
  }

  /// Rows need baselines with antennas of which any row is left. Rows of p and q are linked by any product of
  /// p's.
  void prune(std::size_t block) {
    std::vector<std::uint8_t> linked(n_antennas_ * n_antennas_);
    for (std::size_t row = 0; row < 2; ++row) {
      std::fill(linked.begin(), linked.end(), std::uint8_t{0});
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t q = p + 1; q < n_antennas_; ++q) {
          const bool of_p = has_samples(block, p, q, 2 * row) || has_samples(block, p, q, 2 * row + 1);
          const bool of_q = has_samples(block, p, q, row) || has_samples(block, p, q, 2 + row);
          linked[p * n_antennas_ + q] = linked[q * n_antennas_ + p] = of_p && of_q;
        }
      prune_antennas(linked, n_antennas_, settings_.min_baselines, 2, &reason_(block, row, 0));
      for (std::size_t p = 0; p < n_antennas_; ++p)
        if (reason_(block, row, p) != FlagReason::none) leave_out(block, p, row);
    }
  }

  void leave_out(std::size_t block, std::size_t p, std::size_t row) {
    gains_.active(block, p, row) = 0;
    gains_.gain(block, p, 2 * row) = gains_.gain(block, p, 2 * row + 1) = 0;
  }

  /// Leakages start at none, 2x2 gains at the diagonal solution of the parallel hands, or at the former
  /// slot's.
  void begin(const SlotSolutions* start) {
    DiagonalGains diagonal;
    if (!leakage_) {
      std::vector<std::uint32_t> blocks(n_blocks_);
      std::iota(blocks.begin(), blocks.end(), 0u);
      const CalibrationSums* const cells[] = {&sums_};
      const CalibrationSums hands =
          combine({cells, {}, blocks, n_blocks_}, SumKind::diagonal, {}, settings_.n_threads);
      const DiagonalProblem problem = make_problem(hands, 1, settings_.n_threads);
      diagonal.resize(problem.n_lanes, n_antennas_);
      parallel_for(settings_.n_threads, problem.n_groups(), [&](std::size_t group, unsigned) {
        solve_group(problem, group, {false, 1e-3, std::min<std::size_t>(40, settings_.max_iterations)},
                    diagonal);
      });
    }
    const bool given = start != nullptr && start->term == settings_.term && start->n_blocks == n_blocks_ &&
                       start->n_antennas == n_antennas_ && start->n_values == 4;
    for (std::size_t block = 0; block < n_blocks_; ++block)
      for (std::size_t p = 0; p < n_antennas_; ++p) {
        for (std::size_t row = 0; row < 2; ++row) {
          if (!gains_.active(block, p, row)) continue;
          const std::complex<double> g = leakage_ ? 1.0 : diagonal.gain(block * 2 + row, p);
          gains_.gain(block, p, 3 * row) = std::isfinite(std::abs(g)) ? g : 0;
          if (!given) continue;
          const std::complex<double> a = start->value(block, p, 2 * row),
                                     b = start->value(block, p, 2 * row + 1);
          if (!std::isfinite(std::abs(a) + std::abs(b)) || std::abs(a) + std::abs(b) > 1e15) continue;
          gains_.gain(block, p, 2 * row) = a;
          gains_.gain(block, p, 2 * row + 1) = b;
        }
      }
  }

  Matrix2 matrix(std::size_t block, std::size_t p) const {
    Matrix2 j;
    for (std::size_t k = 0; k < 4; ++k) j[k] = gains_.gain(block, p, k);
    return j;
  }

  void measure_noise(std::size_t group) {
    const std::size_t first = group * kLanes, n_lanes = std::min(kLanes, n_blocks_ - first);
    std::vector<double> gains(n_antennas_ * kJonesValues), active(n_antennas_ * 2 * kLanes);
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t i = 0; i < n_lanes; ++i) {
        for (std::size_t k = 0; k < 4; ++k) {
          gains[p * kJonesValues + 2 * k * kLanes + i] = gains_.gain(first + i, p, k).real();
          gains[p * kJonesValues + (2 * k + 1) * kLanes + i] = gains_.gain(first + i, p, k).imag();
        }
        for (std::size_t row = 0; row < 2; ++row)
          active[(p * 2 + row) * kLanes + i] = gains_.active(first + i, p, row);
      }
    double fit[4 * kLanes];
    jones_fit(sums_.layout().kind, sums_.recent()[group].data(), n_antennas_, gains.data(), active.data(),
              n_lanes, fit, nullptr);
    for (std::size_t i = 0; i < n_lanes; ++i) {
      double unknowns = -4;
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t row = 0; row < 2; ++row)
          unknowns += gains_.active(first + i, p, row) ? leakage_ ? 2 : 4 : 0;
      for (std::size_t k = 0; k < 3; ++k) fit_(first + i, k) = fit[k * kLanes + i];
      noise_[first + i] =
          noise_of(fit[kLanes + i], fit[2 * kLanes + i], std::max(0.0, unknowns), fit[3 * kLanes + i]);
    }
  }

  /// A row of two unknowns explains 2 noise^2 of chi^2 where there is nothing: one more than a gain of a
  /// single one.
  double snr(std::size_t block, std::size_t p, std::size_t row) const {
    if (!(noise_[block] > 0)) return 0;
    if (leakage_) return std::sqrt(gains_.row_information(block, p, row, 1 - row)) / noise_[block];
    return std::sqrt(std::max(0.0, gains_.row_power(block, p, row) / (noise_[block] * noise_[block]) - 1));
  }

  bool flag_weak(std::size_t block) {
    bool any = false;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t row = 0; row < 2; ++row) {
        if (!gains_.active(block, p, row)) continue;
        const std::complex<double> a = gains_.gain(block, p, 2 * row), b = gains_.gain(block, p, 2 * row + 1);
        if (!std::isfinite(std::abs(a) + std::abs(b)))
          reason_(block, row, p) = FlagReason::diverged;
        else if (!(snr(block, p, row) >= settings_.min_snr) || (a == 0.0 && b == 0.0))
          reason_(block, row, p) = FlagReason::low_snr;
        else
          continue;
        leave_out(block, p, row);
        any = true;
      }
    if (any) prune(block);  // others may have too few baselines left
    return any;
  }

  bool whole(std::size_t block, std::size_t p) const {
    return gains_.active(block, p, 0) && gains_.active(block, p, 1);
  }

  std::size_t reference() const {
    std::vector<double> total(n_antennas_);
    for (std::size_t block = 0; block < n_blocks_; ++block)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        if (whole(block, p)) {
          if (p == settings_.reference) return p;
          total[p] += 1 + std::min(1e6, snr(block, p, 0) + snr(block, p, 1));
        }
    const auto best = std::max_element(total.begin(), total.end());
    return *best > 0 ? static_cast<std::size_t>(best - total.begin()) : settings_.reference;
  }

  /// What turns all J of a block on the right without a change of J M J^H, so that the reference's J is
  /// Hermitian for an unpolarised model; has a real diagonal for a diagonal one; for any other a real first
  /// element.
  Matrix2 gauge(const Matrix2& j) const {
    if (sums_.layout().kind == SumKind::jones_unpolarised) return adjoint(polar_unitary(j));
    const auto turn = [](std::complex<double> g) -> std::complex<double> {
      return std::abs(g) > 0 ? std::conj(g) / std::abs(g) : 1.0;
    };
    if (sums_.layout().kind == SumKind::jones_diagonal) return {turn(j[0]), 0, 0, turn(j[3])};
    return {turn(j[0]), 0, 0, turn(j[0])};
  }

  SolvedSlot result() {
    SolvedSlot solved;
    solved.solution = empty_solution(settings_.term, n_blocks_, n_antennas_, 4, 1);
    SlotSolutions& s = solved.solution;
    s.reference = reference();
    solved.fitted.resize({n_blocks_, n_antennas_, 4});
    for (std::size_t block = 0; block < n_blocks_; ++block) {
      std::size_t fixed = s.reference;
      if (!whole(block, fixed))
        for (std::size_t p = 0; p < n_antennas_; ++p)
          if (whole(block, p) && (!whole(block, fixed) || snr(block, p, 0) + snr(block, p, 1) >
                                                              snr(block, fixed, 0) + snr(block, fixed, 1)))
            fixed = p;
      // Leakages have been fixed in every step, and their diagonal stays.
      const Matrix2 right =
          leakage_ || !whole(block, fixed) ? Matrix2{1, 0, 0, 1} : gauge(matrix(block, fixed));
      s.chi2_before(block, 0) = fit_(block, 0);
      s.chi2_after(block, 0) = fit_(block, 1);
      s.n_samples(block, 0) = fit_(block, 2);
      s.noise(block, 0) = noise_[block];
      s.n_iterations(block, 0) = iterations_[block];
      s.converged(block, 0) = gains_.converged[block];
      for (std::size_t p = 0; p < n_antennas_; ++p) {
        Matrix2 j = multiply(matrix(block, p), right);
        if (p == fixed && !leakage_) {
          j[0] = j[0].real();
          if (sums_.layout().kind != SumKind::jones_general) j[3] = j[3].real();
        }
        for (std::size_t row = 0; row < 2; ++row)
          for (std::size_t c = 0; c < 2; ++c) {
            const std::size_t k = 2 * row + c;
            s.reason(block, p, k) = reason_(block, row, p);
            if (reason_(block, row, p) != FlagReason::none) continue;
            solved.fitted(block, p, k) = j[k];
            s.value(block, p, k) = j[k];
            // A leakage's diagonal is given: it takes the weight of what stands beside it.
            const double information = gains_.row_information(block, p, row, leakage_ ? 1 - row : c);
            const double sigma = noise_[block] / std::sqrt(2 * information);
            s.sigma(block, p, k) = leakage_ && row == c ? 0 : sigma;
            s.snr(block, p, k) = static_cast<float>(snr(block, p, row));
            s.weight(block, p, k) = static_cast<float>(std::clamp(1 / (sigma * sigma), 1e-30, 1e30));
          }
      }
    }
    return solved;
  }

  const CalibrationSums& sums_;
  const SolveSettings& settings_;
  bool leakage_;
  std::size_t n_antennas_, n_blocks_, n_elements_, n_own_;
  JonesGains gains_;
  Buffer<FlagReason, 3> reason_;  ///< [block][row][antenna]
  std::vector<std::uint32_t> iterations_;
  Buffer<double, 2> fit_;  ///< [block][chi^2 before, after, samples]
  std::vector<double> noise_;
};

}  // namespace

SolvedSlot solve_jones_term(const CalibrationSums& sums, const SolveSettings& settings,
                            ExcludedSolutions excluded, const SlotSolutions* start) {
  JonesTerm term(sums, settings);
  term.exclude(excluded);
  return term.solve(start);
}

}  // namespace apsyn
