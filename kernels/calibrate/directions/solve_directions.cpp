// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps over directions: what the sums of one direction would be if the others were not there, a_d - sum_e
// m_e C_ed, go to the solver of a single direction. Then, of terms that span channels, Gauss-Newton steps in
// all unknowns at once: with m_d = g_pd conj(g_qd), G_de = Re(m_d conj(m_e) C_de), slopes b and unknowns x of
// phases b x,
//   F_(pd)(pe) = sum b b^T G_de = F_(qd)(qe) = -F_(pd)(qe),
//   right side of pd: sum b Im(conj(m_d) (a_d - sum_e m_e C_ed)), of qd its negative.
#include "kernels/calibrate/directions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/cholesky.h"
#include "kernels/calibrate/directions/step.h"
#include "kernels/calibrate/phases/phase_model.h"
#include "kernels/calibrate/solve_slot.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
constexpr double kTwoPi = 6.283185307179586476925286766559;

/// The sums of one baseline and block.
class Cell {
 public:
  Cell(const DirectionSums& sums, std::size_t baseline, std::size_t block)
      : at_(&sums.sums()(block / kLanes, baseline, 0, block % kLanes)), n_(sums.layout().n_directions) {}
  Complex a(std::size_t d) const { return {value(2 * d), value(2 * d + 1)}; }
  double own(std::size_t d) const { return value(own_component(d, n_)); }
  /// C_de, which is the conjugate of C_ed.
  Complex c(std::size_t d, std::size_t e) const {
    if (d == e) return own(d);
    const std::size_t pair = pair_component(std::min(d, e), std::max(d, e), n_);
    return {value(pair), d < e ? value(pair + 1) : -value(pair + 1)};
  }
  double power() const { return value(power_component(n_)); }
  double count() const { return value(count_component(n_)); }

