// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/correlate/cuda_cases.h"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <random>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/system/device.h"

namespace apsyn::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Case {
  const char* name;
  std::size_t n_chan, n_ant, n_pol, n_fine, n_taps;
  double sample_s, integration_s;
  bool delays, four_bit;
};

/// Bytes per second that the bus moves to the device.
double bus_rate() {
  constexpr std::size_t kBytes = 256u << 20;
  const auto host = pinned<std::uint8_t>(kBytes);
  DeviceArray<std::uint8_t> device(kBytes);
  CopyStream stream;
  double best = 0;
  for (int k = 0; k < 5; ++k) {
    Event begin, end;
    begin.record(stream.get());
    cuda_check(cudaMemcpyAsync(device.data(), host.get(), kBytes, cudaMemcpyHostToDevice, stream.get()),
               "copying");
    end.record(stream.get());
    end.wait();
    best = std::max(best, static_cast<double>(kBytes) / end.seconds_since(begin));
  }
  return best;
}

void run(const Case& c, unsigned n_threads, double bus) {
  VoltageHeader header;
  header.n_chan = c.n_chan;
  header.n_ant = c.n_ant;
  header.n_pol = c.n_pol;
  header.sample_s = c.sample_s;
  header.bandwidth_hz = static_cast<double>(c.n_chan) / c.sample_s;
  header.freq_hz = 150e6;
  CudaChannelisePlan f;
  f.f = plan_channelise(header, c.n_fine, n_threads, {c.n_taps, Window::hann});
  f.four_bit = c.four_bit;
  f.n_spectra = std::llround(c.integration_s / c.sample_s / static_cast<double>(f.f.n_sample));
  if (!f.untouched(c.delays)) f.requantisation.n_bit = 8;
  f.gulp_samples = cuda_gulp_samples(f, 128u << 20);
  std::vector<double> tau_s;
  for (std::size_t ant = 0; ant < c.n_ant; ++ant) tau_s.push_back(1e-6 * std::sin(static_cast<double>(ant)));
  StaticDelays delays(tau_s);
  const CorrelatorPlan x{c.n_chan, c.n_fine, c.n_ant, c.n_pol, n_threads};
  const IntegrationPlan integration = plan_integration(x, f.n_spectra, 16 << 20);
  MeanPlan mean;
  mean.baselines = all_baselines(c.n_ant, true);
  mean.n_spectra = f.n_spectra;
  const auto engine =
      make_cuda_fx_engine(make_cuda_channeliser(f, c.delays ? &delays : nullptr, 0), x, integration, mean, 0);

  const std::size_t n_input = c.n_ant * c.n_pol, row = n_input * c.n_chan * 2;
  VoltageBlock block;
  block.n_time = std::max<std::size_t>(128, (128u << 20) / row / 128 * 128);
  block.samples_i8.resize({block.n_time, c.n_chan, c.n_ant, c.n_pol, 2});
  block.valid.resize({block.n_time / 128, c.n_ant});
  block.valid.fill(1);
  std::mt19937 random(1);
  for (auto& value : block.samples_i8) {
    const auto r = static_cast<unsigned>(random());
    value =
        static_cast<std::int8_t>(c.four_bit ? static_cast<int>(r % 16) - 8 : static_cast<int>(r % 64) - 32);
  }
  const auto pinned_block = engine->pin(block.samples_i8.data(), block.samples_i8.size());
  FxResult result;
  int n_results = 0;
  const auto append = [&] {
    engine->append(block);
    block.first_sample += static_cast<std::int64_t>(block.n_time);
    while (engine->next(result)) ++n_results;
  };
  while (n_results < 4) append();  // all memory has been touched
  const auto begin = Clock::now();
  const std::int64_t first = block.first_sample;
  double wall = 0;
  while (wall < 1) {
    append();
    wall = seconds_since(begin);
  }
  const double n_time = static_cast<double>(block.first_sample - first), data_s = n_time * c.sample_s;
  const double bytes = n_time * static_cast<double>(row) / (c.four_bit ? 2 : 1);
  const double pairs = static_cast<double>(n_input) * static_cast<double>(n_input + 1) / 2;
  const double useful = 8 * pairs * n_time * static_cast<double>(c.n_chan);
  engine->end_of_stream();
  while (engine->next(result)) continue;
  fmt::print(
      "{{\"bench\":\"correlate_cuda\",\"device\":\"{}\",\"case\":\"{}\",\"threads\":{},\"inputs\":{},"
      "\"channels\":{},"
      "\"bits\":{},\"seconds_per_second\":{:.5f},\"times_real_time\":{:.1f},\"gbytes_per_s\":{:.2f},"
      "\"bus_gbytes_per_s\":{:.2f},\"fraction_of_bus\":{:.3f},\"useful_tops\":{:.2f}}}\n",
      cuda_device_name(0), c.name, n_threads, n_input, c.n_chan * c.n_fine, c.four_bit ? 4 : 8, wall / data_s,
      data_s / wall, bytes / wall * 1e-9, bus * 1e-9, bytes / wall / bus, useful / wall * 1e-12);
  std::fflush(stdout);
}

}  // namespace

void end_to_end_cuda(unsigned n_threads) {
  const double bus = bus_rate();
  for (const Case& c : {Case{"mwa-32t", 1, 32, 2, 128, 0, 1 / 1.28e6, 1, true, true},
                        Case{"mwa-32t-8bit", 1, 32, 2, 128, 0, 1 / 1.28e6, 1, true, false},
                        Case{"mwa-32t-pfb4", 1, 32, 2, 128, 4, 1 / 1.28e6, 1, true, true},
                        Case{"lwa-sv", 132, 256, 2, 1, 0, 40e-6, 1, false, false},
                        Case{"lwa-sv-4bit", 132, 256, 2, 1, 0, 40e-6, 1, false, true},
                        Case{"512-antennas", 1, 512, 2, 64, 4, 1 / 1.28e6, 0.5, true, false},
                        Case{"512-antennas-4bit", 1, 512, 2, 64, 4, 1 / 1.28e6, 0.5, true, true}})
    run(c, n_threads, bus);
}

}  // namespace apsyn::bench
