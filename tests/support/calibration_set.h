// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of point sources seen by antennas with known gains, with noise, and what can be wrong with
// them: for tests of calibration.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "tests/reference/antenna_gains.h"

namespace apsyn {

enum class ModelKind { unpolarised, diagonal, general };

struct CalibrationSetup {
  std::size_t n_antennas = 16, n_channels = 8, n_steps = 10, n_products = 4, n_sources = 5;
  ModelKind model = ModelKind::unpolarised;
  double noise = 1;  ///< RMS |noise| of a sample of weight 1; the sources' fluxes have a sum of about 1
  double low_hz = 150e6, channel_hz = 200e3;
  unsigned seed = 1;
};

/// The gains of antenna p in a channel and step.
using GainOf = std::function<reference::Jones(std::size_t p, std::size_t chan, std::size_t step)>;

/// Diagonal gains of amplitudes about 1 (log-normal, 20 %) and any phase, the same in all channels.
inline std::vector<reference::Jones> random_gains(std::size_t n_antennas, unsigned seed, double leakage = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> turn(0, 6.283185307179586);
  std::vector<reference::Jones> gains(n_antennas);
  for (auto& j : gains) {
    for (const std::size_t k : {0, 3}) {
      const double amplitude = std::exp(0.2 * gauss(random));
      j[k] = std::polar(amplitude, turn(random));
    }
    for (const std::size_t k : {1, 2}) {
      const double re = gauss(random), im = gauss(random);
      j[k] = leakage * std::complex<double>(re, im);
    }
  }
  return gains;
}

struct CalibrationSet {
  CalibrationSetup setup;
  Buffer<std::uint32_t, 2> station;            ///< [row][p, q]
  Buffer<std::complex<float>, 3> data, model;  ///< [row][chan][product]
  Buffer<float, 3> weight;                     ///< [row][chan][product]
  Buffer<std::uint32_t, 1> cell;               ///< [row] its step
  std::vector<double> freq_hz;                 ///< [chan]

  std::size_t n_rows() const { return station.extent(0); }
  CalibrationSamples samples() const { return {station, data, weight, model, cell}; }

  /// Exchanges p and q of a row, V_qp = V_pq^H.
  void reverse(std::size_t row) {
    std::swap(station(row, 0), station(row, 1));
    for (std::size_t chan = 0; chan < setup.n_channels; ++chan) {
      for (auto* values : {&data, &model}) {
        for (std::size_t k = 0; k < setup.n_products; ++k)
          (*values)(row, chan, k) = std::conj((*values)(row, chan, k));
        if (setup.n_products == 4) std::swap((*values)(row, chan, 1), (*values)(row, chan, 2));
      }
      if (setup.n_products == 4) std::swap(weight(row, chan, 1), weight(row, chan, 2));
    }
  }
};

/// Rows [step][baseline], with autocorrelations of garbage among them. Noise of a sample has the variance
/// noise^2 / weight.
inline CalibrationSet simulate_set(
    const CalibrationSetup& setup, const GainOf& gain_of,
    const std::function<float(std::size_t row, std::size_t chan, std::size_t product)>& weight_of = nullptr) {
  using Complex = std::complex<double>;
  std::mt19937_64 random(setup.seed);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> flat(-1, 1);
  CalibrationSet set;
  set.setup = setup;
  const std::size_t n = setup.n_antennas, n_rows = setup.n_steps * n * (n + 1) / 2;
  set.station.resize({n_rows, 2});
  set.data.resize({n_rows, setup.n_channels, setup.n_products});
  set.model.resize(set.data.shape());
  set.weight.resize(set.data.shape());
  set.cell.resize({n_rows});
  for (std::size_t c = 0; c < setup.n_channels; ++c)
    set.freq_hz.push_back(setup.low_hz + static_cast<double>(c) * setup.channel_hz);
  struct Source {
    double l, m;
    reference::Jones b;  // 2x2 brightness
  };
  std::vector<Source> sources(setup.n_sources);
  for (Source& s : sources) {
    s.l = flat(random);
    s.m = flat(random);
    const double flux = (1 + 0.5 * flat(random)) / static_cast<double>(setup.n_sources);
    const double q = setup.model == ModelKind::unpolarised ? 0 : 0.5 * flux * flat(random);
    const double u = setup.model == ModelKind::general ? 0.5 * flux * flat(random) : 0;
    const double v = setup.model == ModelKind::general ? 0.3 * flux * flat(random) : 0;
    s.b = {flux + q, Complex(u, v), Complex(u, -v), flux - q};
  }
  std::vector<std::array<double, 2>> position(n);
  for (auto& at : position) at = {10 * gauss(random), 10 * gauss(random)};
  std::size_t row = 0;
  for (std::size_t step = 0; step < setup.n_steps; ++step)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p; q < n; ++q, ++row) {
        set.station(row, 0) = static_cast<std::uint32_t>(p);
        set.station(row, 1) = static_cast<std::uint32_t>(q);
        set.cell(row) = static_cast<std::uint32_t>(step);
        for (std::size_t chan = 0; chan < setup.n_channels; ++chan) {
          const double scale = set.freq_hz[chan] / setup.low_hz, turn = 0.02 * static_cast<double>(step);
          const double dx = position[p][0] - position[q][0], dy = position[p][1] - position[q][1];
          const double u = scale * (dx * std::cos(turn) - dy * std::sin(turn));
          const double v = scale * (dx * std::sin(turn) + dy * std::cos(turn));
          reference::Jones m{};
          for (const Source& s : sources) {
            const Complex fringe = std::polar(1.0, 6.283185307179586 * (u * s.l + v * s.m));
            for (std::size_t k = 0; k < 4; ++k) m[k] += s.b[k] * fringe;
          }
          const reference::Jones j_p = gain_of(p, chan, step), j_q = gain_of(q, chan, step);
          for (std::size_t product = 0; product < setup.n_products; ++product) {
            const std::size_t k = setup.n_products == 4 ? product : 3 * product;
            Complex data = 0;
            for (std::size_t c = 0; c < 2; ++c)
              for (std::size_t d = 0; d < 2; ++d)
                data += j_p[k / 2 * 2 + c] * m[2 * c + d] * std::conj(j_q[k % 2 * 2 + d]);
            const float w = weight_of ? weight_of(row, chan, product) : 1.f;
            const double rms = setup.noise / std::sqrt(2 * (w > 0 ? w : 1.f));
            const double re = gauss(random), im = gauss(random);
            data += rms * Complex(re, im);
            if (p == q) data = 1e6;
            set.data(row, chan, product) = std::complex<float>(data);
            set.model(row, chan, product) = std::complex<float>(m[k]);
            set.weight(row, chan, product) = w;
          }
        }
      }
  return set;
}

