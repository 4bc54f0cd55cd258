// SPDX-License-Identifier: GPL-3.0-or-later
// Delays and TEC of one slot: one or two numbers x of an antenna give its phases phi_c = sum_k b_kc x_k in
// all channels. The likelihood to be made greatest is L = sum_c sum_p<q Re(A_pq,c exp(-i (phi_p,c -
// phi_q,c))). First the phases of each channel are found for itself (diagonal_gains.h); then numbers are
// searched for, antenna by antenna, over the phasors u_p,c = sum_q A_pq,c e_q,c, which first hold the others'
// phases of single channels, then those of their models, which are of far less noise; Newton steps in all
// antennas' numbers follow; then the search again, for an antenna that has gone to a wrong maximum.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/calibrate/cholesky.h"
#include "kernels/calibrate/connections.h"
#include "kernels/calibrate/diagonal/diagonal_gains.h"
#include "kernels/calibrate/diagonal/step.h"
#include "kernels/calibrate/phases/phase_model.h"
#include "kernels/calibrate/phases/step.h"
#include "kernels/calibrate/solve_slot.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr std::size_t kFlagRounds = 6;

/// One hand (or both as one) of all antennas.
class ChannelFit {
 public:
  /// Lanes of the problem: block c is lane c * n_hands + hand.
  ChannelFit(const DiagonalProblem& problem, const CalibrationSums& sums, const PhaseModel& model,
             const SolveSettings& settings, std::size_t n_hands, std::size_t hand)
      : problem_(problem),
        sums_(sums),
        model_(model),
        settings_(settings),
        n_hands_(n_hands),
        hand_(hand),
        n_antennas_(problem.n_antennas),
        n_channels_(problem.n_lanes / n_hands) {
    const std::size_t n_groups = problem.n_groups();
    slopes_.assign(n_groups * 2 * kLanes, 0);
    use_.assign(n_groups * kLanes, 0);
    for (std::size_t c = 0; c < n_channels_; ++c) {
      const std::size_t group = lane(c) / kLanes, i = lane(c) % kLanes;
      use_[group * kLanes + i] = 1;
      for (std::size_t k = 0; k < 2; ++k) slopes_[(group * 2 + k) * kLanes + i] = model.slope(c)[k];
    }
    model_power_.assign(n_antennas_ * (n_antennas_ - 1) / 2, 0);
    for (std::size_t group = 0; group < n_groups; ++group)
      model_sums(problem.sums.view()[group].data(), model_power_.size(), use_.data() + group * kLanes,
                 model_power_.data());
    reason_.assign(n_antennas_, FlagReason::none);
    numbers_.assign(n_antennas_, Numbers{});
    scale_.assign(n_antennas_, 1);
    sigma_.assign(n_antennas_, {0, 0});
    snr_.assign(n_antennas_, 0);
  }

  std::vector<FlagReason>& reason() { return reason_; }
  const Numbers& numbers(std::size_t p) const { return numbers_[p]; }
  const Numbers& sigma(std::size_t p) const { return sigma_[p]; }
  double snr(std::size_t p) const { return snr_[p]; }
  /// What was fitted to a channel, the amplitude included.
  Complex fitted(std::size_t c, std::size_t p) const { return value_at(fitted_, c, p); }
  double noise() const { return noise_; }
  double chi2_before() const { return before_; }
  double chi2_after() const { return after_; }
  double n_samples() const { return n_samples_; }
  std::uint32_t n_iterations() const { return n_iterations_; }
  bool converged() const { return converged_; }
  std::size_t reference() const { return reference_; }

  /// From the phases of the single channels, or, where `phases` is null, from a former solution.
  void solve(const DiagonalGains* phases, const SlotSolutions* start) {
    prune();
    for (std::size_t round = 0; round < kFlagRounds; ++round) {
      if (std::count(reason_.begin(), reason_.end(), FlagReason::none) < 2) {
        // A single antenna has nothing to be compared with.
        std::replace(reason_.begin(), reason_.end(), FlagReason::none, FlagReason::few_baselines);
        measure();
        return;
      }
      choose_reference();
      if (round == 0) {
        if (phases != nullptr)
          search_from(*phases);
        else
          begin_at(*start);
        find_amplitudes();
      }
      refer_to_reference();
      for (std::size_t pass = 0; pass < 4; ++pass) {
        newton();
        if (!search_again(false)) break;
      }
      measure();
      if (!flag_weak()) break;
      prune();
    }
  }

