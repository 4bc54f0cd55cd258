// SPDX-License-Identifier: GPL-3.0-or-later
// Processor time of calibration without reading: samples to sums, sums to gains.
// bench_calibrate [ANTENNAS CHANNELS STEPS]: by default an MWA snapshot of 128 antennas, 24 channels and 15
// steps, 2.93 million visibilities of four products, S/N 1.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/calibrate/calibrate.h"

using namespace apsyn;

namespace {

/// Uniform numbers in -1 .. 1 of a fast generator.
class Noise {
 public:
  float next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<float>(static_cast<double>(state_ >> 40) / (1 << 23) - 1);
  }

 private:
  std::uint64_t state_ = 1;
};

struct Set {
  std::size_t n_antennas, n_channels, n_steps;
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> step, zero;
  Buffer<std::complex<float>, 3> data, model;
  Buffer<float, 3> weight;
  std::vector<double> freq_hz;
  std::vector<std::array<std::complex<float>, 4>> gain;

  Set(std::size_t antennas, std::size_t channels, std::size_t steps)
      : n_antennas(antennas), n_channels(channels), n_steps(steps) {
    Noise noise;
    const std::size_t n_baselines = antennas * (antennas - 1) / 2, n_rows = n_baselines * steps;
    station.resize({n_rows, 2});
    step.resize({n_rows});
    zero.resize({n_rows});
    data.resize_for_overwrite({n_rows, channels, 4});
    model.resize_for_overwrite({n_rows, channels, 4});
    weight.resize_for_overwrite({n_rows, channels, 4});
    weight.fill(1);
    for (std::size_t c = 0; c < channels; ++c) freq_hz.push_back(138e6 + 1.28e6 * static_cast<double>(c));
    gain.resize(antennas);
    for (auto& g : gain) {
      g[0] = std::polar(1 + 0.2f * noise.next(), 3 * noise.next());
      g[3] = std::polar(1 + 0.2f * noise.next(), 3 * noise.next());
      g[1] = {0.05f * noise.next(), 0.05f * noise.next()};
      g[2] = {0.05f * noise.next(), 0.05f * noise.next()};
    }
    std::size_t row = 0;
    for (std::size_t t = 0; t < steps; ++t)
      for (std::size_t p = 0; p < antennas; ++p)
        for (std::size_t q = p + 1; q < antennas; ++q, ++row) {
          station(row, 0) = static_cast<std::uint32_t>(p);
          station(row, 1) = static_cast<std::uint32_t>(q);
          step(row) = static_cast<std::uint32_t>(t);
          const auto &j = gain[p], &k = gain[q];
          std::array<std::complex<float>, 4> v;
          for (std::size_t a = 0; a < 2; ++a)
            for (std::size_t b = 0; b < 2; ++b)
              v[2 * a + b] = j[2 * a] * std::conj(k[2 * b]) + j[2 * a + 1] * std::conj(k[2 * b + 1]);
          for (std::size_t c = 0; c < channels; ++c) {
            const std::complex<float> m = std::polar(1.f, 3 * noise.next());
            for (std::size_t product = 0; product < 4; ++product) {
              const float re = noise.next() * 1.22f, im = noise.next() * 1.22f;  // RMS 1 of the complex noise
              data(row, c, product) = v[product] * m + std::complex<float>(re, im);
              model(row, c, product) = product == 0 || product == 3 ? m : 0.f;
            }
          }
        }
  }
};

SumLayout layout_of(const Set& set, SumKind kind, bool monitor) {
  SumLayout layout;
  layout.kind = kind;
  layout.n_antennas = set.n_antennas;
  layout.n_products = 4;
  layout.n_blocks = set.n_channels;
  layout.block.resize(set.n_channels);
  std::iota(layout.block.begin(), layout.block.end(), 0u);
  layout.monitor_cross_hands = monitor;
  return layout;
}

