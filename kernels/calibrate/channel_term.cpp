// SPDX-License-Identifier: GPL-3.0-or-later
// Delays and TEC of one slot: one or two numbers x of an antenna give its phases phi_c = sum_k b_kc x_k in
// all channels. The likelihood to be made greatest is L = sum_c sum_p<q Re(A_pq,c exp(-i (phi_p,c -
// phi_q,c))).
//
// 1. Phases of each channel for itself (diagonal.h).
// 2. A search over a grid for each antenna, over the phasors u_p,c = sum_q A_pq,c e_q,c: they first hold the
// others'
//    phases of the single channels, then those of their models, which are of far less noise.
// 3. Gauss-Newton steps in all antennas' numbers at once; then the search again, from the others' best
// phases, for an
//    antenna that has gone to a wrong maximum.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/calibrate/cholesky.h"
#include "kernels/calibrate/connections.h"
#include "kernels/calibrate/diagonal.h"
#include "kernels/calibrate/phase_step.h"
#include "kernels/calibrate/solve_slot.h"
#include "kernels/common/math/fft.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr std::size_t kFlagRounds = 6;
constexpr double kDefaultMaxTec_tecu = 0.5;

Complex multiply_conj(Complex a, Complex b) {  // a conj(b)
  return {a.real() * b.real() + a.imag() * b.imag(), a.imag() * b.real() - a.real() * b.imag()};
}

Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// The numbers of an antenna: of a delay (delay, phase at the mean frequency), of TEC (TEC), of both (TEC,
/// delay).
using Numbers = std::array<double, 2>;

/// What a term's phases are made of, and where its numbers are looked for.
class PhaseModel {
 public:
  PhaseModel(CalibrationTerm term, std::span<const double> freq_hz, const SolveSettings& settings)
      : term_(term), freq_hz_(freq_hz.begin(), freq_hz.end()) {
    n_numbers_ = term == CalibrationTerm::tec ? 1 : 2;
    const auto [low, high] = std::minmax_element(freq_hz_.begin(), freq_hz_.end());
    low_hz_ = *low;
    span_hz_ = *high - *low;
    for (const double f : freq_hz_) mean_hz_ += f / static_cast<double>(freq_hz_.size());
    std::vector<double> sorted = freq_hz_;
    std::sort(sorted.begin(), sorted.end());
    spacing_hz_ = span_hz_;
    for (std::size_t c = 1; c < sorted.size(); ++c)
      if (sorted[c] > sorted[c - 1]) spacing_hz_ = std::min(spacing_hz_, sorted[c] - sorted[c - 1]);
    for (const double f : freq_hz_) {
      Numbers b{};
      if (term == CalibrationTerm::delay) b = {kTwoPi * (f - mean_hz_), 1};
      if (term == CalibrationTerm::tec) b = {-kTecPhase / f, 0};
      if (term == CalibrationTerm::tec_delay) b = {-kTecPhase / f, kTwoPi * f};
      slope_.push_back(b);
    }
    max_tec_ = settings.max_tec_tecu > 0 ? settings.max_tec_tecu : kDefaultMaxTec_tecu;
    // Steps of 0.3 rad at the lowest frequency.
    tec_step_ = 0.3 * low_hz_ / kTecPhase;
    max_delay_s_ = spacing_hz_ > 0 ? 0.5 / spacing_hz_ : 0;
    if (settings.max_delay_s > 0) max_delay_s_ = std::min(max_delay_s_, settings.max_delay_s);
    if (term != CalibrationTerm::tec && span_hz_ > 0) {
      // The transform over frequency has a bin for each spacing; frequencies that are no multiples of it get
      // finer bins.
      double off = 0;
      for (const double f : freq_hz_) {
        const double k = (f - low_hz_) / spacing_hz_;
        off = std::max(off, std::abs(k - std::round(k)));
      }
      bin_hz_ = off < 0.05 ? spacing_hz_ : spacing_hz_ / 8;
      const double wanted = 4 * (span_hz_ / bin_hz_ + 1);
      n_bins_ = fast_fft_length(static_cast<std::size_t>(std::min(wanted, 4e6)));
      if (wanted > 4e6) bin_hz_ = 4 * span_hz_ / 4e6;
      fft_ = std::make_unique<ComplexFft<double>>(n_bins_, 1, FftSign::minus);
    }
  }