 private:
  /// [group][antenna][re, im][kLanes]
  using Lanes = std::vector<double>;
  std::size_t of_group() const { return n_antennas_ * 2 * kLanes; }
  bool active(std::size_t p) const { return reason_[p] == FlagReason::none; }
  std::size_t lane(std::size_t c) const { return c * n_hands_ + hand_; }

  void prune() {
    std::vector<std::uint8_t> linked(n_antennas_ * n_antennas_);
    for (std::size_t p = 0, b = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q, ++b)
        if (model_power_[b] > 0) linked[p * n_antennas_ + q] = linked[q * n_antennas_ + p] = 1;
    prune_antennas(linked, n_antennas_, settings_.min_baselines, 1, reason_.data());
  }

  /// The settings' antenna, or where it has no solution the one with the most information.
  void choose_reference() {
    reference_ = settings_.reference;
    if (active(reference_)) return;
    const std::vector<double> information = informations(false);
    double most = -1;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (active(p) && information[p] > most) {
        most = information[p];
        reference_ = p;
      }
  }

  /// Phasors of numbers, times sizes [antenna].
  Lanes phasors_of(const std::vector<Numbers>& numbers, const std::vector<double>& sizes) const {
    Lanes e(problem_.n_groups() * of_group());
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      phase_phasors(n_antennas_, numbers[0].data(), sizes.data(), slopes_.data() + group * 2 * kLanes,
                    use_.data() + group * kLanes, 2 * kLanes, e.data() + group * of_group());
    return e;
  }

  /// 1 of active antennas, 0 of others.
  std::vector<double> active_sizes() const {
    std::vector<double> sizes(n_antennas_);
    for (std::size_t p = 0; p < n_antennas_; ++p) sizes[p] = active(p) ? 1 : 0;
    return sizes;
  }
  /// Their amplitudes.
  std::vector<double> active_scales() const {
    std::vector<double> sizes(n_antennas_);
    for (std::size_t p = 0; p < n_antennas_; ++p) sizes[p] = active(p) ? scale_[p] : 0;
    return sizes;
  }

  Complex value_at(const Lanes& e, std::size_t c, std::size_t p) const {
    const double* own = e.data() + lane(c) / kLanes * of_group() + 2 * p * kLanes + lane(c) % kLanes;
    return {own[0], own[kLanes]};
  }

  /// Phasors of an antenna: the sum over the others of A_pq,c times their phasors. `scales`: active_scales().
  void phasors(std::size_t p, const Lanes& others, const std::vector<double>& scales,
               std::vector<Complex>& u) const {
    u.assign(n_channels_, 0);
    double sums[2 * kLanes];
    for (std::size_t group = 0, c = 0; group < problem_.n_groups(); ++group) {
      antenna_sums(problem_.sums.view()[group].data(), n_antennas_, p, others.data() + group * of_group(),
                   scales.data(), sums);
      for (; c < n_channels_ && lane(c) < (group + 1) * kLanes; ++c)
        u[c] = {scale_[p] * sums[lane(c) % kLanes], scale_[p] * sums[kLanes + lane(c) % kLanes]};
    }
  }

  /// sum_c u_c conj(e_p,c).
  Complex product_with(const std::vector<Complex>& u, const Lanes& e, std::size_t p) const {
    Complex sum = 0;
    for (std::size_t c = 0; c < n_channels_; ++c) sum += times_conj(u[c], value_at(e, c, p));
    return sum;
  }