 private:
  double value(std::size_t component) const { return at_[component * kLanes]; }
  const float* at_;
  std::size_t n_;
};

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
        gains_({n_blocks_, n_antennas_, n_directions_}),
        solutions_(n_directions_) {
    lanes_.resize({layout_.n_groups(), n_directions_, n_antennas_, 2, kLanes});
    rest_.resize({layout_.n_groups(), layout_.n_baselines(), rest_values(n_directions_)});
    for (std::size_t group = 0; group < layout_.n_groups(); ++group)
      begin_rest(sums_.sums()[group].data(), n_antennas_, n_directions_, rest_.view()[group].data());
    blocks_.resize(n_blocks_);
    std::iota(blocks_.begin(), blocks_.end(), 0u);
    // Brightest first.
    order_.resize(n_directions_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::vector<double> flux(n_directions_);
    for (std::size_t b = 0; b < layout_.n_baselines(); ++b)
      for (std::size_t block = 0; block < n_blocks_; ++block)
        for (std::size_t d = 0; d < n_directions_; ++d) flux[d] += Cell(sums, b, block).own(d);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t d, std::size_t e) { return flux[d] > flux[e]; });
  }

  void begin_at(std::span<const SlotSolutions> start) {
    for (std::size_t d = 0; d < n_directions_; ++d) {
      solutions_[d] = SlotSolutions{};
      copy_solution(start[d], solutions_[d]);
      take_gains(d);
    }
    started_ = true;
  }

  void sweep(std::size_t n_sweeps) {
    for (std::size_t i = 0; i < n_sweeps; ++i)
      for (const std::size_t d : order_) {
        const CalibrationSums alone = without_others(d);
        const CalibrationSums* const cells[] = {&alone};
        const SlotCells slot{cells, {}, blocks_, n_blocks_};
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
    double samples = 0;
    double now = direction_chi2(sums_, gains_, samples);
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
      const bool done = decrement <= 1e-4 * now / std::max(1.0, samples);  // a hundredth of an error
      for (double factor = 1; factor > 0.1 && !better && !done; factor /= 2) {
        const auto step = [&](double by) {
          for (std::size_t p = 0; p < n_antennas_; ++p)
            for (std::size_t d = 0; d < n_directions_; ++d)
              if (const std::size_t at = place[p * n_directions_ + d]; at != kNone)
                for (std::size_t i = 0; i < k; ++i)
                  solutions_[d].value(0, p, i) += by * right[at + i] * scale[at + i];
          for (std::size_t d = 0; d < n_directions_; ++d) take_gains(d);
        };
        step(factor);
        const double trial = direction_chi2(sums_, gains_, samples);
        better = trial < now;
        if (better)
          now = trial;
        else
          step(-factor);
      }
      if (better) continue;
      const std::vector<double> variance = cholesky.inverse_diagonal();
      const double noise = noise_of(now, samples, static_cast<double>(n), now);
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

  double chi2() const {
    double samples = 0;
    return direction_chi2(sums_, gains_, samples);
  }

  std::vector<SlotSolutions> take() {
    double samples = 0;
    const double after = direction_chi2(sums_, gains_, samples);
    // Unit gains where there are any now.
    Buffer<Complex, 3> one(gains_.shape());
    for (std::size_t i = 0; i < one.size(); ++i) one.data()[i] = gains_.data()[i] != 0.0 ? 1 : 0;
    const double before = direction_chi2(sums_, one, samples);
    double unknowns = 0;
    for (const SlotSolutions& s : solutions_)
      unknowns += static_cast<double>(s.reason.size() - s.n_flagged());
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

  /// Gains of a direction's solution, 0 where there is none, and what they leave.
  void take_gains(std::size_t d) {
    const SlotSolutions& s = solutions_[d];
    std::vector<double> before(n_antennas_ * 2 * kLanes);
    for (std::size_t group = 0; group < layout_.n_groups(); ++group) {
      double* lanes = lanes_.view()[group][d].data();
      std::copy_n(lanes, before.size(), before.data());
      for (std::size_t i = 0; i < kLanes && group * kLanes + i < n_blocks_; ++i)
        for (std::size_t p = 0; p < n_antennas_; ++p) {
          const Complex g = gain_of(s, p, group * kLanes + i);
          gains_(group * kLanes + i, p, d) = g;
          lanes[p * 2 * kLanes + i] = g.real();
          lanes[(p * 2 + 1) * kLanes + i] = g.imag();
        }
      change_rest(sums_.sums()[group].data(), n_antennas_, n_directions_, d, before.data(), lanes,
                  rest_.view()[group].data());
    }
  }

  Complex gain_of(const SlotSolutions& s, std::size_t p, std::size_t block) const {
    if (s.reason(spans_ ? 0 : block, p, 0) != FlagReason::none) return 0;
    if (!spans_) return s.value(block, p, 0);
    double phase = -kTecPhase * s.value(0, p, 0).real() / freq_hz_[block];
    if (s.term == CalibrationTerm::tec_delay) phase += kTwoPi * freq_hz_[block] * s.value(0, p, 1).real();
    return std::polar(1.0, phase);
  }

  /// The sums of a direction, the other directions' models taken out.
  CalibrationSums without_others(std::size_t d) const {
    SumLayout layout;
    layout.n_antennas = n_antennas_;
    layout.n_products = 1;
    layout.block = blocks_;
    layout.n_blocks = n_blocks_;
    CalibrationSums alone(layout);
    parallel_for(settings_.n_threads, layout_.n_groups(), [&](std::size_t group, unsigned) {
      single_direction(sums_.sums()[group].data(), n_antennas_, n_directions_, d,
                       lanes_.view()[group][d].data(), rest_.view()[group].data(),
                       alone.recent()[group].data());
    });
    return alone;
  }

  void equations(const std::vector<std::size_t>& place, std::size_t k, std::size_t n,
                 std::vector<double>& matrix, std::vector<double>& right) const {
    const std::size_t nd = n_directions_;
    std::vector<std::array<double, 2>> slope(n_blocks_);
    for (std::size_t block = 0; block < n_blocks_; ++block)
      slope[block] = {-kTecPhase / freq_hz_[block], k > 1 ? kTwoPi * freq_hz_[block] : 0};
    std::vector<double> of_right(nd * k), of_matrix(nd * nd * k * k);  // [direction][number], [..][..]
    std::vector<double> lanes(layout_.n_groups() * n_antennas_ * nd * 2 * kLanes),
        slopes(layout_.n_groups() * k * kLanes);
    const auto lanes_of = [&](std::size_t group, std::size_t p) {
      return lanes.data() + (group * n_antennas_ + p) * nd * 2 * kLanes;
    };
    for (std::size_t block = 0; block < n_blocks_; ++block) {
      const std::size_t group = block / kLanes, i = block % kLanes;
      for (std::size_t x = 0; x < k; ++x) slopes[(group * k + x) * kLanes + i] = slope[block][x];
      for (std::size_t p = 0; p < n_antennas_; ++p)
        for (std::size_t d = 0; d < nd; ++d) {
          lanes_of(group, p)[2 * d * kLanes + i] = gains_(block, p, d).real();
          lanes_of(group, p)[(2 * d + 1) * kLanes + i] = gains_(block, p, d).imag();
        }
    }
    for (std::size_t p = 0; p < n_antennas_; ++p)
      for (std::size_t q = p + 1; q < n_antennas_; ++q) {
        const std::size_t b = baseline_index(p, q, n_antennas_);
        std::fill(of_right.begin(), of_right.end(), 0.0);
        std::fill(of_matrix.begin(), of_matrix.end(), 0.0);
        for (std::size_t group = 0; group < layout_.n_groups(); ++group)
          direction_equations(&sums_.sums()(group, b, 0, 0), nd, lanes_of(group, p), lanes_of(group, q),
                              slopes.data() + group * k * kLanes, k, of_right.data(), of_matrix.data());
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
  Buffer<Complex, 3> gains_;  ///< [block][antenna][direction]
  Buffer<double, 5> lanes_;   ///< [group][direction][antenna][re, im][kLanes], the same
  Buffer<double, 3> rest_;    ///< [group][baseline][rest_values()]
  std::vector<SlotSolutions> solutions_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> order_;
};

}  // namespace

double direction_chi2(const DirectionSums& sums, View<const std::complex<double>, 3> gains,
                      double& n_samples) {
  const DirectionLayout& layout = sums.layout();
  const std::size_t nd = layout.n_directions;
  std::vector<Complex> m(nd);
  double chi2 = 0;
  n_samples = 0;
  for (std::size_t p = 0; p < layout.n_antennas; ++p)
    for (std::size_t q = p + 1; q < layout.n_antennas; ++q)
      for (std::size_t block = 0; block < layout.n_blocks; ++block) {
        const Cell cell(sums, baseline_index(p, q, layout.n_antennas), block);
        bool any = false;
        for (std::size_t d = 0; d < nd; ++d) {
          m[d] = times_conj(gains(block, p, d), gains(block, q, d));
          any |= m[d] != 0.0;
        }
        if (!any) continue;
        n_samples += cell.count();
        chi2 += cell.power();
        for (std::size_t d = 0; d < nd; ++d) {
          chi2 -= 2 * times_conj(cell.a(d), m[d]).real();
          chi2 += std::norm(m[d]) * cell.own(d);
          for (std::size_t e = d + 1; e < nd; ++e)
            chi2 += 2 * times_conj(times(m[d], cell.c(d, e)), m[e]).real();
        }
      }
  return chi2;
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
  DirectionSolver cold(sums, freq_hz, own);
  cold.sweep(n_sweeps);
  if (spans) cold.join();
  bool usable = start.size() == layout.n_directions;
  for (const SlotSolutions& s : start)
    usable &= s.term == settings.term && s.n_antennas == layout.n_antennas &&
              s.n_blocks == (spans ? 1 : layout.n_blocks);
  if (!usable) return cold.take();
  DirectionSolver warm(sums, freq_hz, own);
  warm.begin_at(start);
  warm.sweep(2);
  if (spans) warm.join();
  return warm.chi2() < cold.chi2() ? warm.take() : cold.take();
}

}  // namespace apsyn
