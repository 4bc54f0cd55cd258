// SPDX-License-Identifier: GPL-3.0-or-later
// Gains, phases and amplitudes of one slot: solve, flag what has too little signal, solve the rest again.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/connections.h"
#include "kernels/calibrate/diagonal/diagonal_gains.h"
#include "kernels/calibrate/diagonal/step.h"
#include "kernels/calibrate/solve_slot.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kFlagRounds = 10;

/// Cross hands of an antenna's receptors: what their gains would be, were they exchanged.
struct CrossGains {
  Buffer<double, 3> signal;        ///< [monitored block][antenna][hand] |sum A g_q|^2 / sum S |g_q|^2
  Buffer<double, 3> information;   ///< sum S |g_q|^2
  std::vector<std::size_t> block;  ///< [monitored block] of the slot
};

class DiagonalTerm {
 public:
  DiagonalTerm(const SlotCells& slot, const CalibrationSums& sums, View<const float, 2> row_weight,
               const SolveSettings& settings, SlotMemory& memory)
      : slot_(slot),
        sums_(sums),
        row_weight_(row_weight),
        settings_(settings),
        memory_(memory),
        n_antennas_(sums.layout().n_antennas),
        n_hands_(sums.layout().n_polarisations()),
        n_values_(n_values(settings.term, n_hands_)),
        n_merged_(n_hands_ / n_values_),
        problem_(make_problem(sums, n_merged_, settings.n_threads, std::move(memory.problem))) {
    own_.unit = settings.term == CalibrationTerm::phase || settings.term == CalibrationTerm::scalar_phase;
    own_.tolerance = settings.tolerance;
    own_.max_iterations = settings.max_iterations;
    gains_.resize(problem_.n_lanes, n_antennas_);
    reason_.resize({problem_.n_lanes, n_antennas_});
    noise_.assign(problem_.n_lanes, 0);
    iterations_.assign(problem_.n_lanes, 0);
    polished_.assign(problem_.n_lanes, 0);
    fit_.resize({problem_.n_lanes, 4});
  }
  ~DiagonalTerm() { memory_.problem = std::move(problem_.sums); }
  DiagonalTerm(const DiagonalTerm&) = delete;
  DiagonalTerm& operator=(const DiagonalTerm&) = delete;

  void exclude(ExcludedSolutions excluded) {
    if (excluded.size() == 0) return;
    for (std::size_t lane = 0; lane < problem_.n_lanes; ++lane)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        reason_(lane, p) = excluded(lane / n_values_, p, lane % n_values_);
  }

  void begin_at(const SlotSolutions* start) {
    if (start == nullptr || start->n_blocks != sums_.layout().n_blocks || start->n_values != n_values_ ||
        start->n_antennas != n_antennas_ || start->term != settings_.term ||
        settings_.term == CalibrationTerm::amplitude)
      return;
    for (std::size_t lane = 0; lane < problem_.n_lanes; ++lane)
      for (std::size_t p = 0; p < n_antennas_; ++p) {
        const std::complex<double> g = start->value(lane / n_values_, p, lane % n_values_);
        if (std::isfinite(g.real()) && std::isfinite(g.imag()) && std::abs(g) < 1e15)
          gains_.gain(lane, p) = g;
      }
  }

  SolvedSlot solve() {
    count_baselines();
    std::vector<std::uint8_t> open(problem_.n_groups(), 1);
    for (std::size_t round = 0; round < kFlagRounds; ++round) {
      of_groups([&](std::size_t group, std::size_t first, std::size_t end) {
        if (!open[group]) return;
        solve_group(problem_, group, own_, gains_);
        for (std::size_t lane = first; lane < end; ++lane)
          iterations_[lane] = std::max(iterations_[lane], gains_.n_iterations[lane]);
      });
      measure_noise();
      if (round + 1 == kFlagRounds) break;
      of_groups([&](std::size_t group, std::size_t first, std::size_t end) {
        open[group] = 0;
        for (std::size_t lane = first; lane < end; ++lane)
          if (flag_weak(lane)) open[group] = 1;
      });
      bool any = std::find(open.begin(), open.end(), std::uint8_t{1}) != open.end();
      if (round == 0) any |= flag_swapped(open);
      // What alternating directions have not finished, of lanes that have signal, is for Newton's method; its
      // gains may show that more are to be flagged.
      if (!any && !polish()) break;
    }
    return result();
  }

