// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/correlate/streams.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/base/error.h"
#include "libcore/streams/voltage_stream.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tests/reference/scratch.h"

namespace apsyn::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

VoltageHeader header_of(std::uint32_t n_bit) {
  VoltageHeader header;
  header.n_ant = 32;
  header.n_pol = 2;
  header.n_bit = n_bit;
  header.sample_s = 1 / 1.28e6;
  header.bandwidth_hz = 1.28e6;
  header.freq_hz = 150e6;
  return header;
}

/// Writes random samples, of whole missing_samples; returns the bytes.
double write_voltages(const std::string& path, const VoltageHeader& header, std::size_t n_bytes) {
  std::vector<std::uint8_t> raw(16 << 20);
  std::mt19937 random(1);
  for (std::uint8_t& byte : raw) byte = static_cast<std::uint8_t>(random() >> 11);
  VoltageWriter writer(path, header, true);
  for (std::size_t done = 0; done < n_bytes; done += raw.size()) writer.write(raw.data(), raw.size());
  writer.commit();
  return static_cast<double>(n_bytes);
}

struct Engine {
  ChannelisePlan f;
  CudaChannelisePlan cuda;
  CorrelatorPlan x;
  MeanPlan mean;
  IntegrationPlan integration;
  StaticDelays delays;
  std::unique_ptr<FxEngine> engine;
  std::size_t gulp_samples = 0;

  Engine(const VoltageHeader& header, unsigned n_threads, bool on_gpu) : delays(delays_of(header.n_ant)) {
    constexpr std::size_t kFine = 128;
    const std::size_t row = header.n_chan * header.n_ant * header.n_pol * 2;
    f = plan_channelise(header, kFine, n_threads, {0, Window::hann});
    x = {header.n_chan, kFine, header.n_ant, header.n_pol, n_threads};
    mean.baselines = all_baselines(header.n_ant, true);
    mean.n_spectra = std::llround(1 / header.sample_s / static_cast<double>(f.n_sample));
    integration = plan_integration(x, mean.n_spectra, 16 << 20);
    gulp_samples = (4u << 20) / row / header.missing_samples * header.missing_samples;
    if (!on_gpu) {
      engine = make_fx_engine(std::make_shared<Channeliser>(f, &delays), x, integration, mean);
      return;
    }
    cuda.f = f;
    cuda.requantisation.n_bit = 8;
    cuda.n_spectra = mean.n_spectra;
    cuda.gulp_samples = cuda_gulp_samples(cuda, 64u << 20);
    engine = make_cuda_fx_engine(make_cuda_channeliser(cuda, &delays, 0), x, integration, mean, 0);
  }
  static std::vector<double> delays_of(std::size_t n_ant) {
    std::vector<double> tau_s;
    for (std::size_t ant = 0; ant < n_ant; ++ant) tau_s.push_back(1e-6 * std::sin(static_cast<double>(ant)));
    return tau_s;
  }
};

/// Seconds from the first byte to the last mean; the engine is there before.
double correlate_seconds(const std::string& path, const VoltageHeader& header, unsigned n_threads,
                         bool on_gpu, const std::function<void()>& open) {
  Engine work(header, n_threads, on_gpu);
  open();
  const auto begin = Clock::now();
  VoltageReader reader(path);
  StreamSteps<FxResult> steps;
  steps.pin = [&](VoltageBlock& block) {
    return pin_block(*work.engine, header, false, work.gulp_samples, block);
  };
  steps.read = [&](VoltageBlock& block) { return reader.read(block, work.gulp_samples); };
  steps.work = [&](StreamItem<FxResult>& item) { process_item(*work.engine, item); };
  steps.write = [](StreamItem<FxResult>&) {};
  run_stream(steps);
  return seconds_since(begin);
}

double seconds_of_command(const std::string& command) {
  double best = 1e30;
  for (int k = 0; k < 3; ++k) {
    const auto begin = Clock::now();
    if (std::system(command.c_str()) != 0) throw FailureError("cannot run: {}", command);
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

}  // namespace

void end_to_end_streams(unsigned n_threads, bool on_gpu) {
  const reference::Scratch scratch;
  const std::string path = scratch.path("voltages.dada");
  for (const std::uint32_t n_bit : {8u, 4u}) {
    const VoltageHeader header = header_of(n_bit);
    const double bytes = write_voltages(path, header, std::size_t{on_gpu ? 2048u : 256u} << 20);
    const double data_s = bytes * 8 / static_cast<double>(header.bits_per_time()) * header.sample_s;
    for (const bool from_pipe : {false, true}) {
      const double cat_s =
          seconds_of_command(from_pipe ? "cat " + path + " | cat > /dev/null"
                                       : "dd if=" + path + " of=/dev/null bs=1M 2> /dev/null");
      const int standard_input = ::dup(0);
      FILE* cat = nullptr;
      double best_s = 1e30;
      for (int k = 0; k < 2; ++k) {
        const double seconds = correlate_seconds(from_pipe ? "-" : path, header, n_threads, on_gpu, [&] {
          if (!from_pipe) return;
          cat = ::popen(("cat " + path).c_str(), "r");
          if (cat == nullptr || ::dup2(::fileno(cat), 0) < 0) throw FailureError("cannot run cat");
        });
        best_s = std::min(best_s, seconds);
        if (from_pipe) {
          ::dup2(standard_input, 0);
          ::pclose(cat);
        }
      }
      ::close(standard_input);
      fmt::print(
          "{{\"bench\":\"correlate_streams\",\"device\":\"{}\",\"from\":\"{}\",\"bits\":{},\"threads\":{},"
          "\"times_real_time\":{:.2f},\"gbytes_per_s\":{:.3f},\"cat_gbytes_per_s\":{:.3f},\"fraction_of_"
          "cat\":"
          "{:.3f}}}\n",
          on_gpu ? "cuda" : "cpu", from_pipe ? "pipe" : "file", n_bit, n_threads, data_s / best_s,
          bytes / best_s * 1e-9, bytes / cat_s * 1e-9, cat_s / best_s);
      std::fflush(stdout);
    }
  }
}

}  // namespace apsyn::bench
