// SPDX-License-Identifier: GPL-3.0-or-later
// Terms and their solutions: what values they have, the gains they stand for, and outliers among them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/calibrate/calibrate.h"
#include "libcore/base/median.h"
#include "libcore/system/parallel.h"

namespace apsyn {

bool needs_jones_sums(CalibrationTerm term) {
  return term == CalibrationTerm::jones || term == CalibrationTerm::leakage;
}

bool spans_channels(CalibrationTerm term) {
  return term == CalibrationTerm::delay || term == CalibrationTerm::tec || term == CalibrationTerm::tec_delay;
}

std::size_t n_values(CalibrationTerm term, std::size_t n_polarisations) {
  switch (term) {
    case CalibrationTerm::gain:
    case CalibrationTerm::phase:
    case CalibrationTerm::amplitude:
    case CalibrationTerm::delay:
      return n_polarisations;
    case CalibrationTerm::scalar_gain:
    case CalibrationTerm::scalar_phase:
    case CalibrationTerm::tec:
      return 1;
    case CalibrationTerm::tec_delay:
      return 2;
    case CalibrationTerm::jones:
    case CalibrationTerm::leakage:
      return 4;
  }
  return 0;
}

std::string_view to_string(FlagReason reason) {
  switch (reason) {
    case FlagReason::none:
      return "none";
    case FlagReason::no_data:
      return "no data";
    case FlagReason::few_baselines:
      return "too few baselines";
    case FlagReason::low_snr:
      return "low S/N";
    case FlagReason::outlier:
      return "outlying amplitude";
    case FlagReason::swapped:
      return "swapped polarisations";
    case FlagReason::diverged:
      return "diverged";
    case FlagReason::excluded:
      return "excluded";
  }
  return "unknown";
}

std::size_t SlotSolutions::n_flagged() const {
  return static_cast<std::size_t>(
      std::count_if(reason.begin(), reason.end(), [](FlagReason r) { return r != FlagReason::none; }));
}

namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr std::size_t kFewestValues = 8;

std::complex<double> phasor(const SlotSolutions& s, std::size_t p, std::size_t value, double freq_hz) {
  switch (s.term) {
    case CalibrationTerm::delay:
      return std::polar(1.0, kTwoPi * freq_hz * s.value(0, p, value).real());
    case CalibrationTerm::tec:
      return std::polar(1.0, -kTecPhase * s.value(0, p, 0).real() / freq_hz);
    default:
      return std::polar(
          1.0, -kTecPhase * s.value(0, p, 0).real() / freq_hz + kTwoPi * freq_hz * s.value(0, p, 1).real());
  }
}

}  // namespace

KnownGains gains_of(const SlotSolutions& solution, std::span<const std::uint32_t> block,
                    std::span<const double> freq_hz) {
  const bool spans = spans_channels(solution.term);
  if (spans && freq_hz.size() != block.size())
    throw std::invalid_argument("gains_of: frequencies of another number than blocks");
  const std::size_t n = solution.term == CalibrationTerm::tec_delay ? 1 : solution.n_values;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  KnownGains gains;
  gains.value.resize_for_overwrite({block.size(), solution.n_antennas, n});
  gains.value.fill({nan, nan});
  for (std::size_t b = 0; b < block.size(); ++b) {
    if (block[b] == kNoBlock) continue;
    const std::size_t from = spans ? 0 : block[b];
    if (from >= solution.n_blocks) throw std::invalid_argument("gains_of: a block that the solution has not");
    for (std::size_t p = 0; p < solution.n_antennas; ++p)
      for (std::size_t value = 0; value < n; ++value) {
        if (!(solution.weight(from, p, value) > 0)) continue;
        gains.value(b, p, value) = std::complex<float>(spans ? phasor(solution, p, value, freq_hz[b])
                                                             : solution.value(from, p, value));
      }
  }
  return gains;
}

