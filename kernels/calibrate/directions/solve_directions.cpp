// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps over directions: what the sums of one direction would be if the others were not there, a_d - sum_e
// m_e C_ed, go to the solver of a single direction. Then, of terms that span channels, Gauss-Newton steps in
// all unknowns at once: with m_d = g_pd conj(g_qd), G_de = Re(m_d conj(m_e) C_de), slopes b and unknowns x of
// phases b x,
//   F_(pd)(pe) = sum b b^T G_de = F_(qd)(qe) = -F_(pd)(qe),
//   right side of pd: sum b Im(conj(m_d) (a_d - sum_e m_e C_ed)), of qd its negative.
// step.h has the passes over the baselines that all of this consists of.
#include "kernels/calibrate/directions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/cholesky.h"
#include "kernels/calibrate/directions/step.h"
#include "kernels/calibrate/phases/step.h"
#include "kernels/calibrate/solve_slot.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
constexpr double kTwoPi = 6.283185307179586476925286766559;

class DirectionSolver {
 public:
  DirectionSolver(const DirectionSums& sums, std::span<const double> freq_hz, const SolveSettings& settings)
      : sums_(sums),
        layout_(sums.layout()),
        freq_hz_(freq_hz),
        settings_(settings),
        n_antennas_(layout_.n_antennas),
        n_directions_(layout_.n_directions),
        n_blocks_(layout_.n_blocks),
        spans_(spans_channels(settings.term)),
        solutions_(n_directions_) {
    gains_.resize({layout_.n_groups(), n_antennas_, n_directions_, 2, kLanes});
    power_.resize({layout_.n_groups(), layout_.n_baselines(), kLanes});
    slopes_.resize({layout_.n_groups(), 2, kLanes});
    use_.resize({layout_.n_groups(), kLanes});
    for (std::size_t block = 0; block < n_blocks_; ++block) {
      const std::size_t group = block / kLanes, i = block % kLanes;
      use_(group, i) = 1;
      if (!spans_) continue;
      slopes_(group, 0, i) = -kTecPhase / freq_hz_[block];
      if (settings.term == CalibrationTerm::tec_delay) slopes_(group, 1, i) = kTwoPi * freq_hz_[block];
    }
    blocks_.resize(n_blocks_);
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    // Brightest first.
    order_.resize(n_directions_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::vector<double> flux(n_directions_);
    for (std::size_t group = 0; group < layout_.n_groups(); ++group)
      for (std::size_t b = 0; b < layout_.n_baselines(); ++b)
        for (std::size_t d = 0; d < n_directions_; ++d) {
          const float* own = &sums.sums()(group, b, own_component(d, n_directions_), 0);
          flux[d] = std::accumulate(own, own + kLanes, flux[d]);
        }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t d, std::size_t e) { return flux[d] > flux[e]; });
    SumLayout alone;
    alone.n_antennas = n_antennas_;
    alone.n_products = 1;
    alone.block = blocks_;
    alone.n_blocks = n_blocks_;
    alone_ = CalibrationSums(alone);
    measure(true);
  }

  void begin_at(std::span<const SlotSolutions> start) {
    for (std::size_t d = 0; d < n_directions_; ++d) {
      solutions_[d] = SlotSolutions{};
      copy_solution(start[d], solutions_[d]);
      set_gains(d);
    }
    measure(true);
    started_ = true;
  }

  void sweep(std::size_t n_sweeps) {
    const CalibrationSums* const cells[] = {&alone_};
    const SlotCells slot{cells, {}, blocks_, n_blocks_};
    for (std::size_t i = 0; i < n_sweeps; ++i)
      for (const std::size_t d : order_) {
        take_others_out(d);
        const bool known = i > 0 || started_;
        solutions_[d] = solve_slot(slot, freq_hz_, settings_, {}, known ? &solutions_[d] : nullptr);
        take_gains(d);
      }
  }

  /// Gauss-Newton steps in all unknowns; errors of all.
  void join() {
    const std::size_t k = settings_.term == CalibrationTerm::tec_delay ? 2 : 1;
    // Unknowns: [antenna][direction][number], of antennas with a solution but the direction's reference.
    std::vector<std::size_t> place(n_antennas_ * n_directions_, kNone);
    std::size_t n = 0;
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t d = 0; d < n_directions_; ++d)
        if (solutions_[d].reason(0, p, 0) == FlagReason::none && p != solutions_[d].reference) {
          place[p * n_directions_ + d] = n;
          n += k;
        }
    if (n == 0) return;
    Fit now = measure(false);
    for (int iteration = 0; iteration < 10; ++iteration) {
      std::vector<double> matrix(n * n), right(n);
      equations(place, k, n, matrix, right);
      std::vector<double> scale(n);
      for (std::size_t i = 0; i < n; ++i)
        scale[i] = matrix[i * n + i] > 0 ? 1 / std::sqrt(matrix[i * n + i]) : 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] *= scale[i] * scale[j];
      for (std::size_t i = 0; i < n; ++i) right[i] *= scale[i];
      const std::vector<double> gradient = right;
      const Cholesky cholesky(std::move(matrix), n);
      cholesky.solve(right.data());
      double decrement = 0;
      for (std::size_t i = 0; i < n; ++i) decrement += right[i] * gradient[i];
      bool better = false;
      const bool done =
          decrement <= 1e-4 * now.chi2 / std::max(1.0, now.n_samples);  // a hundredth of an error
      for (double factor = 1; factor > 0.1 && !better && !done; factor /= 2) {
        const auto step = [&](double by) {
          for (std::size_t p = 0; p < n_antennas_; ++p)
            for (std::size_t d = 0; d < n_directions_; ++d)
              if (const std::size_t at = place[p * n_directions_ + d]; at != kNone)
                for (std::size_t i = 0; i < k; ++i)
                  solutions_[d].value(0, p, i) += by * right[at + i] * scale[at + i];
          for (std::size_t d = 0; d < n_directions_; ++d) set_gains(d);
        };
        step(factor);
        const Fit trial = measure(false);
        better = trial.chi2 < now.chi2;
        if (better)
          now = trial;
        else
          step(-factor);
      }
      if (better) continue;
      const std::vector<double> variance = cholesky.inverse_diagonal();
      const double noise = noise_of(now.chi2, now.n_samples, static_cast<double>(n), now.chi2);
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t d = 0; d < n_directions_; ++d)
          if (const std::size_t at = place[p * n_directions_ + d]; at != kNone)
            for (std::size_t i = 0; i < k; ++i) {
              const double sigma = noise * std::sqrt(variance[at + i] / 2) * scale[at + i];
              solutions_[d].sigma(0, p, i) = sigma;
              solutions_[d].weight(0, p, i) =
                  static_cast<float>(std::clamp(1 / (sigma * sigma), 1e-30, 1e30));
            }
      break;
    }
  }

  double chi2() { return measure(false).chi2; }

  /// Whether the noise is that of the former slot, to five of its errors.
  bool fits_as(const SlotSolutions& former) {
    const auto [chi2, n_samples] = measure(false);
    const double noise = noise_of(chi2, n_samples, n_unknowns(), chi2), before = former.noise(0, 0);
    return n_samples > 0 && noise * noise < before * before * (1 + 5 * std::sqrt(2 / n_samples));
  }

  std::vector<SlotSolutions> take() {
    const auto [after, samples] = measure(false);
    // Unit gains where there are any now.
    for (std::size_t i = 0; i < gains_.size(); i += 2 * kLanes)
      for (std::size_t lane = i; lane < i + kLanes; ++lane) {
        const bool any = gains_.data()[lane] != 0 || gains_.data()[lane + kLanes] != 0;
        gains_.data()[lane] = any ? 1 : 0;
        gains_.data()[lane + kLanes] = 0;
      }
    const double before = measure(false).chi2;
    const double unknowns = n_unknowns();
    for (SlotSolutions& s : solutions_) {
      s.chi2_before.fill(before);
      s.chi2_after.fill(after);
      s.n_samples.fill(samples);
      s.noise.fill(noise_of(after, samples, unknowns, before));
    }
    return std::move(solutions_);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  static void copy_solution(const SlotSolutions& from, SlotSolutions& to) {
    to = empty_solution(from.term, from.n_blocks, from.n_antennas, from.n_values, from.noise.extent(1));
    to.reference = from.reference;
    std::copy(from.value.begin(), from.value.end(), to.value.begin());
    std::copy(from.reason.begin(), from.reason.end(), to.reason.begin());
    std::copy(from.weight.begin(), from.weight.end(), to.weight.begin());
  }

  double n_unknowns() const {
    double n = 0;
    for (const SlotSolutions& s : solutions_) n += static_cast<double>(s.reason.size() - s.n_flagged());
    return n;
  }

  /// chi^2 of the present gains and the number of samples.
  struct Fit {
    double chi2 = 0, n_samples = 0;
  };
  /// `keep`: chi^2 of each baseline and block, too, for the sweeps.
  Fit measure(bool keep) {
    std::vector<std::array<double, 2>> of_group(layout_.n_groups());
    parallel_for(settings_.n_threads, of_group.size(), [&](std::size_t group, unsigned) {
      of_group[group] = {};
      directions_fit(sums_.sums()[group].data(), n_antennas_, n_directions_, gains_.view()[group].data(),
                     keep ? power_.view()[group].data() : nullptr, of_group[group].data());
    });
    Fit fit;
    for (const auto& [chi2, n_samples] : of_group) fit = {fit.chi2 + chi2, fit.n_samples + n_samples};
    return fit;
  }

  /// Gains of a direction's solution, 0 where there is none.
  void set_gains(std::size_t d) {
    const SlotSolutions& s = solutions_[d];
    const std::size_t stride = n_directions_ * 2 * kLanes;
    if (spans_) {
      std::vector<double> numbers(2 * n_antennas_), sizes(n_antennas_);
      for (std::size_t p = 0; p < n_antennas_; ++p) {
        sizes[p] = s.reason(0, p, 0) == FlagReason::none ? 1 : 0;
        for (std::size_t i = 0; i < s.n_values; ++i) numbers[2 * p + i] = s.value(0, p, i).real();
      }
      for (std::size_t group = 0; group < layout_.n_groups(); ++group)
        phase_phasors(n_antennas_, numbers.data(), sizes.data(), &slopes_(group, 0, 0), &use_(group, 0),
                      stride, &gains_(group, 0, d, 0, 0));
      return;
    }
    for (std::size_t block = 0; block < n_blocks_; ++block)
      for (std::size_t p = 0; p < n_antennas_; ++p) {
        const bool any = s.reason(block, p, 0) == FlagReason::none;
        const Complex g = any ? s.value(block, p, 0) : 0;
        double* own = &gains_(block / kLanes, p, d, 0, block % kLanes);
        own[0] = g.real();
        own[kLanes] = g.imag();
      }
  }

  /// The same, and what they leave of chi^2.
  void take_gains(std::size_t d) {
    const Buffer<double, 3> before = gains_of(d);
    set_gains(d);
    const Buffer<double, 3> after = gains_of(d);
    parallel_for(settings_.n_threads, layout_.n_groups(), [&](std::size_t group, unsigned) {
      change_power(std::as_const(alone_).recent()[group].data(), n_antennas_, before.view()[group].data(),
                   after.view()[group].data(), power_.view()[group].data());
    });
  }

  /// The gains of one direction, [group][antenna][re, im, kLanes].
  Buffer<double, 3> gains_of(std::size_t d) const {
    Buffer<double, 3> own;
    own.resize_for_overwrite({layout_.n_groups(), n_antennas_, 2 * kLanes});
    for (std::size_t group = 0; group < layout_.n_groups(); ++group)
      for (std::size_t p = 0; p < n_antennas_; ++p)
        std::copy_n(&gains_(group, p, d, 0, 0), 2 * kLanes, &own(group, p, 0));
    return own;
  }

  /// The sums of a direction, the other directions' models taken out.
  void take_others_out(std::size_t d) {
    parallel_for(settings_.n_threads, layout_.n_groups(), [&](std::size_t group, unsigned) {
      single_direction(sums_.sums()[group].data(), n_antennas_, n_directions_, d, gains_.view()[group].data(),
                       power_.view()[group].data(), alone_.recent()[group].data());
    });
  }

  void equations(const std::vector<std::size_t>& place, std::size_t k, std::size_t n,
                 std::vector<double>& matrix, std::vector<double>& right) const {
    const std::size_t nd = n_directions_;
    std::vector<double> of_right(nd * k), of_matrix(nd * nd * k * k);  // [direction][number], [..][..]
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q) {
        const std::size_t b = baseline_index(p, q, n_antennas_);
        std::fill(of_right.begin(), of_right.end(), 0.0);
        std::fill(of_matrix.begin(), of_matrix.end(), 0.0);
        for (std::size_t group = 0; group < layout_.n_groups(); ++group)
          direction_equations(&sums_.sums()(group, b, 0, 0), nd, &gains_(group, p, 0, 0, 0),
                              &gains_(group, q, 0, 0, 0), &slopes_(group, 0, 0), k, of_right.data(),
                              of_matrix.data());
        const auto add = [&](std::size_t row, std::size_t column, double value) {
          if (column <= row) matrix[row * n + column] += value;
        };
        for (std::size_t d = 0; d < nd; ++d) {
          const std::size_t p_d = place[p * nd + d], q_d = place[q * nd + d];
          for (std::size_t i = 0; i < k; ++i) {
            if (p_d != kNone) right[p_d + i] += of_right[d * k + i];
            if (q_d != kNone) right[q_d + i] -= of_right[d * k + i];
          }
          for (std::size_t e = 0; e < nd; ++e) {
            const std::size_t p_e = place[p * nd + e], q_e = place[q * nd + e];
            const double* g = of_matrix.data() + (std::max(d, e) * nd + std::min(d, e)) * k * k;
            for (std::size_t i = 0; i < k; ++i)
              for (std::size_t j = 0; j < k; ++j) {
                const double value = g[i * k + j];
                if (p_d != kNone && p_e != kNone) add(p_d + i, p_e + j, value);
                if (q_d != kNone && q_e != kNone) add(q_d + i, q_e + j, value);
                if (p_d != kNone && q_e != kNone) add(p_d + i, q_e + j, -value);
                if (q_d != kNone && p_e != kNone) add(q_d + i, p_e + j, -value);
              }
          }
        }
      }
  }

  const DirectionSums& sums_;
  const DirectionLayout& layout_;
  std::span<const double> freq_hz_;
  const SolveSettings& settings_;
  std::size_t n_antennas_, n_directions_, n_blocks_;
  bool spans_, started_ = false;
  Buffer<double, 5> gains_;   ///< [group][antenna][direction][re, im][kLanes]
  Buffer<double, 3> power_;   ///< [group][baseline][kLanes] chi^2 with these
  Buffer<double, 3> slopes_;  ///< [group][number][kLanes] of terms that span channels
  Buffer<double, 2> use_;     ///< [group][kLanes] 1 of lanes that are blocks
  CalibrationSums alone_;     ///< of one direction
  std::vector<SlotSolutions> solutions_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::uint64_t direction_solver_bytes(const DirectionLayout& layout, CalibrationTerm term) {
  constexpr std::uint64_t kAlone = 5 * kLanes * sizeof(float), kCopy = 3 * kLanes * sizeof(float),
                          kPower = kLanes * sizeof(double), kGain = 2 * kLanes * sizeof(double);
  const std::uint64_t n_groups = layout.n_groups(), n_baselines = n_groups * layout.n_baselines(),
                      n_gains = std::uint64_t{layout.n_antennas} * layout.n_directions;
  const std::uint64_t n_unknowns =
      spans_channels(term) ? n_gains * (term == CalibrationTerm::tec_delay ? 2 : 1) : 0;
  return n_baselines * (2 * (kAlone + kPower) + kCopy) + 2 * n_groups * n_gains * kGain +
         n_unknowns * n_unknowns * sizeof(double);
}

