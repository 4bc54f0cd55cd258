// SPDX-License-Identifier: GPL-3.0-or-later
// Cells to slots. The sums of a cell determine those against any model that known gains, constant in the
// cell, make of its own: with M' = sum_e M_e P_e, of matrices P_e,cd = K_p,ce conj(K_q,df) for e = (e, f),
//   A'_cd = sum_e A_e conj(P_e,cd),  S'_cd,c'd' = sum_e,f P_e,cd S_ef conj(P_f,c'd').
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/sums.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Lanes = std::array<float, kLanes>;
struct ComplexLanes {
  Lanes re{}, im{};
};

/// Gains of an antenna's values in the lanes of a group; zero where there are none.
struct KnownLanes {
  std::size_t n_values = 0;        ///< 0 = no gains; 1 of diagonal sums, 2 or 4 of jones sums
  std::vector<ComplexLanes> gain;  ///< [group][antenna][value]
  std::vector<Lanes> valid;        ///< the same: 1 or 0
  std::size_t n_antennas = 0;
  std::size_t at(std::size_t group, std::size_t antenna, std::size_t value) const {
    return (group * n_antennas + antenna) * n_values + value;
  }
};

KnownLanes known_lanes(const KnownGains* known, const SumLayout& layout) {
  KnownLanes lanes;
  if (known == nullptr || known->value.size() == 0) return lanes;
  const std::size_t n_given = known->value.extent(2), n = layout.n_antennas;
  if (known->value.extent(0) != layout.n_blocks || known->value.extent(1) != n ||
      (n_given != 1 && n_given != 2 && n_given != 4))
    throw std::invalid_argument("combine: known gains have another shape than the cells");
  const bool diagonal = layout.kind == SumKind::diagonal;
  if (diagonal && n_given == 4) throw std::invalid_argument("combine: 2x2 gains need jones sums");
  lanes.n_values = diagonal ? 1 : std::max<std::size_t>(2, n_given);
  lanes.n_antennas = n;
  lanes.gain.resize(layout.n_groups() * n * lanes.n_values);
  lanes.valid.resize(lanes.gain.size());
  const std::size_t n_hands = diagonal ? layout.n_polarisations() : 1;
  for (std::size_t lane = 0; lane < layout.n_lanes(); ++lane)
    for (std::size_t antenna = 0; antenna < n; ++antenna)
      for (std::size_t value = 0; value < lanes.n_values; ++value) {
        const std::size_t wanted = diagonal ? lane % n_hands : value;
        const std::complex<float> g = known->value(lane / n_hands, antenna, std::min(wanted, n_given - 1));
        const std::size_t to = lanes.at(lane / kLanes, antenna, value), i = lane % kLanes;
        if (!std::isfinite(g.real()) || !std::isfinite(g.imag())) continue;
        lanes.gain[to].re[i] = g.real();
        lanes.gain[to].im[i] = g.imag();
        lanes.valid[to][i] = 1;
      }
  return lanes;
}

/// The sums of a baseline and group, [component].
using Sums = std::array<Lanes, 4 * n_product_components(4)>;

/// Against a model times the diagonal gains of a product: components [0, n_own) of it.
void turn_product(const ComplexLanes& p, const ComplexLanes& q, const Lanes& valid_p, const Lanes& valid_q,
                  std::size_t n_elements, Lanes* sums) {
  ComplexLanes factor;
  Lanes power, valid;
  for (std::size_t i = 0; i < kLanes; ++i) {
    factor.re[i] = p.re[i] * q.re[i] + p.im[i] * q.im[i];
    factor.im[i] = p.re[i] * q.im[i] - p.im[i] * q.re[i];
    power[i] = (p.re[i] * p.re[i] + p.im[i] * p.im[i]) * (q.re[i] * q.re[i] + q.im[i] * q.im[i]);
    valid[i] = valid_p[i] * valid_q[i];
  }
  for (std::size_t e = 0; e < n_elements; ++e)
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float re = sums[2 * e][i], im = sums[2 * e + 1][i];
      sums[2 * e][i] = re * factor.re[i] - im * factor.im[i];
      sums[2 * e + 1][i] = re * factor.im[i] + im * factor.re[i];
    }
  for (std::size_t c = 2 * n_elements; c < power_component(n_elements); ++c)
    for (std::size_t i = 0; i < kLanes; ++i) sums[c][i] *= power[i];
  for (std::size_t c = power_component(n_elements); c <= count_component(n_elements); ++c)
    for (std::size_t i = 0; i < kLanes; ++i) sums[c][i] *= valid[i];
}