  std::size_t n_numbers() const { return n_numbers_; }
  const Numbers& slope(std::size_t c) const { return slope_[c]; }
  double mean_hz() const { return mean_hz_; }
  double phase(std::size_t c, const Numbers& x) const { return slope_[c][0] * x[0] + slope_[c][1] * x[1]; }
  /// Independent trials of the search.
  double n_trials() const {
    const double of_tec =
        term_ == CalibrationTerm::delay ? 1 : std::max(1.0, 2 * max_tec_ * kTecPhase / low_hz_ / 3);
    const double of_delay = term_ == CalibrationTerm::tec ? 1 : std::max(1.0, 2 * max_delay_s_ * span_hz_);
    return of_tec * of_delay;
  }

  /// Re sum_c u_c exp(-i phi_c), of a delay with its best phase.
  double objective(const std::vector<Complex>& u, Numbers& x) const {
    Complex sum = 0;
    if (term_ == CalibrationTerm::delay) x[1] = 0;
    for (std::size_t c = 0; c < u.size(); ++c) sum += times(u[c], std::polar(1.0, -phase(c, x)));
    if (term_ != CalibrationTerm::delay) return sum.real();
    x[1] = std::arg(sum);
    return std::abs(sum);
  }

  /// The numbers of the greatest objective.
  Numbers search(const std::vector<Complex>& u) const {
    if (term_ == CalibrationTerm::tec) return refine(u, search_tec(u));
    if (term_ == CalibrationTerm::delay) return refine(u, search_delay(u));
    return search_both(u);
  }

 private:
  Numbers search_tec(const std::vector<Complex>& u) const {
    // From one TEC of the grid to the next, each channel's phasor turns by the same angle.
    const auto n = static_cast<long>(std::ceil(max_tec_ / tec_step_));
    const std::size_t n_channels = u.size();
    std::vector<double> re(n_channels), im(n_channels), turn_re(n_channels), turn_im(n_channels);
    for (std::size_t c = 0; c < n_channels; ++c) {
      const Complex first = times(u[c], std::polar(1.0, -slope_[c][0] * -static_cast<double>(n) * tec_step_));
      const Complex turn = std::polar(1.0, -slope_[c][0] * tec_step_);
      re[c] = first.real();
      im[c] = first.imag();
      turn_re[c] = turn.real();
      turn_im[c] = turn.imag();
    }
    Numbers best{};
    double greatest = -1e300;
    for (long k = -n; k <= n; ++k) {
      double sum = 0;
      for (std::size_t c = 0; c < n_channels; ++c) sum += re[c];
      for (std::size_t c = 0; c < n_channels; ++c) {
        const double next = re[c] * turn_re[c] - im[c] * turn_im[c];
        im[c] = re[c] * turn_im[c] + im[c] * turn_re[c];
        re[c] = next;
      }
      if (sum > greatest) {
        greatest = sum;
        best = {static_cast<double>(k) * tec_step_, 0};
      }
    }
    return best;
  }

  /// Spectrum over delays of phasors u_c exp(i turn_c), [bin].
  void transform(const std::vector<Complex>& u, double tec, Buffer<Complex, 1>& bins) const {
    bins.resize({n_bins_});
    for (std::size_t c = 0; c < u.size(); ++c) {
      const auto bin = static_cast<std::size_t>(std::lround((freq_hz_[c] - low_hz_) / bin_hz_)) % n_bins_;
      bins(bin) += tec == 0 ? u[c] : times(u[c], std::polar(1.0, kTecPhase * tec / freq_hz_[c]));
    }
    fft_->execute(bins.data());
  }