std::vector<SlotSolutions> solve_directions(const DirectionSums& sums, std::span<const double> freq_hz,
                                            const SolveSettings& settings,
                                            std::span<const SlotSolutions> start, std::size_t n_sweeps) {
  const DirectionLayout& layout = sums.layout();
  switch (settings.term) {
    case CalibrationTerm::tec:
    case CalibrationTerm::tec_delay:
    case CalibrationTerm::scalar_phase:
    case CalibrationTerm::scalar_gain:
      break;
    default:
      throw std::invalid_argument("solve_directions: directions have no term of this kind");
  }
  const bool spans = spans_channels(settings.term);
  if (spans && freq_hz.size() != layout.n_blocks)
    throw std::invalid_argument("solve_directions: frequencies of another number than blocks");
  SolveSettings own = settings;
  own.robust_nu = 0;
  bool usable = start.size() == layout.n_directions;
  for (const SlotSolutions& s : start)
    usable &= s.term == settings.term && s.n_antennas == layout.n_antennas &&
              s.n_blocks == (spans ? 1 : layout.n_blocks);
  std::optional<DirectionSolver> warm;
  if (usable) {
    warm.emplace(sums, freq_hz, own);
    warm->begin_at(start);
    warm->sweep(2);
    if (spans) warm->join();
    if (spans && warm->fits_as(start[0])) return warm->take();
  }
  DirectionSolver cold(sums, freq_hz, own);
  cold.sweep(n_sweeps);
  if (spans) cold.join();
  return warm && warm->chi2() < cold.chi2() ? warm->take() : cold.take();
}

}  // namespace apsyn