/// Against K_p M K_q^H: `from` of n_elements becomes `to` of four elements, all products.
void turn_model(const ComplexLanes* p, const ComplexLanes* q, const Lanes& valid, std::size_t n_elements,
                const Sums& from, Sums& to) {
  // P[e][cd]; the model of one element is m times the identity.
  std::array<std::array<ComplexLanes, 4>, 4> turned{};
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t d = 0; d < 2; ++d)
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t l = 0; l < 2; ++l) {
          if (n_elements < 4 && k != l) continue;
          const std::size_t e = n_elements == 1 ? 0 : n_elements == 2 ? k : 2 * k + l;
          const ComplexLanes &a = p[2 * c + k], &b = q[2 * d + l];
          ComplexLanes& sum = turned[e][2 * c + d];
          for (std::size_t i = 0; i < kLanes; ++i) {
            sum.re[i] += a.re[i] * b.re[i] + a.im[i] * b.im[i];
            sum.im[i] += a.im[i] * b.re[i] - a.re[i] * b.im[i];
          }
        }
  const std::size_t n_from = n_product_components(n_elements), n_to = n_product_components(4);
  for (std::size_t product = 0; product < 4; ++product) {
    const Lanes* old = from.data() + product * n_from;
    Lanes* sums = to.data() + product * n_to;
    for (std::size_t c = 0; c < n_to; ++c) sums[c].fill(0);
    for (std::size_t e = 0; e < n_elements; ++e)
      for (std::size_t cd = 0; cd < 4; ++cd)
        for (std::size_t i = 0; i < kLanes; ++i) {
          const float re = old[2 * e][i], im = old[2 * e + 1][i];
          const float t_re = turned[e][cd].re[i], t_im = turned[e][cd].im[i];
          sums[2 * cd][i] += re * t_re + im * t_im;
          sums[2 * cd + 1][i] += im * t_re - re * t_im;
        }
    // half[e][cd] = sum_f S_ef conj(P_f,cd).
    std::array<std::array<ComplexLanes, 4>, 4> half{};
    for (std::size_t e = 0; e < n_elements; ++e)
      for (std::size_t f = 0; f < n_elements; ++f) {
        ComplexLanes s;
        if (e == f) {
          s.re = old[own_component(e, n_elements)];
        } else {
          const std::size_t c = pair_component(std::min(e, f), std::max(e, f), n_elements);
          s.re = old[c];
          for (std::size_t i = 0; i < kLanes; ++i) s.im[i] = e < f ? old[c + 1][i] : -old[c + 1][i];
        }
        for (std::size_t cd = 0; cd < 4; ++cd)
          for (std::size_t i = 0; i < kLanes; ++i) {
            const float t_re = turned[f][cd].re[i], t_im = turned[f][cd].im[i];
            half[e][cd].re[i] += s.re[i] * t_re + s.im[i] * t_im;
            half[e][cd].im[i] += s.im[i] * t_re - s.re[i] * t_im;
          }
      }
    for (std::size_t e = 0; e < n_elements; ++e)
      for (std::size_t cd = 0; cd < 4; ++cd)
        for (std::size_t other = cd; other < 4; ++other)
          for (std::size_t i = 0; i < kLanes; ++i) {
            const float t_re = turned[e][cd].re[i], t_im = turned[e][cd].im[i];
            const float h_re = half[e][other].re[i], h_im = half[e][other].im[i];
            if (cd == other) {
              sums[own_component(cd, 4)][i] += t_re * h_re - t_im * h_im;
            } else {
              const std::size_t c = pair_component(cd, other, 4);
              sums[c][i] += t_re * h_re - t_im * h_im;
              sums[c + 1][i] += t_re * h_im + t_im * h_re;
            }
          }
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t i = 0; i < kLanes; ++i)
        sums[power_component(4) + k][i] = valid[i] * old[power_component(n_elements) + k][i];
  }
}

}  // namespace

CalibrationSums combine(const SlotCells& slot, SumKind kind, View<const float, 2> row_weight,
                        unsigned n_threads) {
  CalibrationSums sums;
  combine(slot, kind, row_weight, n_threads, sums);
  return sums;
}

