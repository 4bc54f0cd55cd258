// SPDX-License-Identifier: GPL-3.0-or-later
// Time per second of data of the MWA-32T workload: 32 antennas x 2 polarisations, 1.28 MHz, 4 + 4 bit.
// bench_simulate [sources [threads]]
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>

#include "libcore/system/device.h"
#include "tests/support/voltage_bench.h"

int main(int argc, char** argv) {
  using namespace apsyn;
  const int n_sources = argc > 1 ? std::atoi(argv[1]) : 8;
  const unsigned n_threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : available_threads();
  std::vector<Vec3> antennas;
  for (int k = 0; k < 32; ++k) antennas.push_back({170 * std::cos(2.4 * k), 9.0 * k - 140, 0.1 * k});
  std::vector<std::array<double, 4>> stokes(static_cast<std::size_t>(n_sources), {10, 0, 0, 0});
  std::vector<bench::Star> stars;
  for (int k = 0; k < n_sources; ++k) stars.push_back({-0.4 - 0.01 * k, 0.03 * k});
  simulate::VoltageSetup setup = bench::setup_of(stokes, antennas);
  setup.sefd_jy = 20000;
  setup.n_bit = 4;
  const simulate::VoltagePlan plan = plan_voltages(setup, n_threads);
  const std::size_t n_time = 1280000;
  const auto start = std::chrono::steady_clock::now();
  const auto stream = bench::stream_of(setup, stars, n_time, n_threads);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} sources, {} threads, transforms of {}, {} terms: {:.2f} s per second of data\n", n_sources,
             n_threads, plan.n_fft, plan.order + 1, seconds);
}