  double delay_of(std::size_t bin) const {
    const double k = bin <= n_bins_ / 2 ? static_cast<double>(bin)
                                        : static_cast<double>(bin) - static_cast<double>(n_bins_);
    return k / (static_cast<double>(n_bins_) * bin_hz_);
  }

  Numbers search_delay(const std::vector<Complex>& u) const {
    if (!fft_) return {};
    Buffer<Complex, 1> bins;
    transform(u, 0, bins);
    Numbers best{};
    double greatest = -1;
    for (std::size_t k = 0; k < n_bins_; ++k)
      if (const double tau = delay_of(k), value = std::abs(bins(k));
          std::abs(tau) <= max_delay_s_ && value > greatest) {
        greatest = value;
        best = {tau, 0};
      }
    return best;
  }

  /// The best ones of a grid in TEC and delay by modulus, from which the phase itself chooses: it turns once
  /// while the delay changes by the period of the carrier.
  Numbers search_both(const std::vector<Complex>& u) const {
    struct Candidate {
      double value, tec, delay;
    };
    std::vector<Candidate> found;
    Buffer<Complex, 1> bins;
    // Without the delay that it resembles, TEC shows by the curvature alone: its steps may be wider.
    const double step = std::max(tec_step_, 0.5 * tec_step_ * low_hz_ / std::max(span_hz_, 1.0));
    const auto n = static_cast<long>(std::ceil(max_tec_ / step));
    for (long k = -n; k <= n; ++k) {
      const double tec = static_cast<double>(k) * step;
      transform(u, tec, bins);
      for (std::size_t bin = 0; bin < n_bins_; ++bin)
        if (const double tau = delay_of(bin); std::abs(tau) <= max_delay_s_)
          found.push_back({std::abs(bins(bin)), tec, tau});
      std::partial_sort(
          found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(24, found.size())),
          found.end(), [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
      if (found.size() > 24) found.resize(24);
    }
    Numbers best{};
    double greatest = -1e300;
    const double width = 1.0 / static_cast<double>(n_bins_) / bin_hz_;
    for (const Candidate& candidate : found) {
      const double fine = 0.08 / mean_hz_;
      const auto n_fine = static_cast<long>(std::ceil(width / fine));
      for (long k = -n_fine; k <= n_fine; ++k) {
        Numbers x = {candidate.tec, candidate.delay + static_cast<double>(k) * fine};
        if (objective(u, x) < 0.5 * candidate.value) continue;
        x = refine(u, x);
        if (const double value = objective(u, x); value > greatest) {
          greatest = value;
          best = x;
        }
      }
    }
    return best;
  }

  /// A few Gauss-Newton steps of one antenna against known others.
  Numbers refine(const std::vector<Complex>& u, Numbers x) const {
    double now = objective(u, x);
    double scale = 1;
    for (int iteration = 0; iteration < 12; ++iteration) {
      double g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0;
      for (std::size_t c = 0; c < u.size(); ++c) {
        const Complex turned = times(u[c], std::polar(1.0, -phase(c, x)));
        const Numbers& b = slope_[c];
        const double weight = std::abs(u[c]);
        g0 += b[0] * turned.imag();
        g1 += b[1] * turned.imag();
        h00 += b[0] * b[0] * weight;
        h01 += b[0] * b[1] * weight;
        h11 += b[1] * b[1] * weight;
      }
      Numbers step{};
      if (n_numbers_ == 1) {
        step[0] = h00 > 0 ? g0 / h00 : 0;
      } else {
        const double det = h00 * h11 - h01 * h01;
        if (!(det > 1e-14 * h00 * h11)) break;
        step = {(g0 * h11 - g1 * h01) / det, (g1 * h00 - g0 * h01) / det};
      }
      Numbers trial = {x[0] + scale * step[0], x[1] + scale * step[1]};
      const double value = objective(u, trial);
      if (value > now) {
        const bool done = value - now < 1e-12 * value;
        now = value;
        x = trial;
        scale = std::min(1.0, 2 * scale);
        if (done) break;
      } else {
        scale /= 4;
      }
    }
    return x;
  }

  CalibrationTerm term_;
  std::vector<double> freq_hz_;
  std::vector<Numbers> slope_;
  std::size_t n_numbers_ = 1, n_bins_ = 0;
  double low_hz_ = 0, span_hz_ = 0, mean_hz_ = 0, spacing_hz_ = 0, bin_hz_ = 0;
  double max_tec_ = 0, tec_step_ = 0, max_delay_s_ = 0;
  std::unique_ptr<ComplexFft<double>> fft_;
};

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
  double scale(std::size_t p) const { return scale_[p]; }
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
      const Numbers origin = numbers_[reference_];
      for (Numbers& x : numbers_) x = {x[0] - origin[0], x[1] - origin[1]};
      for (std::size_t pass = 0; pass < 4; ++pass) {
        newton();
        if (!search_again()) break;
      }
      measure();
      if (!flag_weak()) break;
      prune();
    }
  }

 private:
  bool active(std::size_t p) const { return reason_[p] == FlagReason::none; }
  std::size_t lane(std::size_t c) const { return c * n_hands_ + hand_; }

  void prune() {
    std::vector<std::uint8_t> linked(n_antennas_ * n_antennas_);
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t q = p + 1; q < n_antennas_; ++q) {
          const float* own = &problem_.sums(group, baseline_index(p, q, n_antennas_), 2, 0);
          bool any = false;
          for_channels(group, [&](std::size_t i, std::size_t) { any |= own[i] > 0; });
          if (any) linked[p * n_antennas_ + q] = linked[q * n_antennas_ + p] = 1;
        }
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

  /// Calls use(i, c) for the channels of a group of lanes.
  template <class Use>
  void for_channels(std::size_t group, Use use) const {
    for (std::size_t i = 0; i < kLanes && group * kLanes + i < problem_.n_lanes; ++i)
      if ((group * kLanes + i) % n_hands_ == hand_) use(i, (group * kLanes + i) / n_hands_);
  }

  /// Phasors of an antenna: the sum over the others of A_pq,c times their phasors.
  void phasors(std::size_t p, const std::vector<Complex>& others, std::vector<Complex>& u) const {
    u.assign(n_channels_, 0);
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      for (std::size_t q = 0; q < n_antennas_; ++q) {
        if (q == p || !active(q)) continue;
        const double scale = scale_[p] * scale_[q], sign = q < p ? -scale : scale;
        const float* own = &problem_.sums(group, baseline_index(std::min(p, q), std::max(p, q), n_antennas_), 0, 0);
        for_channels(group, [&](std::size_t i, std::size_t c) {
          u[c] += times({scale * own[i], sign * own[kLanes + i]}, others[q * n_channels_ + c]);
        });
      }
  }

  /// Of each antenna sum_q S_pq a_q^2 over active ones and channels; a = 1 or the amplitudes found.
  std::vector<double> informations(bool scaled) const {
    std::vector<double> sum(n_antennas_);
    for (std::size_t group = 0; group < problem_.n_groups(); ++group)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t q = p + 1; q < n_antennas_; ++q) {
          if (!active(p) || !active(q)) continue;
          const float* own = &problem_.sums(group, baseline_index(p, q, n_antennas_), 2, 0);
          double s = 0;
          for_channels(group, [&](std::size_t i, std::size_t) { s += own[i]; });
          sum[p] += s * (scaled ? scale_[q] * scale_[q] : 1);
          sum[q] += s * (scaled ? scale_[p] * scale_[p] : 1);
        }
    return sum;
  }

  std::vector<Complex> model_phasors() const {
    std::vector<Complex> e(n_antennas_ * n_channels_);
    for (std::size_t p = 0; p < n_antennas_; ++p)
      if (active(p))
        for (std::size_t c = 0; c < n_channels_; ++c)
          e[p * n_channels_ + c] = std::polar(1.0, model_.phase(c, numbers_[p]));
    return e;
  }

  void search_from(const DiagonalGains& phases) {
    // Channels in which the reference has no phase cannot be joined to the others.
    std::vector<Complex> u(n_channels_);
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p) || p == reference_) continue;
      for (std::size_t c = 0; c < n_channels_; ++c) {
        const Complex own = phases.gain(lane(c), p), zero = phases.gain(lane(c), reference_);
        u[c] = phases.signal(lane(c), p) * multiply_conj(own, zero);
        if (!std::isfinite(std::abs(u[c]))) u[c] = 0;
      }
      numbers_[p] = model_.search(u);
    }
    numbers_[reference_] = {0, 0};
    search_again();
  }

  void begin_at(const SlotSolutions& start) {
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (start.term == CalibrationTerm::delay) {
        const double tau = start.value(0, p, hand_).real();
        if (!std::isfinite(tau)) continue;
        numbers_[p] = {tau, std::remainder(kTwoPi * model_.mean_hz() * tau + start.phase_rad(p, hand_), kTwoPi)};
      } else {
        for (std::size_t k = 0; k < model_.n_numbers(); ++k)
          if (const double x = start.value(0, p, k).real(); std::isfinite(x)) numbers_[p][k] = x;
      }
    }
    search_again();
  }

  /// Amplitudes that the data have, which weigh the baselines.
  void find_amplitudes() {
    const std::vector<Complex> e = model_phasors();
    std::vector<Complex> u;
    std::vector<double> ratio(n_antennas_);
    const std::vector<double> information = informations(false);
    double mean = 0, n = 0;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p)) continue;
      phasors(p, e, u);
      Numbers x = numbers_[p];
      ratio[p] = information[p] > 0 ? std::max(0.0, model_.objective(u, x) / information[p]) : 0;
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
  bool move(std::size_t p, const std::vector<Complex>& u, std::vector<Complex>& e) {
    Numbers old = numbers_[p];
    const double phase_before = old[1];
    const double now = plain_objective(u, old);
    Numbers found = model_.search(u);
    const double then = model_.objective(u, found);
    old[1] = phase_before;
    if (!(then > now + 1e-6 * std::abs(now))) return false;
    double largest = 0;
    for (std::size_t c = 0; c < n_channels_; ++c) {
      const double turn = model_.phase(c, found) - model_.phase(c, old);
      largest = std::max(largest, std::abs(std::remainder(turn, kTwoPi)));
    }
    numbers_[p] = found;
    for (std::size_t c = 0; c < n_channels_; ++c)
      e[p * n_channels_ + c] = std::polar(1.0, model_.phase(c, found));
    return largest > 1;
  }

  double plain_objective(const std::vector<Complex>& u, const Numbers& x) const {
    double sum = 0;
    for (std::size_t c = 0; c < u.size(); ++c)
      sum += times(u[c], std::polar(1.0, -model_.phase(c, x))).real();
    return sum;
  }

  bool search_again() {
    std::vector<Complex> e = model_phasors(), u;
    bool moved = false;
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      if (!active(p) || p == reference_) continue;
      phasors(p, e, u);
      moved |= move(p, u, e);
    }
    return moved;
  }

  /// Sums over the channels of all baselines, [baseline][kPhaseSums].
  std::vector<double> sums_at(const std::vector<Numbers>& numbers, bool observed) const {
    std::vector<double> sums(n_antennas_ * (n_antennas_ - 1) / 2 * kPhaseSums), e(n_antennas_ * 2 * kLanes);
    for (std::size_t group = 0; group < problem_.n_groups(); ++group) {
      double slopes[2 * kLanes] = {}, use[kLanes] = {};
      std::fill(e.begin(), e.end(), 0.0);
      for_channels(group, [&](std::size_t i, std::size_t c) {
        use[i] = 1;
        for (std::size_t k = 0; k < 2; ++k) slopes[k * kLanes + i] = model_.slope(c)[k];
        for (std::size_t p = 0; p < n_antennas_; ++p) {
          if (!active(p)) continue;
          const Complex phasor = std::polar(scale_[p], model_.phase(c, numbers[p]));
          e[p * 2 * kLanes + i] = phasor.real();
          e[(p * 2 + 1) * kLanes + i] = phasor.imag();
        }
      });
      phase_sums(&problem_.sums(group, 0, 0, 0), n_antennas_, e.data(), slopes, use, observed, sums.data());
    }
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
    before_ = after_ = n_samples_ = 0;
    double power = 0;
    const std::vector<Complex> e = model_phasors();
    const std::size_t n_merged = sums_.layout().n_polarisations() / n_hands_;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q) {
        if (!active(p) || !active(q)) continue;
        const std::size_t b = baseline_index(p, q, n_antennas_);
        const double scale = scale_[p] * scale_[q];
        for (std::size_t c = 0; c < n_channels_; ++c) {
          const Complex m = scale * multiply_conj(e[p * n_channels_ + c], e[q * n_channels_ + c]);
          for (std::size_t own = 0; own < n_merged; ++own) {
            const std::size_t l = lane(c) * n_merged + own;
            const float* v = &sums_.recent()(l / kLanes, b, 0, l % kLanes);
            const double a_re = v[0], a_im = v[kLanes], s = v[2 * kLanes], r = v[3 * kLanes];
            before_ += r - 2 * a_re + s;
            after_ += r - 2 * (m.real() * a_re + m.imag() * a_im) + std::norm(m) * s;
            n_samples_ += v[4 * kLanes];
            power += r;
          }
        }
      }
    noise_ = noise_of(after_, n_samples_, 0, power);
    std::vector<Complex> u;
    const std::vector<double> information = informations(true);
    for (std::size_t p = 0; p < n_antennas_; ++p) {
      snr_[p] = 0;
      if (!active(p) || !(noise_ > 0)) continue;
      phasors(p, e, u);
      if (information[p] > 0)
        snr_[p] = plain_objective(u, numbers_[p]) / scale_[p] / std::sqrt(information[p]) / noise_;
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
                              const SlotSolutions* start) {
  const SumLayout& layout = sums.layout();
  const std::size_t n = layout.n_antennas, n_polarisations = layout.n_polarisations();
  const bool delay = settings.term == CalibrationTerm::delay;
  const std::size_t n_hands = delay ? n_polarisations : 1;
  const std::size_t n_own = n_values(settings.term, n_polarisations);
  DiagonalProblem problem = make_problem(sums, n_polarisations / n_hands);
  if (start != nullptr && (start->term != settings.term || start->n_antennas != n || start->n_values != n_own)) start = nullptr;
  DiagonalGains phases;
  if (start == nullptr) {
    phases.resize(problem.n_lanes, n);
    // Phases alone, to the precision that a search needs.
    parallel_for(settings.n_threads, problem.n_groups(), [&](std::size_t group, unsigned) {
      solve_group(problem, group, {true, 1e-3, 40, false}, phases);
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
  parallel_for(settings.n_threads, n_hands, [&](std::size_t hand, unsigned) { fits[hand].solve(start == nullptr ? &phases : nullptr, start); });

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
          solved.fitted(c, p, delay ? hand : own) = std::polar(fit.scale(p), model.phase(c, fit.numbers(p)));
    }
  }
  return solved;
}

}  // namespace apsyn