void combine(const SlotCells& slot, SumKind kind, View<const float, 2> row_weight, unsigned n_threads,
             CalibrationSums& sums) {
  if (slot.cells.empty()) throw std::invalid_argument("combine: a slot without cells");
  const SumLayout& from = slot.cells[0]->layout();
  const std::size_t n_baselines = from.n_baselines();
  if (!slot.known.empty() && slot.known.size() != slot.cells.size())
    throw std::invalid_argument("combine: known gains of " + std::to_string(slot.known.size()) + " of " +
                                std::to_string(slot.cells.size()) + " cells");
  if (slot.block.size() != from.n_blocks)
    throw std::invalid_argument("combine: blocks of another number than the cells'");
  if (row_weight.size() > 0 &&
      (row_weight.extent(0) != slot.cells.size() || row_weight.extent(1) != n_baselines))
    throw std::invalid_argument("combine: weights of rows have another shape than the cells");
  for (const CalibrationSums* cell : slot.cells)
    if (cell->layout().kind != from.kind || cell->recent().shape() != slot.cells[0]->recent().shape())
      throw std::invalid_argument("combine: cells of different layouts");
  bool matrices = false;
  for (const KnownGains* known : slot.known)
    matrices |= known != nullptr && known->value.size() > 0 && known->value.extent(2) == 4;
  if (kind != SumKind::diagonal && from.kind == SumKind::diagonal)
    throw std::invalid_argument("combine: 2x2 gains need jones sums");
  if (kind != SumKind::diagonal && kind != from.kind)
    throw std::invalid_argument("combine: sums of another kind than the cells'");

  SumLayout layout = from;
  const SumKind own_kind = matrices ? SumKind::jones_general : from.kind;  // before hands are taken
  layout.kind = kind == SumKind::diagonal ? SumKind::diagonal : own_kind;
  layout.block = slot.block;
  layout.n_blocks = slot.n_blocks;
  layout.monitor_cross_hands = false;
  sums.reset(layout, n_threads);

  const std::size_t n_elements = n_model_elements(from.kind), n_own = n_product_components(n_elements);
  const std::size_t n_products = from.kind == SumKind::diagonal ? 1 : 4;
  const bool take_hands = kind == SumKind::diagonal && from.kind != SumKind::diagonal;
  const std::size_t n_turned = n_model_elements(own_kind), n_turned_own = n_product_components(n_turned);
  const std::size_t n_hands = from.kind == SumKind::diagonal ? from.n_polarisations() : 1;
  bool same_lanes = !take_hands && slot.n_blocks == from.n_blocks;
  for (std::size_t b = 0; b < slot.block.size(); ++b) same_lanes &= slot.block[b] == b;

  View<float, 4> to = sums.recent();
  for (std::size_t step = 0; step < slot.cells.size(); ++step) {
    const KnownLanes known = known_lanes(slot.known.empty() ? nullptr : slot.known[step], from);
    const View<const float, 4> recent = slot.cells[step]->recent();
    const View<const double, 4> promoted = slot.cells[step]->promoted();
    const auto add_antenna = [&](std::size_t p, unsigned) {
      Sums own, turned;
      if (same_lanes && !matrices && known.n_values == 0 && promoted.size() == 0) {
        for (std::size_t group = 0; group < from.n_groups(); ++group)
          for (std::size_t q = p + 1; q < from.n_antennas; ++q) {
            const std::size_t b = baseline_index(p, q, from.n_antennas);
            const float weight = row_weight.size() > 0 ? row_weight(step, b) : 1.f;
            const float* values = &recent(group, b, 0, 0);
            float* sum = &to(group, b, 0, 0);
            for (std::size_t c = 0; c < n_products * n_own; ++c) {
              const float factor = c % n_own == count_component(n_elements) ? 1.f : weight;
              for (std::size_t i = 0; i < kLanes; ++i) sum[c * kLanes + i] += factor * values[c * kLanes + i];
            }
          }
        return;
      }
      for (std::size_t group = 0; group < from.n_groups(); ++group)
        for (std::size_t q = p + 1; q < from.n_antennas; ++q) {
          const std::size_t b = baseline_index(p, q, from.n_antennas);
          const float weight = row_weight.size() > 0 ? row_weight(step, b) : 1.f;
          const float* values = &recent(group, b, 0, 0);
          for (std::size_t c = 0; c < n_products * n_own; ++c)
            for (std::size_t i = 0; i < kLanes; ++i) own[c][i] = values[c * kLanes + i];
          if (promoted.size() > 0) {
            const double* more = &promoted(group, b, 0, 0);
            for (std::size_t c = 0; c < n_products * n_own; ++c)
              for (std::size_t i = 0; i < kLanes; ++i)
                own[c][i] = static_cast<float>(own[c][i] + more[c * kLanes + i]);
          }
          if (row_weight.size() > 0)
            for (std::size_t c = 0; c < n_products * n_own; ++c)
              if (c % n_own != count_component(n_elements))
                for (std::size_t i = 0; i < kLanes; ++i) own[c][i] *= weight;
          const Sums* result = &own;
          if (matrices) {
            std::array<ComplexLanes, 4> k_p{}, k_q{};
            Lanes valid;
            valid.fill(1);
            for (std::size_t value = 0; value < 4; ++value) {
              if (known.n_values == 4) {
                k_p[value] = known.gain[known.at(group, p, value)];
                k_q[value] = known.gain[known.at(group, q, value)];
                for (std::size_t i = 0; i < kLanes; ++i)
                  valid[i] *=
                      known.valid[known.at(group, p, value)][i] * known.valid[known.at(group, q, value)][i];
              } else if (value == 0 || value == 3) {  // a step without matrices beside others with them
                k_p[value].re.fill(1);
                k_q[value].re.fill(1);
              }
            }
            for (std::size_t value = 0; value < 4; ++value)
              for (std::size_t i = 0; i < kLanes; ++i) {
                k_p[value].re[i] *= valid[i];
                k_p[value].im[i] *= valid[i];
              }
            if (known.n_values == 2)
              throw std::invalid_argument("combine: known gains are 2x2 in some cells only");
            turn_model(k_p.data(), k_q.data(), valid, n_elements, own, turned);
            result = &turned;
          } else if (known.n_values > 0) {
            for (std::size_t product = 0; product < n_products; ++product) {
              const std::size_t at_p = known.at(group, p, n_products == 1 ? 0 : product / 2);
              const std::size_t at_q = known.at(group, q, n_products == 1 ? 0 : product % 2);
              turn_product(known.gain[at_p], known.gain[at_q], known.valid[at_p], known.valid[at_q],
                           n_elements, own.data() + product * n_own);
            }
          }
          if (same_lanes) {
            float* sum = &to(group, b, 0, 0);
            for (std::size_t c = 0; c < n_products * n_turned_own; ++c)
              for (std::size_t i = 0; i < kLanes; ++i) sum[c * kLanes + i] += (*result)[c][i];
            continue;
          }
          const std::size_t n_lanes = std::min(kLanes, from.n_lanes() - group * kLanes);
          for (std::size_t i = 0; i < n_lanes; ++i) {
            const std::size_t lane = group * kLanes + i;
            const std::uint32_t block = slot.block[lane / n_hands];
            if (block == kNoBlock) continue;
            if (!take_hands) {
              const std::size_t target = block * n_hands + lane % n_hands;
              float* sum = &to(target / kLanes, b, 0, target % kLanes);
              for (std::size_t c = 0; c < n_products * n_turned_own; ++c) sum[c * kLanes] += (*result)[c][i];
              continue;
            }
            for (std::size_t hand = 0; hand < 2; ++hand) {
              const std::size_t target = block * 2 + hand, e = hand * (n_turned - 1);
              const Lanes* product = result->data() + 3 * hand * n_turned_own;
              float* sum = &to(target / kLanes, b, 0, target % kLanes);
              sum[0] += product[2 * e][i];
              sum[kLanes] += product[2 * e + 1][i];
              sum[2 * kLanes] += product[own_component(e, n_turned)][i];
              sum[3 * kLanes] += product[power_component(n_turned)][i];
              sum[4 * kLanes] += product[count_component(n_turned)][i];
            }
          }
        }
    };
    parallel_for(n_threads, from.n_antennas, add_antenna);
  }
}