 private:
  /// Calls work(group, first lane, end of its lanes) for all groups. No lane needs anything of another
  /// group's.
  template <class Work>
  void of_groups(const Work& work) {
    parallel_for(settings_.n_threads, problem_.n_groups(), [&](std::size_t group, unsigned) {
      work(group, group * kLanes, std::min(problem_.n_lanes, (group + 1) * kLanes));
    });
  }

  std::size_t block_of(std::size_t lane) const { return lane / n_values_; }

  void leave_out_flagged(std::size_t lane) {
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (reason_(lane, p) != FlagReason::none && problem_.active(lane, p)) {
        leave_out(problem_, lane, p);
        gains_.gain(lane, p) = 0;
      }
  }

  void prune(std::size_t lane) {
    std::vector<std::uint8_t> linked(n_antennas_ * n_antennas_);
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q)
        linked[p * n_antennas_ + q] = linked[q * n_antennas_ + p] =
            problem_.sums(lane / kLanes, baseline_index(p, q, n_antennas_), 2, lane % kLanes) > 0;
    prune_antennas(linked, n_antennas_, settings_.min_baselines, own_.unit ? 1 : 2, &reason_(lane, 0));
    leave_out_flagged(lane);
  }

  /// Antennas with few baselines leave; lanes of which every antenna has most of its baselines need no closer
  /// look.
  void count_baselines() {
    of_groups([&](std::size_t group, std::size_t first, std::size_t end) {
      std::vector<std::uint32_t> count(n_antennas_ * kLanes);
      const float* b = problem_.sums.view()[group].data();
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t q = p + 1; q < n_antennas_; ++q, b += 3 * kLanes)
          for (std::size_t i = 0; i < kLanes; ++i) {
            const std::uint32_t one = b[2 * kLanes + i] > 0;
            count[p * kLanes + i] += one;
            count[q * kLanes + i] += one;
          }
      for (std::size_t lane = first; lane < end; ++lane) {
        bool doubtful = n_antennas_ < 2 * settings_.min_baselines + 2;
        for (std::size_t p = 0; p < n_antennas_; ++p)
          doubtful |=
              reason_(lane, p) != FlagReason::none || count[p * kLanes + lane % kLanes] <= n_antennas_ / 2;
        if (doubtful) {
          leave_out_flagged(lane);
          prune(lane);
        }
      }
    });
  }

  void measure_noise() {
    const SumLayout& layout = sums_.layout();
    fit_.fill(0);
    of_groups([&](std::size_t, std::size_t first_lane, std::size_t end_lane) {
      // Groups of the sums that hold the hands of this group's lanes.
      std::vector<double> gains(n_antennas_ * 2 * kLanes);
      double fit[4 * kLanes];
      const std::size_t first = first_lane * n_merged_;
      const std::size_t end = std::min(layout.n_lanes(), first + kLanes * n_merged_);
      for (std::size_t at = first; at < end; at += kLanes) {
        const std::size_t n = std::min(kLanes, end - at);
        std::fill(gains.begin(), gains.end(), 0.0);
        for (std::size_t p = 0; p < n_antennas_; ++p)
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t lane = (at + i) / n_merged_;
            if (!problem_.active(lane, p)) continue;
            gains[p * 2 * kLanes + i] = gains_.gain(lane, p).real();
            gains[(p * 2 + 1) * kLanes + i] = gains_.gain(lane, p).imag();
          }
        sum_fit(sums_.recent()[at / kLanes].data(), n_antennas_, gains.data(), n, fit, nullptr);
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t k = 0; k < 4; ++k) fit_((at + i) / n_merged_, k) += fit[k * kLanes + i];
      }
      for (std::size_t lane = first_lane; lane < end_lane; ++lane) {
        double n_active = 0;
        for (std::size_t p = 0; p < n_antennas_; ++p) n_active += problem_.active(lane, p);
        const double unknowns = own_.unit ? n_active - 1 : 2 * n_active - 1;
        noise_[lane] = noise_of(fit_(lane, 1), fit_(lane, 2), std::max(0.0, unknowns), fit_(lane, 3));
      }
    });
  }

  /// Whether a lane had not converged. Each gets one chance.
  bool polish() {
    std::vector<std::size_t> lanes;
    for (std::size_t lane = 0; lane < problem_.n_lanes; ++lane) {
      std::size_t n_active = 0;
      for (std::size_t p = 0; p < n_antennas_; ++p) n_active += problem_.active(lane, p);
      if (!gains_.converged[lane] && !polished_[lane] && n_active > 1) lanes.push_back(lane);
    }
    parallel_for(settings_.n_threads, lanes.size(), [&](std::size_t i, unsigned) {
      gains_.converged[lanes[i]] = polish_gains(problem_, lanes[i], own_, gains_);
    });
    for (const std::size_t lane : lanes) polished_[lane] = 1;
    return !lanes.empty();
  }

  double snr(std::size_t lane, std::size_t p) const {
    const double information = gains_.information(lane, p);
    if (!(information > 0) || !(noise_[lane] > 0)) return 0;
    return gains_.signal(lane, p) / std::sqrt(information) / noise_[lane];
  }

  /// Whether an antenna of the lane was flagged.
  bool flag_weak(std::size_t lane) {
    bool any = false;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!problem_.active(lane, p)) continue;
      const std::complex<double> g = gains_.gain(lane, p);
      if (!std::isfinite(g.real()) || !std::isfinite(g.imag())) {
        reason_(lane, p) = FlagReason::diverged;
      } else if (!(snr(lane, p) >= settings_.min_snr) || g == 0.0) {
        reason_(lane, p) = FlagReason::low_snr;
      } else {
        continue;
      }
      any = true;
    }
    if (any) {
      leave_out_flagged(lane);
      prune(lane);
    }
    return any;
  }

  CrossGains cross_gains() const {
    CrossGains cross;
    const SumLayout& layout = slot_.cells[0]->layout();
    const std::size_t n_monitored = layout.n_monitored(), group = layout.n_groups();
    cross.signal.resize({n_monitored, n_antennas_, 2});
    cross.information.resize({n_monitored, n_antennas_, 2});
    cross.block.resize(n_monitored);
    parallel_for(settings_.n_threads, n_monitored, [&](std::size_t m, unsigned) {
      const std::size_t cell_block = monitored_block(m, n_monitored, layout.n_blocks);
      const std::uint32_t block = slot_.block[cell_block];
      cross.block[m] = block;
      if (block == kNoBlock) return;
      std::vector<std::complex<double>> sum(n_antennas_ * 2);
      const auto gain = [&](std::size_t step, std::size_t p, std::size_t hand) -> std::complex<double> {
        std::complex<double> g = gains_.gain(block * n_values_ + hand % n_values_, p);
        if (slot_.known.empty() || slot_.known[step] == nullptr || slot_.known[step]->value.size() == 0)
          return g;
        const View<const std::complex<float>, 3> known = slot_.known[step]->value;
        g *= std::complex<double>(known(cell_block, p, std::min(hand, known.extent(2) - 1)));
        return std::isfinite(g.real()) && std::isfinite(g.imag()) ? g : 0;
      };
      for (std::size_t step = 0; step < slot_.cells.size(); ++step) {
        const CalibrationSums& cell = *slot_.cells[step];
        std::vector<std::complex<double>> g(n_antennas_ * 2);
        for (std::size_t p = 0; p < n_antennas_; ++p)
          for (std::size_t hand = 0; hand < 2; ++hand) g[2 * p + hand] = gain(step, p, hand);
        for (std::size_t p = 0; p < n_antennas_; ++p)
          for (std::size_t q = p + 1; q < n_antennas_; ++q)
            for (std::size_t a = 0; a < 2; ++a) {  // receptor a of p, the other one of q
              const std::size_t lane = 2 * m + a, b = baseline_index(p, q, n_antennas_);
              const auto at = [&](std::size_t c) {
                return cell.recent()(group, b, c, lane) +
                       (cell.promoted().size() > 0 ? cell.promoted()(group, b, c, lane) : 0.0);
              };
              const double weight = row_weight_.size() > 0 ? row_weight_(step, b) : 1.f;
              const std::complex<double> sum_a(weight * at(0), weight * at(1));
              const double s = weight * at(2);
              // Were p exchanged, its receptor a would have the signal of q's other one; and the other way
              // round.
              sum[2 * p + a] += sum_a * g[2 * q + 1 - a];
              cross.information(m, p, a) += s * std::norm(g[2 * q + 1 - a]);
              sum[2 * q + 1 - a] += std::conj(sum_a) * g[2 * p + a];
              cross.information(m, q, 1 - a) += s * std::norm(g[2 * p + a]);
            }
      }
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t hand = 0; hand < 2; ++hand)
          if (cross.information(m, p, hand) > 0)
            cross.signal(m, p, hand) = std::norm(sum[2 * p + hand]) / cross.information(m, p, hand);
    });
    return cross;
  }

  /// Flags exchanged receptors in all lanes: cross hands show at least 5 sigma, and four times the power of
  /// the parallel ones. Sets open groups; whether there are any.
  bool flag_swapped(std::vector<std::uint8_t>& open) {
    if (slot_.cells[0]->layout().n_monitored() == 0 || n_hands_ != 2) return false;
    const CrossGains cross = cross_gains();
    bool any = false;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      double of_cross = 0, of_parallel = 0, variance = 0, n = 0;
      for (std::size_t m = 0; m < cross.block.size(); ++m) {
        if (cross.block[m] == kNoBlock) continue;
        for (std::size_t hand = 0; hand < 2; ++hand) {
          const std::size_t lane = cross.block[m] * n_values_ + hand % n_values_;
          if (!(cross.information(m, p, hand) > 0) || !(noise_[lane] > 0)) continue;
          of_cross += cross.signal(m, p, hand);
          // Merged hands have twice the samples of one.
          const double information = gains_.information(lane, p) * static_cast<double>(n_values_) / 2;
          if (problem_.active(lane, p) && gains_.information(lane, p) > 0)
            of_parallel += gains_.signal(lane, p) * gains_.signal(lane, p) / gains_.information(lane, p) *
                           cross.information(m, p, hand) /
                           std::max(information, cross.information(m, p, hand));
          variance += noise_[lane] * noise_[lane];
          n += 1;
        }
      }
      if (n == 0 || !(of_cross > variance * (1 + 25 / std::sqrt(n))) || !(of_cross > 4 * of_parallel))
        continue;
      for (std::size_t lane = 0; lane < problem_.n_lanes; ++lane)
        if (const FlagReason old = reason_(lane, p); old == FlagReason::none || old == FlagReason::low_snr) {
          reason_(lane, p) = FlagReason::swapped;
          if (problem_.active(lane, p)) {
            leave_out_flagged(lane);
            prune(lane);
            open[lane / kLanes] = 1;
            any = true;
          }
        }
    }
    return any;
  }

  /// The settings' antenna, or where it has no solution at all the one with the most signal.
  std::size_t reference() const {
    std::vector<double> total(n_antennas_);
    for (std::size_t lane = 0; lane < problem_.n_lanes; ++lane)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        if (problem_.active(lane, p)) {
          if (p == settings_.reference) return p;
          total[p] += std::min(snr(lane, p), 1e6) + 1;
        }
    const auto best = std::max_element(total.begin(), total.end());
    return *best > 0 ? static_cast<std::size_t>(best - total.begin()) : settings_.reference;
  }

  SolvedSlot result() {
    const SumLayout& layout = sums_.layout();
    SolvedSlot solved;
    solved.solution = empty_solution(settings_.term, layout.n_blocks, n_antennas_, n_values_, n_values_);
    SlotSolutions& s = solved.solution;
    s.reference = reference();
    solved.fitted.resize({layout.n_blocks, n_antennas_, n_hands_});
    of_groups([&](std::size_t, std::size_t first, std::size_t end) {
      for (std::size_t lane = first; lane < end; ++lane) write_lane(lane, solved);
    });
    return solved;
  }

  void write_lane(std::size_t lane, SolvedSlot& solved) const {
    SlotSolutions& s = solved.solution;
    const std::size_t block = block_of(lane), value = lane % n_values_;
    // A lane without the reference takes its phase from the antenna with the most signal.
    std::size_t zero = s.reference;
    if (!problem_.active(lane, zero))
      for (std::size_t p = 0; p < n_antennas_; ++p)
        if (problem_.active(lane, p) && (!problem_.active(lane, zero) || snr(lane, p) > snr(lane, zero)))
          zero = p;
    std::vector<double> exact;
    if (settings_.exact_errors) exact = fisher_errors(problem_, lane, own_, gains_, zero);
    const std::complex<double> at_zero = gains_.gain(lane, zero);
    const std::complex<double> turn = std::abs(at_zero) > 0 ? std::conj(at_zero) / std::abs(at_zero) : 1.0;
    s.chi2_before(block, value) = fit_(lane, 0);
    s.chi2_after(block, value) = fit_(lane, 1);
    s.n_samples(block, value) = fit_(lane, 2);
    s.noise(block, value) = noise_[lane];
    s.n_iterations(block, value) = iterations_[lane];
    s.converged(block, value) = gains_.converged[lane];
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      s.reason(block, p, value) = reason_(lane, p);
      if (reason_(lane, p) != FlagReason::none) continue;
      std::complex<double> g = gains_.gain(lane, p) * turn;
      if (p == zero) g = std::abs(g);
      for (std::size_t hand = 0; hand < n_merged_; ++hand) solved.fitted(block, p, value + hand) = g;
      if (settings_.term == CalibrationTerm::amplitude) g = std::abs(g);
      s.value(block, p, value) = g;
      const double sigma = settings_.exact_errors ? noise_[lane] * exact[p]
                                                  : noise_[lane] / std::sqrt(2 * gains_.information(lane, p));
      s.sigma(block, p, value) = sigma;
      s.snr(block, p, value) = static_cast<float>(snr(lane, p));
      s.weight(block, p, value) = weight_of(sigma);
    }
  }

  /// 1 / sigma^2 as a float that is neither 0 nor infinite.
  static float weight_of(double sigma) {
    return static_cast<float>(std::clamp(1 / (sigma * sigma), 1e-30, 1e30));
  }

  const SlotCells& slot_;
  const CalibrationSums& sums_;
  View<const float, 2> row_weight_;
  const SolveSettings& settings_;
  SlotMemory& memory_;
  std::size_t n_antennas_, n_hands_, n_values_, n_merged_;
  DiagonalProblem problem_;
  DiagonalSettings own_;
  DiagonalGains gains_;
  Buffer<FlagReason, 2> reason_;  ///< [lane][antenna]
  std::vector<double> noise_;     ///< [lane]
  std::vector<std::uint32_t> iterations_;
  std::vector<std::uint8_t> polished_;
  Buffer<double, 2> fit_;  ///< [lane][chi^2 before, after, samples, R]
};

}  // namespace

SolvedSlot solve_diagonal_term(const SlotCells& slot, const CalibrationSums& sums,
                               View<const float, 2> row_weight, const SolveSettings& settings,
                               ExcludedSolutions excluded, const SlotSolutions* start, SlotMemory& memory) {
  DiagonalTerm term(slot, sums, row_weight, settings, memory);
  term.exclude(excluded);
  term.begin_at(start);
  return term.solve();
}

}  // namespace apsyn