  /// Of each antenna sum_q S_pq a_q^2 over active ones and channels; a = 1 or the amplitudes found.
  std::vector<double> informations(bool scaled) const {
    std::vector<double> sum(n_antennas_);
    for (std::size_t p = 0, b = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q, ++b) {
        if (!active(p) || !active(q)) continue;
        sum[p] += model_power_[b] * (scaled ? scale_[q] * scale_[q] : 1);
        sum[q] += model_power_[b] * (scaled ? scale_[p] * scale_[p] : 1);
      }
    return sum;
  }

  void search_from(const DiagonalGains& phases) {
    // Channels in which the reference has no phase cannot be joined to the others.
    std::vector<Complex> u(n_channels_);
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p) || p == reference_) continue;
      for (std::size_t c = 0; c < n_channels_; ++c) {
        const Complex own = phases.gain(lane(c), p), zero = phases.gain(lane(c), reference_);
        u[c] = phases.signal(lane(c), p) * times_conj(own, zero);
        if (!std::isfinite(std::abs(u[c]))) u[c] = 0;
      }
      numbers_[p] = model_.search(u);
    }
    numbers_[reference_] = {0, 0};
    search_again(true);
  }

  void begin_at(const SlotSolutions& start) {
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (start.term == CalibrationTerm::delay) {
        const double tau = start.value(0, p, hand_).real();
        if (!std::isfinite(tau)) continue;
        numbers_[p] = {tau,
                       std::remainder(kTwoPi * model_.mean_hz() * tau + start.phase_rad(p, hand_), kTwoPi)};
      } else {
        for (std::size_t k = 0; k < model_.n_numbers(); ++k)
          if (const double x = start.value(0, p, k).real(); std::isfinite(x)) numbers_[p][k] = x;
      }
    }
    search_again(false);
  }

  /// Amplitudes that the data have, which weigh the baselines.
  void find_amplitudes() {
    const Lanes e = phasors_of(numbers_, active_sizes());
    const std::vector<double> scales = active_scales();
    std::vector<Complex> u;
    std::vector<double> ratio(n_antennas_);
    const std::vector<double> information = informations(false);
    double mean = 0, n = 0;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p)) continue;
      phasors(p, e, scales, u);
      const Complex sum = product_with(u, e, p);
      const double objective = model_.has_phase() ? std::abs(sum) : sum.real();
      ratio[p] = information[p] > 0 ? std::max(0.0, objective / information[p]) : 0;
      mean += ratio[p];
      n += 1;
    }
    // |V| over |M| is a_p a_q: its mean over q is a_p times the mean amplitude.
    mean = n > 0 ? std::sqrt(mean / n) : 1;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (active(p) && mean > 0) scale_[p] = std::max(1e-3 * mean, ratio[p] / mean);
  }

  /// Takes what the search finds, if it is better than what the antenna has. Returns whether by more than a
  /// step.
  bool move(std::size_t p, const std::vector<Complex>& u, Lanes& e, bool wide) {
    const Numbers old = numbers_[p], found = wide ? model_.search(u) : model_.search_beyond(u, old);
    if (found == old) return false;
    const double now = product_with(u, e, p).real(), then = plain_objective(u, found);
    if (!(then > now + 1e-6 * std::abs(now))) return false;
    double largest = 0;
    for (std::size_t c = 0; c < n_channels_; ++c) {
      const double turn = model_.phase(c, found) - model_.phase(c, old);
      largest = std::max(largest, std::abs(std::remainder(turn, kTwoPi)));
    }
    numbers_[p] = found;
    const double one = 1;
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      phase_phasors(1, found.data(), &one, slopes_.data() + group * 2 * kLanes, use_.data() + group * kLanes,
                    2 * kLanes, e.data() + group * of_group() + 2 * p * kLanes);
    return largest > 1;
  }

  double plain_objective(const std::vector<Complex>& u, const Numbers& x) const {
    double sum = 0;
    for (std::size_t c = 0; c < u.size(); ++c)
      sum += times(u[c], std::polar(1.0, -model_.phase(c, x))).real();
    return sum;
  }

  /// Every antenna against the others' models; `wide` looks at all numbers where that takes long, too. The
  /// reference antenna may have gone to a wrong maximum like any other: then all others differ from it by the
  /// same.
  bool search_again(bool wide) {
    Lanes e = phasors_of(numbers_, active_sizes());
    const std::vector<double> scales = active_scales();
    std::vector<Complex> u;
    bool moved = false;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p)) continue;
      phasors(p, e, scales, u);
      moved |= move(p, u, e, wide);
    }
    refer_to_reference();
    return moved;
  }

  void refer_to_reference() {
    const Numbers origin = numbers_[reference_];
    for (Numbers& x : numbers_) x = {x[0] - origin[0], x[1] - origin[1]};
  }

  /// Sums over the channels of all baselines, [baseline][kPhaseSums].
  std::vector<double> sums_at(const std::vector<Numbers>& numbers, bool observed) const {
    std::vector<double> sums(n_antennas_ * (n_antennas_ - 1) / 2 * kPhaseSums);
    const Lanes e = phasors_of(numbers, active_scales());
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      phase_sums(problem_.sums.view()[group].data(), n_antennas_, e.data() + group * of_group(),
                 slopes_.data() + group * 2 * kLanes, use_.data() + group * kLanes, observed, sums.data());
    return sums;
  }

  static double likelihood(const std::vector<double>& sums) {
    double value = 0;
    for (std::size_t i = 0; i < sums.size(); i += kPhaseSums) value += sums[i];
    return value;
  }

  /// Gauss-Newton steps with the expected weights, then, near the end, with those that the data show: their
  /// convergence is quadratic. A step that makes the likelihood less is halved.
  void newton() {
    std::vector<std::size_t> unknown;  // antennas but the reference
    std::vector<std::size_t> place(n_antennas_);
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (active(p) && p != reference_) {
        place[p] = unknown.size();
        unknown.push_back(p);
      }
    const std::size_t k = model_.n_numbers(), n = unknown.size() * k;
    converged_ = false;
    bool observed = false;
    std::vector<double> sums = sums_at(numbers_, observed);
    double now = likelihood(sums);
    for (std::uint32_t iteration = 0; iteration < 30; ++iteration) {
      std::vector<double> matrix(n * n), right(n);
      const double* own = sums.data();
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t q = p + 1; q < n_antennas_; ++q, own += kPhaseSums) {
          if (!active(p) || !active(q)) continue;
          const bool of_p = p != reference_, of_q = q != reference_;
          for (std::size_t i = 0; i < k; ++i) {
            if (of_p) right[place[p] * k + i] += own[1 + i];
            if (of_q) right[place[q] * k + i] -= own[1 + i];
            for (std::size_t j = 0; j < k; ++j) {
              const double h = own[3 + i + j];
              if (of_p) matrix[(place[p] * k + i) * n + place[p] * k + j] += h;
              if (of_q) matrix[(place[q] * k + i) * n + place[q] * k + j] += h;
              if (of_p && of_q) matrix[(place[q] * k + i) * n + place[p] * k + j] -= h;
            }
          }
        }
      // Units differ by many orders of magnitude: the diagonal becomes 1.
      std::vector<double> scale(n);
      bool positive = true;
      for (std::size_t i = 0; i < n; ++i) {
        positive &= matrix[i * n + i] > 0;
        scale[i] = matrix[i * n + i] > 0 ? 1 / std::sqrt(matrix[i * n + i]) : 0;
      }
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] *= scale[i] * scale[j];
      for (std::size_t i = 0; i < n; ++i) right[i] *= scale[i];
      const std::vector<double> gradient = right;
      const Cholesky cholesky(std::move(matrix), n);
      cholesky.solve(right.data());
      double decrement = 0;
      for (std::size_t i = 0; i < n; ++i) decrement += right[i] * gradient[i];
      if (observed && !(positive && decrement >= 0)) {
        observed = false;
        sums = sums_at(numbers_, observed);
        continue;
      }
      ++n_iterations_;
      converged_ = decrement <= 1e-10 * std::abs(now) + 1e-300;
      bool better = false;
      const bool next_observed = decrement < 1e-3 * std::abs(now);
      double factor = 1;
      for (int halving = 0; halving < 8 && !better && !converged_; ++halving, factor /= 2) {
        std::vector<Numbers> trial = numbers_;
        for (std::size_t i = 0; i < n; ++i) trial[unknown[i / k]][i % k] += factor * right[i] * scale[i];
        std::vector<double> trial_sums = sums_at(trial, next_observed);
        const double value = likelihood(trial_sums);
        if (value >= now) {
          better = true;
          now = value;
          numbers_ = std::move(trial);
          sums = std::move(trial_sums);
        }
      }
      if (better) {
        observed = next_observed;
        continue;
      }
      converged_ = converged_ || decrement <= 1e-6 * std::abs(now);
      const std::vector<double> variance = cholesky.inverse_diagonal();
      for (std::size_t i = 0; i < n; ++i)
        sigma_[unknown[i / k]][i % k] = std::sqrt(variance[i] / 2) * scale[i];
      break;
    }
    sigma_[reference_] = {0, 0};
  }

  /// chi^2 with the amplitudes found, and the S/N of each antenna's phasor.
  void measure() {
    const std::vector<double> scales = active_scales();
    fitted_ = phasors_of(numbers_, scales);
    // Lanes of the sums are those of the problem, or each of them n_merged times.
    const std::size_t n_merged = sums_.layout().n_polarisations() / n_hands_;
    double fit[4 * kLanes], total[4] = {};
    Lanes merged(n_merged > 1 ? of_group() : 0);
    for (std::size_t group = 0; group < sums_.layout().n_groups(); ++group) {
      for (std::size_t p = 0; p < n_antennas_ && n_merged > 1; ++p)
        for (std::size_t i = 0; i < kLanes; ++i) {
          const std::size_t own = (group * kLanes + i) / n_merged;
          const double* from = fitted_.data() + own / kLanes * of_group() + 2 * p * kLanes + own % kLanes;
          for (std::size_t part = 0; part < 2; ++part)
            merged[(2 * p + part) * kLanes + i] = own < problem_.n_lanes ? from[part * kLanes] : 0;
        }
      sum_fit(sums_.recent()[group].data(), n_antennas_,
              n_merged > 1 ? merged.data() : fitted_.data() + group * of_group(), kLanes, fit, nullptr);
      for (std::size_t i = 0; i < 4 * kLanes; ++i) total[i / kLanes] += fit[i];
    }
    before_ = total[0];
    after_ = total[1];
    n_samples_ = total[2];
    noise_ = noise_of(after_, n_samples_, 0, total[3]);
    const Lanes e = phasors_of(numbers_, active_sizes());
    std::vector<Complex> u;
    const std::vector<double> information = informations(true);
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      snr_[p] = 0;
      if (!active(p) || !(noise_ > 0)) continue;
      phasors(p, e, scales, u);
      if (information[p] > 0)
        snr_[p] = product_with(u, e, p).real() / scale_[p] / std::sqrt(information[p]) / noise_;
    }
  }

  /// The greatest of many trials is above min_snr more often than one.
  bool flag_weak() {
    if (!(settings_.min_snr > 0)) return false;
    const double least = std::sqrt(settings_.min_snr * settings_.min_snr + std::log(model_.n_trials()));
    bool any = false;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (active(p) && !(snr_[p] >= least)) {
        reason_[p] = FlagReason::low_snr;
        any = true;
      }
    return any;
  }

  const DiagonalProblem& problem_;
  const CalibrationSums& sums_;
  const PhaseModel& model_;
  const SolveSettings& settings_;
  std::size_t n_hands_, hand_, n_antennas_, n_channels_, reference_ = 0;
  std::vector<double> slopes_;       ///< [group][2][kLanes]
  std::vector<double> use_;          ///< [group][kLanes] 1 of the hand's channels, else 0
  std::vector<double> model_power_;  ///< [baseline] sum of S
  Lanes fitted_;                     ///< phasors and amplitudes, once they have been measured
  std::vector<FlagReason> reason_;
  std::vector<Numbers> numbers_, sigma_;
  std::vector<double> scale_, snr_;  ///< scale: amplitudes that the data have
  double noise_ = 0, before_ = 0, after_ = 0, n_samples_ = 0;
  std::uint32_t n_iterations_ = 0;
  bool converged_ = false;
};

}  // namespace