void multiply_gains(const KnownGains& nearer, KnownGains& known) {
  if (nearer.value.size() == 0) return;
  const std::size_t n_blocks = nearer.value.extent(0), n_antennas = nearer.value.extent(1);
  const std::size_t n_near = nearer.value.extent(2);
  if (known.value.size() == 0) {
    known.value.resize_for_overwrite(nearer.value.shape());
    std::copy(nearer.value.begin(), nearer.value.end(), known.value.begin());
    return;
  }
  if (known.value.extent(0) != n_blocks || known.value.extent(1) != n_antennas)
    throw std::invalid_argument("multiply_gains: gains of different blocks or antennas");
  const std::size_t n_known = known.value.extent(2), n = std::max(n_near, n_known);
  Buffer<std::complex<float>, 3> product;
  product.resize_for_overwrite({n_blocks, n_antennas, n});
  const auto matrix = [](const Buffer<std::complex<float>, 3>& from, std::size_t b, std::size_t p) {
    const std::size_t count = from.extent(2);
    std::array<std::complex<double>, 4> j{};
    if (count == 4) {
      for (std::size_t k = 0; k < 4; ++k) j[k] = from(b, p, k);
    } else {
      j[0] = from(b, p, 0);
      j[3] = from(b, p, count - 1);
    }
    return j;
  };
  for (std::size_t b = 0; b < n_blocks; ++b)
    for (std::size_t p = 0; p < n_antennas; ++p) {
      if (n < 4) {
        for (std::size_t k = 0; k < n; ++k)
          product(b, p, k) =
              std::complex<float>(std::complex<double>(nearer.value(b, p, std::min(k, n_near - 1))) *
                                  std::complex<double>(known.value(b, p, std::min(k, n_known - 1))));
        continue;
      }
      const auto x = matrix(nearer.value, b, p), y = matrix(known.value, b, p);
      for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t c = 0; c < 2; ++c)
          product(b, p, 2 * row + c) = std::complex<float>(x[2 * row] * y[c] + x[2 * row + 1] * y[2 + c]);
    }
  known.value = std::move(product);
}

std::vector<Buffer<FlagReason, 3>> find_outliers(std::span<const SlotSolutions> slots, unsigned n_threads,
                                                 double n_mad) {
  std::vector<Buffer<FlagReason, 3>> flags(slots.size());
  if (slots.empty() || !(n_mad > 0)) return flags;
  const SlotSolutions& first = slots[0];
  const bool amplitudes = first.term == CalibrationTerm::gain || first.term == CalibrationTerm::amplitude ||
                          first.term == CalibrationTerm::scalar_gain || first.term == CalibrationTerm::jones;
  if (!amplitudes) return flags;
  for (const SlotSolutions& s : slots)
    if (s.term != first.term || s.n_antennas != first.n_antennas || s.n_values != first.n_values)
      throw std::invalid_argument("find_outliers: slots of different terms or antennas");
  struct Outlier {
    std::size_t slot, block, value;
  };
  std::vector<std::vector<Outlier>> of_antenna(first.n_antennas);
  parallel_for(n_threads, first.n_antennas, [&](std::size_t p, unsigned) {
    for (std::size_t value = 0; value < first.n_values; ++value) {
      if (first.term == CalibrationTerm::jones && (value == 1 || value == 2)) continue;
      std::vector<double> series;
      for (const SlotSolutions& s : slots)
        for (std::size_t b = 0; b < s.n_blocks; ++b)
          if (s.reason(b, p, value) == FlagReason::none) series.push_back(std::abs(s.value(b, p, value)));
      if (series.size() < kFewestValues) continue;
      const double centre = median_of(series), spread = robust_spread(series, centre);
      for (std::size_t i = 0; i < slots.size(); ++i)
        for (std::size_t b = 0; b < slots[i].n_blocks; ++b) {
          if (slots[i].reason(b, p, value) != FlagReason::none) continue;
          const double allowed = n_mad * std::hypot(spread, slots[i].sigma(b, p, value));
          if (std::abs(std::abs(slots[i].value(b, p, value)) - centre) > allowed)
            of_antenna[p].push_back({i, b, value});
        }
    }
  });
  for (std::size_t p = 0; p < first.n_antennas; ++p)
    for (const auto& [slot, block, value] : of_antenna[p]) {
      Buffer<FlagReason, 3>& own = flags[slot];
      if (own.size() == 0) own.resize(slots[slot].reason.shape());
      if (first.term != CalibrationTerm::jones) {
        own(block, p, value) = FlagReason::outlier;
      } else {
        own(block, p, value / 2 * 2) = own(block, p, value / 2 * 2 + 1) = FlagReason::outlier;
      }
    }
  return flags;
}

}  // namespace apsyn