/// The least processor time of some runs, in seconds.
template <class Run>
double time_of(int n_runs, Run run) {
  double least = 1e300;
  for (int i = 0; i < n_runs; ++i) {
    const std::clock_t start = std::clock();
    run();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

/// Adds all rows, so many steps at a time.
void add_all(const Set& set, const std::vector<CalibrationSums*>& cells, bool steps,
             std::size_t steps_at_a_time) {
  const std::size_t rows = set.n_antennas * (set.n_antennas - 1) / 2 * steps_at_a_time,
                    n = set.n_channels * 4;
  for (std::size_t first = 0; first < set.station.extent(0); first += rows) {
    const std::size_t count = std::min(rows, set.station.extent(0) - first);
    const auto values = [&](const auto& from) {
      using T = std::remove_cvref_t<decltype(*from.data())>;
      return View<const T, 3>(from.data() + first * n, {count, set.n_channels, 4});
    };
    CalibrationSamples samples;
    samples.station = {set.station.data() + 2 * first, {count, 2}};
    samples.data = values(set.data);
    samples.weight = values(set.weight);
    samples.model = values(set.model);
    samples.cell = {(steps ? set.step : set.zero).data() + first, {count}};
    add_samples(samples, cells, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? static_cast<std::size_t>(std::strtoul(argv[i], nullptr, 10)) : otherwise;
  };
  const Set set(number(1, 128), number(2, 24), number(3, 15));
  const std::string size =
      fmt::format("\"antennas\": {}, \"channels\": {}, \"steps\": {}, \"visibilities\": {}", set.n_antennas,
                  set.n_channels, set.n_steps, set.data.size() / 4);
  std::vector<std::uint32_t> blocks(set.n_channels);
  std::iota(blocks.begin(), blocks.end(), 0u);

  struct Kind {
    SumKind kind;
    bool monitor;
    const char* name;
  };
  for (const Kind& k : {Kind{SumKind::diagonal, false, "diagonal"},
                        Kind{SumKind::diagonal, true, "diagonal, cross hands monitored"},
                        Kind{SumKind::jones_unpolarised, false, "jones, unpolarised"},
                        Kind{SumKind::jones_diagonal, false, "jones, diagonal"},
                        Kind{SumKind::jones_general, false, "jones, general"}})
    for (const std::size_t at_a_time : {set.n_steps, std::size_t{1}}) {
      CalibrationSums sums(layout_of(set, k.kind, k.monitor));
      const double seconds = time_of(3, [&] {
        sums.reset(layout_of(set, k.kind, k.monitor), 1);
        add_all(set, {&sums}, false, at_a_time);
      });
      fmt::print(
          "{{\"bench\": \"calibrate\", \"what\": \"add\", \"sums\": \"{}\", {}, \"steps_per_call\": {}, "
          "\"processor_s\": "
          "{:.4f}, \"gb_per_s\": {:.2f}, \"sums_mb\": {:.1f}}}\n",
          k.name, size, at_a_time, seconds, static_cast<double>(set.data.size()) * 20 / seconds / 1e9,
          static_cast<double>(sums.bytes()) / 1e6);
    }

  struct Case {
    const char* name;
    SumKind kind;
    SolveSettings settings;
    bool steps;
  };
  std::vector<Case> cases = {
      {"gain", SumKind::diagonal, {}, false},
      {"gain, exact errors", SumKind::diagonal, {.exact_errors = true}, false},
      {"gain, robust", SumKind::diagonal, {.robust_nu = 2}, true},
      {"phase", SumKind::diagonal, {.term = CalibrationTerm::phase}, false},
      {"jones", SumKind::jones_unpolarised, {.term = CalibrationTerm::jones}, false},
      {"jones, diagonal sums", SumKind::jones_diagonal, {.term = CalibrationTerm::jones}, false},
      {"jones, general sums", SumKind::jones_general, {.term = CalibrationTerm::jones}, false},
      {"jones, robust", SumKind::jones_unpolarised, {.term = CalibrationTerm::jones, .robust_nu = 2}, true},
      {"delay", SumKind::diagonal, {.term = CalibrationTerm::delay}, false},
      {"tec", SumKind::diagonal, {.term = CalibrationTerm::tec}, false}};
  for (const Case& c : cases) {
    std::vector<CalibrationSums> cells;
    for (std::size_t t = 0; t < (c.steps ? set.n_steps : 1); ++t)
      cells.emplace_back(layout_of(set, c.kind, true));
    std::vector<CalibrationSums*> to;
    std::vector<const CalibrationSums*> from;
    for (auto& own : cells) {
      to.push_back(&own);
      from.push_back(&own);
    }
    add_all(set, to, c.steps, set.n_steps);
    SlotSolutions solution;
    const double seconds = time_of(3, [&] {
      solution = solve_slot({from, {}, blocks, blocks.size()}, set.freq_hz, c.settings);
    });
    double iterations = 0;
    for (const auto n : solution.n_iterations)
      iterations += n / static_cast<double>(solution.n_iterations.size());
    fmt::print(
        "{{\"bench\": \"calibrate\", \"what\": \"solve\", \"term\": \"{}\", {}, \"processor_s\": {:.4f}, "
        "\"iterations\": {:.1f}, \"flagged\": {}}}\n",
        c.name, size, seconds, iterations, solution.n_flagged());
  }
}
