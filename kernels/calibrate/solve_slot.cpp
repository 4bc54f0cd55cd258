// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/calibrate/solve_slot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/calibrate/accumulate/sum_components.h"
#include "kernels/calibrate/diagonal/step.h"
#include "kernels/calibrate/jones/step.h"
#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {

SlotSolutions empty_solution(CalibrationTerm term, std::size_t n_blocks, std::size_t n_antennas,
                             std::size_t n_values, std::size_t n_fits) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  SlotSolutions s;
  s.term = term;
  s.n_blocks = n_blocks;
  s.n_antennas = n_antennas;
  s.n_values = n_values;
  const std::array<std::size_t, 3> shape = {n_blocks, n_antennas, n_values};
  s.value.resize_for_overwrite(shape);
  s.value.fill({nan, nan});
  s.sigma.resize_for_overwrite(shape);
  s.sigma.fill(std::numeric_limits<double>::infinity());
  s.snr.resize(shape);
  s.weight.resize(shape);
  s.reason.resize_for_overwrite(shape);
  s.reason.fill(FlagReason::no_data);
  if (term == CalibrationTerm::delay) s.phase_rad.resize({n_antennas, n_values});
  s.chi2_before.resize({n_blocks, n_fits});
  s.chi2_after.resize({n_blocks, n_fits});
  s.n_samples.resize({n_blocks, n_fits});
  s.noise.resize({n_blocks, n_fits});
  s.n_iterations.resize({n_blocks, n_fits});
  s.converged.resize({n_blocks, n_fits});
  return s;
}

double noise_of(double chi2, double n_samples, double n_unknowns, double power) {
  const double degrees = n_samples - n_unknowns / 2;  // complex samples
  if (!(n_samples > 0)) return 0;
  // Sums of squares in float32 are off by their rounding: residuals below it say nothing.
  const double least = 1e-9 * std::abs(power);
  return std::sqrt(std::max(chi2, least) / (degrees >= 1 ? degrees : n_samples));
}

namespace {

/// Weights of rows [step][baseline] from chi^2 per sample of each row: Student's t with nu degrees of
/// freedom, the scale from the median.
void weigh_rows(View<const double, 2> chi2, View<const double, 2> n_samples, double nu,
                Buffer<float, 2>& weight) {
  std::vector<double> scaled;
  double n_typical = 0;
  for (std::size_t i = 0; i < chi2.size(); ++i)
    if (n_samples.data()[i] > 0) {
      scaled.push_back(std::max(0.0, chi2.data()[i]) / n_samples.data()[i]);
      n_typical += n_samples.data()[i];
    }
  weight.resize(chi2.shape());
  weight.fill(1);
  if (scaled.empty()) return;
  n_typical /= static_cast<double>(scaled.size());
  const double variance = median_of(scaled) / chi_squared_median(2 * n_typical);
  if (!(variance > 0)) return;
  for (std::size_t i = 0; i < chi2.size(); ++i)
    if (n_samples.data()[i] > 0) {
      const double x = std::max(0.0, chi2.data()[i]) / n_samples.data()[i] / variance;
      weight.data()[i] = static_cast<float>((nu + 2) / (nu + 2 * x));
    }
}

/// chi^2 and number of samples of each row [step][baseline], over what has gains [block][antenna][hand or
/// 2x2] (0 = none); without gains (size 0) of the data themselves.
void row_fits(const SlotCells& slot, SumKind kind, View<const std::complex<double>, 3> gains,
              unsigned n_threads, Buffer<double, 2>& chi2, Buffer<double, 2>& n_samples) {
  const std::size_t n = slot.cells[0]->layout().n_antennas,
                    n_baselines = slot.cells[0]->layout().n_baselines();
  chi2.resize({slot.cells.size(), n_baselines});
  n_samples.resize(chi2.shape());
  const auto of_step = [&](std::size_t step, unsigned) {
    SlotCells own{slot.cells.subspan(step, 1), {}, slot.block, slot.n_blocks};
    if (!slot.known.empty()) own.known = slot.known.subspan(step, 1);
    CalibrationSums memory;
    const CalibrationSums& sums = slot_sums(own, kind, 1, memory);
    const SumLayout& layout = sums.layout();
    const std::size_t n_elements = n_model_elements(layout.kind), n_own = n_product_components(n_elements);
    const bool diagonal = layout.kind == SumKind::diagonal;
    const std::size_t n_hands = diagonal ? layout.n_polarisations() : 1, n_values = diagonal ? 2 : 8;
    std::vector<double> lanes(n * n_values * kLanes), active(diagonal ? 0 : n * 2 * kLanes),
        found(2 * n_baselines);
    double fit[4 * kLanes];
    for (std::size_t group = 0; group < layout.n_groups(); ++group) {
      const std::size_t first = group * kLanes, n_lanes = std::min(kLanes, layout.n_lanes() - first);
      const float* baselines = sums.recent()[group].data();
      if (gains.size() == 0) {
        for (std::size_t b = 0; b < n_baselines; ++b, baselines += layout.n_components() * kLanes)
          for (std::size_t c = 0; c < layout.n_components(); c += n_own)
            for (std::size_t i = 0; i < n_lanes; ++i) {
              found[2 * b] += baselines[(c + power_component(n_elements)) * kLanes + i];
              found[2 * b + 1] += baselines[(c + count_component(n_elements)) * kLanes + i];
            }
        continue;
      }
      for (std::size_t p = 0; p < n; ++p)
        for (std::size_t i = 0; i < n_lanes; ++i) {
          const std::size_t block = (first + i) / n_hands;
          for (std::size_t k = 0; k < n_values / 2; ++k) {
            const std::complex<double> g = gains(block, p, diagonal ? (first + i) % n_hands : k);
            lanes[(p * n_values + 2 * k) * kLanes + i] = g.real();
            lanes[(p * n_values + 2 * k + 1) * kLanes + i] = g.imag();
          }
          for (std::size_t row = 0; !diagonal && row < 2; ++row)
            active[(p * 2 + row) * kLanes + i] =
                gains(block, p, 2 * row) != 0.0 || gains(block, p, 2 * row + 1) != 0.0;
        }
      if (diagonal)
        sum_fit(baselines, n, lanes.data(), n_lanes, fit, found.data());
      else
        jones_fit(layout.kind, baselines, n, lanes.data(), active.data(), n_lanes, fit, found.data());
    }
    for (std::size_t b = 0; b < n_baselines; ++b) {
      chi2(step, b) = found[2 * b];
      n_samples(step, b) = found[2 * b + 1];
    }
  };
  parallel_for(n_threads, slot.cells.size(), of_step);
}

void check(const SlotCells& slot, std::span<const double> freq_hz, const SolveSettings& settings,
           ExcludedSolutions excluded) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("solve_slot: " + why); };
  if (slot.cells.empty()) refuse("a slot without cells");
  const SumLayout& layout = slot.cells[0]->layout();
  if (needs_jones_sums(settings.term) && layout.kind == SumKind::diagonal)
    refuse("2x2 gains need jones sums");
  if (settings.reference >= layout.n_antennas)
    refuse("reference antenna " + std::to_string(settings.reference) + " of " +
           std::to_string(layout.n_antennas));
  if (spans_channels(settings.term) && freq_hz.size() != slot.n_blocks)
    refuse("frequencies of " + std::to_string(freq_hz.size()) + " of " + std::to_string(slot.n_blocks) +
           " blocks");
  if (slot.n_blocks == 0) refuse("a slot without blocks of channels");
  if (excluded.size() > 0 && (excluded.extent(0) != (spans_channels(settings.term) ? 1 : slot.n_blocks) ||
                              excluded.extent(1) != layout.n_antennas ||
                              excluded.extent(2) != n_values(settings.term, layout.n_polarisations())))
    refuse("excluded solutions have another shape than the term's");
}

}  // namespace