inline GainOf same_gains(const std::vector<reference::Jones>& gains) {
  return [&gains](std::size_t p, std::size_t, std::size_t) { return gains[p]; };
}

/// Sums of a set: cells of single steps, or one cell; channels in blocks of `per_block`.
struct SetSums {
  std::vector<CalibrationSums> cells;
  std::vector<const CalibrationSums*> pointers;
  std::vector<std::uint32_t> block;  ///< [block of the cells]: each its own

  SetSums(const CalibrationSet& set, SumKind kind, bool steps, std::size_t per_block, unsigned n_threads = 1,
          bool monitor = true) {
    SumLayout layout;
    layout.kind = kind;
    layout.n_antennas = set.setup.n_antennas;
    layout.n_products = set.setup.n_products;
    layout.monitor_cross_hands = monitor;
    for (std::size_t chan = 0; chan < set.setup.n_channels; ++chan)
      layout.block.push_back(static_cast<std::uint32_t>(chan / per_block));
    layout.n_blocks = (set.setup.n_channels + per_block - 1) / per_block;
    for (std::size_t step = 0; step < (steps ? set.setup.n_steps : 1); ++step) cells.emplace_back(layout);
    std::vector<CalibrationSums*> to;
    for (auto& own : cells) to.push_back(&own);
    for (auto& own : cells) pointers.push_back(&own);
    CalibrationSamples samples = set.samples();
    Buffer<std::uint32_t, 1> zero({set.n_rows()});
    if (!steps) samples.cell = zero;
    add_samples(samples, to, n_threads);
    block.resize(layout.n_blocks);
    std::iota(block.begin(), block.end(), 0u);
  }

  /// All cells as one slot, with each block for itself.
  SlotCells slot() const { return {pointers, {}, block, block.size()}; }
  /// All blocks as one.
  SlotCells joined() const { return {pointers, {}, std::vector<std::uint32_t>(block.size(), 0), 1}; }
};

/// The solution of a block as matrices; NaN becomes 0.
inline std::vector<reference::Jones> solved_gains(const SlotSolutions& solution, std::size_t block) {
  std::vector<reference::Jones> gains(solution.n_antennas);
  for (std::size_t p = 0; p < gains.size(); ++p) {
    const auto value = [&](std::size_t k) {
      return solution.weight(block, p, k) > 0 ? solution.value(block, p, k) : std::complex<double>(0);
    };
    if (solution.n_values == 4) {
      for (std::size_t k = 0; k < 4; ++k) gains[p][k] = value(k);
    } else {
      gains[p][0] = value(0);
      gains[p][3] = value(solution.n_values - 1);
    }
  }
  return gains;
}

/// Samples of a range of channels for the reference's fit; products that are not measured get weight 0.
inline std::vector<reference::GainSample> fit_samples(const CalibrationSet& set, std::size_t first_chan,
                                                      std::size_t end_chan) {
  std::vector<reference::GainSample> samples;
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    for (std::size_t chan = first_chan; chan < end_chan; ++chan) {
      if (set.station(row, 0) == set.station(row, 1)) continue;
      reference::GainSample s;
      s.p = set.station(row, 0);
      s.q = set.station(row, 1);
      for (std::size_t product = 0; product < set.setup.n_products; ++product) {
        const std::size_t k = set.setup.n_products == 4 ? product : 3 * product;
        const std::complex<float> v = set.data(row, chan, product), m = set.model(row, chan, product);
        const float w = set.weight(row, chan, product);
        if (!std::isfinite(std::abs(m))) continue;
        s.model[k] = m;
        if (!(w > 0) || !std::isfinite(std::abs(v))) continue;
        s.data[k] = v;
        s.weight[k] = w;
      }
      samples.push_back(s);
    }
  return samples;
}

}  // namespace apsyn
