// SPDX-License-Identifier: GPL-3.0-or-later
// bench_correlate [THREADS [CASE]]: the correlator's F and X stages on data in memory, one JSON line per
// case. The first case is the MWA 32-tile prototype: 64 inputs, 1.28 MHz, 128 channels.
// bench_correlate cuda [THREADS [f|fx|streams]]: the same on a GPU (fx), and its F stage alone (f).
// `streams` in place of a case: from a file and from a pipe.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>

#include "kernels/channelise/channelise.h"
#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/correlate/correlate.h"
#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/system/device.h"
#include "tests/bench/correlate/cuda_cases.h"
#include "tests/bench/correlate/streams.h"

using namespace apsyn;

namespace {

struct Case {
  const char* name;
  std::size_t n_chan, n_ant, n_pol, n_fine, n_gulp_sample;
  double sample_s;
  bool delays;
  std::size_t n_taps = 0;
  bool codes = false;  ///< integers by dot products of bytes, requantised when channelised
  bool dither = false;
};

/// Largest error of a few visibilities of the last gulp's spectra against float64, relative to the power.
double error_of(const SpectraBlock& block, const Correlator& correlator, std::size_t n_input) {
  double worst = 0;
  for (std::size_t pair = 0; pair < 40; ++pair) {
    const std::size_t i = pair * 7 % n_input, j = i + pair * 5 % (n_input - i);
    const std::size_t channel = pair % (block.n_chan * block.n_fine);
    std::complex<double> truth = 0;
    double power = 0;
    for (std::size_t t = 0; t < block.n_spectra; ++t) {
      const auto at = [&](std::size_t input) {
        if (block.coded) {
          const std::int8_t* code = &block.codes(channel, input / 16, t / 2, 4 * (input % 16) + 2 * (t % 2));
          return std::complex<double>(code[0], code[1]);
        }
        return std::complex<double>(block.planes(channel, input / 16, t, input % 16),
                                    block.planes(channel, input / 16, t, 16 + input % 16));
      };
      truth += at(i) * std::conj(at(j));
      power += std::abs(at(i)) * std::abs(at(j));
    }
    worst = std::max(worst, std::abs(correlator.sum(channel, i, j) - truth) / power);
  }
  return worst;
}

void run(const Case& c, unsigned n_threads) {
  if (c.codes && !multiplies_codes()) return;
  VoltageHeader header;
  header.n_chan = c.n_chan;
  header.n_ant = c.n_ant;
  header.n_pol = c.n_pol;
  header.sample_s = c.sample_s;
  header.bandwidth_hz = static_cast<double>(c.n_chan) / c.sample_s;
  header.freq_hz = 150e6;
  ChannelisePlan f_plan = plan_channelise(header, c.n_fine, n_threads, {c.n_taps, Window::hann});
  f_plan.codes = c.codes;
  f_plan.integration_spectra = 1 << 30;
  if (c.codes && c.n_fine > 1) f_plan.requantise = {8, c.dither};
  std::vector<double> delay_s;
  for (std::size_t ant = 0; ant < c.n_ant; ++ant)
    delay_s.push_back(1e-6 * std::sin(static_cast<double>(ant)));
  StaticDelays delays(delay_s);
  Channeliser channeliser(f_plan, c.delays ? &delays : nullptr);
  const CorrelatorPlan x_plan{c.n_chan, c.n_fine, c.n_ant, c.n_pol, n_threads, c.codes};
  Correlator correlator(x_plan);
  const IntegrationPlan integration = plan_integration(x_plan, 1 << 30, 16 << 20);

  VoltageBlock block;
  block.n_time = c.n_gulp_sample;
  block.samples_i8.resize({c.n_gulp_sample, c.n_chan, c.n_ant, c.n_pol, 2});
  block.valid.resize({(c.n_gulp_sample + 127) / 128, c.n_ant});
  block.valid.fill(1);
  std::mt19937 random(1);
  for (auto& value : block.samples_i8.view())
    value = static_cast<std::int8_t>(static_cast<int>(random() % 16) - 8);

  SpectraBlock spectra;
  std::int64_t next = 0;
  std::vector<double> total, cpu, f_time, x_time;
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  double error = 0;
  for (int repeat = 0; repeat < 12; ++repeat) {
    correlator.clear();
    const auto begin = Clock::now();
    const std::clock_t cpu_begin = std::clock();
    channeliser.append(block);
    block.first_sample += static_cast<std::int64_t>(block.n_time);
    double f = 0, x = 0;
    const std::int64_t first = next;
    while (next < channeliser.available()) {
      const auto n = std::min<std::int64_t>(static_cast<std::int64_t>(integration.block_spectra),
                                            channeliser.available() - next);
      for (std::size_t chan = 0; chan < c.n_chan; chan += integration.batch_chan) {
        const auto t0 = Clock::now();
        channeliser.spectra(next, static_cast<std::size_t>(n), chan,
                            std::min(integration.batch_chan, c.n_chan - chan), spectra);
        const auto t1 = Clock::now();
        correlator.add(spectra);
        f += seconds(t1 - t0);
        x += seconds(Clock::now() - t1);
      }
      next += n;
    }
    channeliser.release(next);
    const double data_s =
        static_cast<double>(next - first) * static_cast<double>(f_plan.n_sample) * c.sample_s;
    if (repeat < 2) continue;
    total.push_back(seconds(Clock::now() - begin) / data_s);
    cpu.push_back(static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC / data_s);
    f_time.push_back(f / data_s);
    x_time.push_back(x / data_s);
  }
  if (c.n_chan <= integration.batch_chan) {
    correlator.clear();
    correlator.add(spectra);
    error = error_of(spectra, correlator, x_plan.n_input());
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double n_input = static_cast<double>(x_plan.n_input());
  const double useful = n_input * (n_input + 1) / 2 * 8 / c.sample_s * static_cast<double>(c.n_chan);
  fmt::print(
      "{{\"bench\":\"correlate\",\"case\":\"{}\",\"threads\":{},\"inputs\":{},\"channels\":{},\"block\":{},"
      "\"seconds_per_second\":{:.4f},\"min\":{:.4f},\"cpu_min\":{:.4f},\"times_real_time\":{:.3f},\"f_"
      "seconds\":{:.4f},"
      "\"x_seconds\":{:.4f},\"x_gflops\":{:.1f},\"x_error\":{:.2g}}}\n",
      c.name, n_threads, x_plan.n_input(), c.n_chan * c.n_fine, integration.block_spectra, median(total),
      *std::min_element(total.begin(), total.end()), *std::min_element(cpu.begin(), cpu.end()),
      1 / median(total), median(f_time), median(x_time), useful / median(x_time) * 1e-9, error);
  std::fflush(stdout);
}

/// Saturation counts of 8-bit samples in the cache, 128 inputs.
void count_samples() {
  std::vector<std::int8_t> samples(1 << 20);
  std::mt19937 random(1);
  for (auto& value : samples) value = static_cast<std::int8_t>(random());
  std::vector<std::int64_t> counts(128);
  double min_s = 1e9;
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    count_extremes(samples.data(), samples.size() / 256, 128, -128, 127, counts.data());
    min_s = std::min(min_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  fmt::print(
      "{{\"bench\":\"correlate\",\"case\":\"count-samples\",\"threads\":1,\"gigabytes_per_second\":{:.1f}}}"
      "\n",
      static_cast<double>(samples.size()) / min_s * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "cuda") {
    if (cuda_device_count() == 0) {
      fmt::print(stderr, "bench_correlate: no CUDA device\n");
      return 4;
    }
    const std::string_view only = argc > 3 ? argv[3] : "";
    const unsigned n_threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : available_threads();
    if (only.empty() || only == "f") bench::f_stage_cuda();
    if (only.empty() || only == "long") bench::f_stage_long_cuda();
    if (only.empty() || only == "fx") bench::end_to_end_cuda(n_threads);
    if (only.empty() || only == "streams") bench::end_to_end_streams(n_threads, true);
    return 0;
  }
  const unsigned n_threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : available_threads();
  const std::string only = argc > 2 ? argv[2] : "";
  for (const Case& c :
       {Case{"mwa-32t", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, false},
        Case{"mwa-32t-tracked", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, true},
        Case{"mwa-32t-pfb4", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, false, 4},
        Case{"mwa-32t-pfb4-tracked", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, true, 4},
        Case{"mwa-32t-exact", 1, 32, 2, 1, 128 * 512, 1 / 1.28e6, false},
        Case{"mwa-32t-exact-codes", 1, 32, 2, 1, 128 * 512, 1 / 1.28e6, false, 0, true},
        Case{"mwa-32t-requantised", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, false, 0, true},
        Case{"mwa-32t-requantised-dither", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, false, 0, true, true},
        Case{"mwa-32t-requantised-tracked", 1, 32, 2, 128, 128 * 512, 1 / 1.28e6, true, 0, true},
        Case{"mwa-32t-1024", 1, 32, 2, 1024, 128 * 512, 1 / 1.28e6, true},
        Case{"256-inputs-prechannelised", 132, 128, 2, 1, 1024, 40e-6, false},
        Case{"256-inputs-prechannelised-codes", 132, 128, 2, 1, 1024, 40e-6, false, 0, true},
        Case{"tart", 1, 24, 1, 64, 64 * 2048, 1 / 4.092e6, true}})
    if (std::string(c.name).starts_with(only)) run(c, n_threads);
  if (only.empty()) count_samples();
  if (only.empty() || only == "streams") bench::end_to_end_streams(n_threads, false);
}