SlotSolutions solve_slot(const SlotCells& slot, std::span<const double> freq_hz,
                         const SolveSettings& settings, ExcludedSolutions excluded,
                         const SlotSolutions* start, SlotMemory* reused) {
  check(slot, freq_hz, settings, excluded);
  const SumKind kind = needs_jones_sums(settings.term) ? slot.cells[0]->layout().kind : SumKind::diagonal;
  const bool robust = settings.robust_nu > 0;
  Buffer<float, 2> row_weight;
  Buffer<double, 2> chi2, n_samples;
  if (robust) {  // a first guess from the data's power keeps the strongest interference out of the first
                 // round
    row_fits(slot, kind, {}, settings.n_threads, chi2, n_samples);
    weigh_rows(chi2, n_samples, settings.robust_nu, row_weight);
  }
  SlotMemory own_memory;
  SlotMemory& memory = reused != nullptr ? *reused : own_memory;
  SolvedSlot solved;
  for (std::size_t round = 0;; ++round) {
    if (robust) combine(slot, kind, row_weight, settings.n_threads, memory.combined);
    const CalibrationSums& sums =
        robust ? memory.combined : slot_sums(slot, kind, settings.n_threads, memory.combined);
    const SlotSolutions* from = round > 0 ? &solved.solution : start;
    SolvedSlot next = needs_jones_sums(settings.term) ? solve_jones_term(sums, settings, excluded, from)
                      : spans_channels(settings.term)
                          ? solve_channel_term(sums, freq_hz, settings, excluded, from, memory)
                          : solve_diagonal_term(slot, sums, row_weight, settings, excluded, from, memory);
    solved = std::move(next);
    if (!robust || round == settings.robust_rounds) break;
    memory = SlotMemory{};  // fits of rows need as much of their own
    row_fits(slot, kind, solved.fitted, settings.n_threads, chi2, n_samples);
    weigh_rows(chi2, n_samples, settings.robust_nu, row_weight);
  }
  solved.solution.row_weight = std::move(row_weight);
  return std::move(solved.solution);
}

}  // namespace apsyn