SolvedSlot solve_channel_term(const CalibrationSums& sums, std::span<const double> freq_hz,
                              const SolveSettings& settings, ExcludedSolutions excluded,
                              const SlotSolutions* start, SlotMemory& memory) {
  const SumLayout& layout = sums.layout();
  const std::size_t n = layout.n_antennas, n_polarisations = layout.n_polarisations();
  const bool delay = settings.term == CalibrationTerm::delay;
  const std::size_t n_hands = delay ? n_polarisations : 1;
  const std::size_t n_own = n_values(settings.term, n_polarisations);
  DiagonalProblem problem =
      make_problem(sums, n_polarisations / n_hands, settings.n_threads, std::move(memory.problem));
  if (start != nullptr &&
      (start->term != settings.term || start->n_antennas != n || start->n_values != n_own))
    start = nullptr;
  DiagonalGains phases;
  if (start == nullptr) {
    phases.resize(problem.n_lanes, n);
    // Phases alone, to the precision that a search needs.
    parallel_for(settings.n_threads, problem.n_groups(), [&](std::size_t group, unsigned) {
      solve_group(problem, group, {true, 1e-3, 40}, phases);
    });
  }
  const PhaseModel model(settings.term, freq_hz, settings);
  std::vector<ChannelFit> fits;
  for (std::size_t hand = 0; hand < n_hands; ++hand)
    fits.emplace_back(problem, sums, model, settings, n_hands, hand);
  if (excluded.size() > 0)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t value = 0; value < n_own; ++value)
        if (excluded(0, p, value) != FlagReason::none)
          fits[delay ? value : 0].reason()[p] = excluded(0, p, value);
  parallel_for(settings.n_threads, n_hands, [&](std::size_t hand, unsigned) {
    fits[hand].solve(start == nullptr ? &phases : nullptr, start);
  });

  SolvedSlot solved;
  solved.solution = empty_solution(settings.term, 1, n, n_own, n_hands);
  SlotSolutions& s = solved.solution;
  s.reference = fits[0].reference();
  solved.fitted.resize({layout.n_blocks, n, n_polarisations});
  for (std::size_t hand = 0; hand < n_hands; ++hand) {
    const ChannelFit& fit = fits[hand];
    s.chi2_before(0, hand) = fit.chi2_before();
    s.chi2_after(0, hand) = fit.chi2_after();
    s.n_samples(0, hand) = fit.n_samples();
    s.noise(0, hand) = fit.noise();
    s.n_iterations(0, hand) = fit.n_iterations();
    s.converged(0, hand) = fit.converged();
    for (std::size_t p = 0; p < n; ++p) {
      const FlagReason reason = fits[hand].reason()[p];
      for (std::size_t k = 0; k < (delay ? 1 : n_own); ++k) {
        const std::size_t value = delay ? hand : k;
        s.reason(0, p, value) = reason;
        if (reason != FlagReason::none) continue;
        s.value(0, p, value) = fit.numbers(p)[k];
        const double sigma = fit.sigma(p)[k] * fit.noise();
        s.sigma(0, p, value) = sigma;
        s.snr(0, p, value) = static_cast<float>(fit.snr(p));
        s.weight(0, p, value) =
            sigma > 0 ? static_cast<float>(std::clamp(1 / (sigma * sigma), 1e-30, 1e30)) : 1.f;
      }
      if (reason != FlagReason::none) continue;
      if (delay)
        s.phase_rad(p, hand) =
            std::remainder(fit.numbers(p)[1] - kTwoPi * model.mean_hz() * fit.numbers(p)[0], kTwoPi);
      for (std::size_t c = 0; c < layout.n_blocks; ++c)
        for (std::size_t own = 0; own < n_polarisations / n_hands; ++own)
          solved.fitted(c, p, delay ? hand : own) = fit.fitted(c, p);
    }
  }
  memory.problem = std::move(problem.sums);
  return solved;
}

}  // namespace apsyn