const CalibrationSums& slot_sums(const SlotCells& slot, SumKind kind, unsigned n_threads,
                                 CalibrationSums& memory) {
  const CalibrationSums& first = *slot.cells[0];
  bool same = slot.cells.size() == 1 && first.layout().kind == kind &&
              slot.n_blocks == first.layout().n_blocks && first.promoted().size() == 0;
  for (std::size_t b = 0; b < slot.block.size(); ++b) same &= slot.block[b] == b;
  same &= slot.known.empty() || slot.known[0] == nullptr || slot.known[0]->value.size() == 0;
  if (same) return first;
  combine(slot, kind, {}, n_threads, memory);
  return memory;
}

ModelFit fit_model(const SlotCells& slot, unsigned n_threads) {
  CalibrationSums memory;
  const CalibrationSums& sums = slot_sums(slot, SumKind::diagonal, n_threads, memory);
  const SumLayout& layout = sums.layout();
  const View<const float, 4> recent = sums.recent();
  ModelFit fit;
  for (std::size_t group = 0; group < layout.n_groups(); ++group) {
    const std::size_t n_lanes = std::min(kLanes, layout.n_lanes() - group * kLanes);
    for (std::size_t b = 0; b < layout.n_baselines(); ++b)
      for (std::size_t lane = 0; lane < n_lanes; ++lane) {
        const double power = recent(group, b, own_component(0, 1), lane);
        fit.data_power += recent(group, b, power_component(1), lane);
        fit.agreement += recent(group, b, 0, lane);
        fit.model_power += power;
        fit.n_samples += recent(group, b, count_component(1), lane);
        fit.n_baselines += power > 0 ? 1 : 0;
      }
  }
  return fit;
}

}  // namespace apsyn
