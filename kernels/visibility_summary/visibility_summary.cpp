// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/visibility_summary/visibility_summary.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"

namespace apsyn {
namespace {

constexpr std::size_t kUvCells = 2048;
constexpr std::size_t kBins = 512;
constexpr double kLogLow = -12, kLogHigh = 12;  // decades of amplitude, ends take what lies beyond
constexpr std::size_t kLogBins = 1920;          // 3 % a bin
constexpr std::size_t kPhaseBins = 180;         // 2 degrees
constexpr std::size_t kMaxBands = 512;

AmplitudePhase amplitude_phase(const GrowingAxis& x) {
  return {Density(x, kLogLow, kLogHigh, kLogBins), Density(x, -180, 180, kPhaseBins)};
}

bool is_parallel(Product product) {
  switch (product) {
    case Product::XY:
    case Product::YX:
    case Product::RL:
    case Product::LR:
    case Product::Q:
    case Product::U:
    case Product::V:
      return false;
    default:
      return true;
  }
}

/// Halves the resolution of the uv plane about its middle.
void widen(UvCounts& uv) {
  Buffer<std::uint32_t, 2> wide({kUvCells, kUvCells});
  for (std::size_t v = 0; v < kUvCells; ++v)
    for (std::size_t u = 0; u < kUvCells; ++u)
      wide(kUvCells / 4 + v / 2, kUvCells / 4 + u / 2) += uv.counts(v, u);
  uv.counts = std::move(wide);
  uv.half_width *= 2;
}

using Moves = std::vector<std::pair<std::size_t, std::size_t>>;

/// Adds up what goes to the same index.
template <class T>
void move_bins(Buffer<T, 3>& values, const Moves& moves) {
  Buffer<T, 3> moved(values.shape());
  for (std::size_t p = 0; p < values.extent(0); ++p)
    for (std::size_t band = 0; band < values.extent(1); ++band)
      for (const auto& [from, to] : moves) moved(p, band, to) += values(p, band, from);
  values = std::move(moved);
}

/// Twice as wide bins.
void widen(Waterfall& w) {
  std::map<std::int64_t, std::size_t> wide;
  Moves moves;
  for (const auto& [bin, index] : w.bins)
    moves.emplace_back(index, wide.try_emplace(bin >> 1, wide.size()).first->second);
  move_bins(w.sum_amplitude, moves);
  move_bins(w.sum_visibility, moves);
  move_bins(w.n, moves);
  w.bins = std::move(wide);
  w.bin_s *= 2;
}

/// The index of the bin that holds a time, a new one if need be.
std::size_t bin_index(Waterfall& w, double time_s) {
  constexpr double kMaxNumber = 1e12;  // beyond, doubles hardly tell bins apart
  while (true) {
    const double number = std::floor(time_s / w.bin_s);
    if (std::abs(number) < kMaxNumber) {
      const auto bin = static_cast<std::int64_t>(number);
      if (const auto found = w.bins.find(bin); found != w.bins.end()) return found->second;
      if (w.bins.size() < Waterfall::kMaxBins) return w.bins.emplace(bin, w.bins.size()).first->second;
    }
    widen(w);
  }
}

/// Index of a frequency in the rising list.
std::size_t channel_index(const std::vector<double>& all_hz, double hz) {
  const auto found = std::lower_bound(all_hz.begin(), all_hz.end(), hz);
  if (found == all_hz.end() || *found != hz)
    throw std::invalid_argument("visibility summary: a channel that was not announced");
  return static_cast<std::size_t>(found - all_hz.begin());
}

}  // namespace

VisibilitySummariser::VisibilitySummariser(VisibilitySummary about) : summary_(std::move(about)) {
  VisibilitySummary& s = summary_;
  if (s.channel_hz.empty() || s.products.empty())
    throw std::invalid_argument("visibility summary: no channels or no products");
  std::sort(s.channel_hz.begin(), s.channel_hz.end());
  s.channel_hz.erase(std::unique(s.channel_hz.begin(), s.channel_hz.end()), s.channel_hz.end());
  const std::size_t n_chan = s.channel_hz.size(), n_prod = s.products.size();
  s.last_time_mjd_s = s.first_time_mjd_s;
  s.antenna_seen.assign(s.antennas.size(), 0);
  s.uv.half_width = 1;
  s.uv.counts.resize({kUvCells, kUvCells});
  const double interval = s.interval_s > 0 ? s.interval_s : 1;
  s.against_time = amplitude_phase({0, interval, kBins});
  const double width = std::max(s.channel_width_hz, 1.0), low = s.channel_hz.front() - width / 2;
  const double span = s.channel_hz.back() + width / 2 - low;
  const auto n_bins = static_cast<std::size_t>(std::clamp(std::ceil(span / width - 1e-6), 1.0, 400.0));
  s.against_freq = amplitude_phase({low, span / static_cast<double>(n_bins), n_bins});
  s.against_baseline = amplitude_phase({0, 1e-3, kBins});
  s.sum_amplitude.resize({n_prod, n_chan});
  s.sum_visibility.resize({n_prod, n_chan});
  s.n_cross.resize({n_prod, n_chan});
  s.sum_auto.resize({s.antennas.size(), n_prod, n_chan});
  s.n_auto.resize({s.antennas.size(), n_prod, n_chan});
  if (s.waterfall.wanted) {
    Waterfall& w = s.waterfall;
    w.bin_s = interval;
    w.n_band = std::min(n_chan, kMaxBands);
    w.sum_amplitude.resize({n_prod, w.n_band, Waterfall::kMaxBins});
    w.sum_visibility.resize({n_prod, w.n_band, Waterfall::kMaxBins});
    w.n.resize({n_prod, w.n_band, Waterfall::kMaxBins});
  }
  for (std::size_t i = 0; i < s.fringes.size(); ++i) {
    s.fringes[i].values.resize(n_prod);
    fringe_of_[{s.fringes[i].ant1, s.fringes[i].ant2}] = i;
  }
  fringe_step_.assign(s.fringes.size(), 1);
  fringe_rows_.assign(s.fringes.size(), 0);
}

void VisibilitySummariser::add_uv(double u, double v) {
  UvCounts& uv = summary_.uv;
  if (!std::isfinite(u) || !std::isfinite(v)) return;
  while (std::max(std::abs(u), std::abs(v)) >= uv.half_width) widen(uv);
  const double cell = 2 * uv.half_width / kUvCells;
  for (double sign : {1.0, -1.0}) {
    const double x = (sign * u + uv.half_width) / cell, y = (sign * v + uv.half_width) / cell;
    ++uv.counts(std::min(kUvCells - 1, static_cast<std::size_t>(y)),
                std::min(kUvCells - 1, static_cast<std::size_t>(x)));
  }
}

void VisibilitySummariser::add_waterfall(const VisibilityRows& rows, const std::vector<std::size_t>& index) {
  Waterfall& w = summary_.waterfall;
  for (std::size_t row = 0; row < rows.data.extent(0); ++row) {
    const std::pair<int, int> baseline = std::minmax(rows.ant1[row], rows.ant2[row]);
    if (baseline.first == baseline.second) continue;
    if (!w.baselines.empty() &&
        std::find(w.baselines.begin(), w.baselines.end(), baseline) == w.baselines.end())
      continue;
    const double time_s = rows.time_mjd_s[row] - summary_.first_time_mjd_s + summary_.interval_s / 2;
    if (!std::isfinite(time_s)) continue;
    const std::size_t bin = bin_index(w, time_s);
    for (std::size_t chan = 0; chan < index.size(); ++chan) {
      const std::size_t band = w.band_of(index[chan], summary_.channel_hz.size());
      for (std::size_t p = 0; p < summary_.products.size(); ++p) {
        const std::complex<double> value = rows.data(row, chan, p);
        if (!(rows.weight(row, chan, p) > 0) || !std::isfinite(std::abs(value))) continue;
        w.sum_amplitude(p, band, bin) += std::abs(value);
        w.sum_visibility(p, band, bin) += value;
        ++w.n(p, band, bin);
      }
    }
  }
}

void VisibilitySummariser::add(const VisibilityRows& rows) {
  VisibilitySummary& s = summary_;
  const std::size_t n_row = rows.data.extent(0), n_chan = rows.data.extent(1), n_prod = rows.data.extent(2);
  if (rows.channel_hz == nullptr || rows.channel_hz->size() != n_chan || n_prod != s.products.size() ||
      rows.weight.shape() != rows.data.shape() || rows.uvw_m.extent(0) != n_row || rows.uvw_m.extent(1) != 3)
    throw std::invalid_argument("visibility summary: shapes disagree");
  if (!s.fringes.empty()) add_fringes(rows);
  std::vector<std::size_t> index;
  for (double hz : *rows.channel_hz) index.push_back(channel_index(s.channel_hz, hz));
  if (s.waterfall.wanted) add_waterfall(rows, index);
  for (std::size_t row = 0; row < n_row; ++row) {
    const auto ant1 = static_cast<std::size_t>(rows.ant1[row]),
               ant2 = static_cast<std::size_t>(rows.ant2[row]);
    const bool is_auto = ant1 == ant2;
    const double u = rows.uvw_m(row, 0), v = rows.uvw_m(row, 1), w = rows.uvw_m(row, 2);
    const double length_m = std::sqrt(u * u + v * v + w * w);
    const double time_s = rows.time_mjd_s[row] - s.first_time_mjd_s + s.interval_s / 2;
    ++s.n_rows;
    if (is_auto) ++s.n_auto_rows;
    s.last_time_mjd_s = std::max(s.last_time_mjd_s, rows.time_mjd_s[row]);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const double per_m = (*rows.channel_hz)[chan] / kSpeedOfLight_m_s;
      bool any = false;
      for (std::size_t p = 0; p < n_prod; ++p) {
        const std::complex<double> value = rows.data(row, chan, p);
        const bool good =
            rows.weight(row, chan, p) > 0 && std::isfinite(value.real()) && std::isfinite(value.imag());
        ++s.n_samples;
        if (!good) {
          ++s.n_flagged;
          continue;
        }
        any = true;
        if (std::max(ant1, ant2) < s.antenna_seen.size()) s.antenna_seen[ant1] = s.antenna_seen[ant2] = 1;
        if (is_auto) {
          if (ant1 >= s.antennas.size()) continue;
          s.sum_auto(ant1, p, index[chan]) += value.real();
          ++s.n_auto(ant1, p, index[chan]);
          continue;
        }
        const double amplitude = std::abs(value);
        s.sum_amplitude(p, index[chan]) += amplitude;
        s.sum_visibility(p, index[chan]) += value;
        ++s.n_cross(p, index[chan]);
        if (!is_parallel(s.products[p]) || !(amplitude > 0)) continue;
        const double log_amplitude = std::log10(amplitude), phase = std::arg(value) / kRadPerDeg;
        const double hz = (*rows.channel_hz)[chan];
        s.against_time.log_amplitude.add(time_s, log_amplitude);
        s.against_time.phase_deg.add(time_s, phase);
        s.against_freq.log_amplitude.add(hz, log_amplitude);
        s.against_freq.phase_deg.add(hz, phase);
        s.against_baseline.log_amplitude.add(length_m * per_m, log_amplitude);
        s.against_baseline.phase_deg.add(length_m * per_m, phase);
      }
      if (!any || is_auto) continue;
      add_uv(u * per_m, v * per_m);
      s.longest_wavelengths = std::max(s.longest_wavelengths, length_m * per_m);
      s.longest_m = std::max(s.longest_m, length_m);
    }
  }
}

}  // namespace apsyn
