// SPDX-License-Identifier: GPL-3.0-or-later
// The unfused chain is the stepwise path: sums over taps, cuFFT, turning and requantising, as three passes
// over float32 values in device memory.
#include "tests/bench/correlate/cuda_cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/channelise/cuda/long/batches.cuh"
#include "kernels/channelise/long_factors.h"
#include "kernels/channelise/pfb.h"
#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "libcore/system/device.h"

namespace apsyn::bench {

namespace {

using namespace f_stage;

struct Case {
  bool real = false, four_bit = false;
  int n_input = 64, n_fine = 128, n_taps = 4;
  bool delays = false;
  bool apart = false;  ///< delays of whole samples, which differ from input to input
};

template <class Work>
std::pair<double, double> seconds_of(cudaStream_t stream, const Work& work) {
  std::vector<double> seconds;
  for (int k = 0; k < 9; ++k) {
    Event begin, end;
    begin.record(stream);
    work();
    end.record(stream);
    end.wait();
    if (k >= 2) seconds.push_back(end.seconds_since(begin));
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[0], seconds[seconds.size() / 2]};
}

void run(const Case& c) {
  constexpr std::size_t kBytes = 512u << 20;
  const int length = c.real ? 2 * c.n_fine : c.n_fine, n_taps = std::max(1, c.n_taps);
  const std::size_t row = static_cast<std::size_t>(c.n_input) * (c.real || c.four_bit ? 1 : 2);
  const int n_spectra = static_cast<int>(kBytes / row / static_cast<std::size_t>(length)) / 64 * 64;
  const std::size_t n_time =
      static_cast<std::size_t>(n_spectra + n_taps + 1) * static_cast<std::size_t>(length);
  std::mt19937 random(1);
  std::vector<std::uint8_t> raw(n_time * row);
  constexpr std::size_t kPattern = 16u << 20;
  for (std::size_t i = 0; i < kPattern; i += 4) {
    // four components of about 20 steps RMS
    std::uint32_t word = 0;
    const std::uint32_t a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
    for (int k = 0; k < 4; ++k) {
      const int value = static_cast<int>(a >> (8 * k) & 31) + static_cast<int>(b >> (8 * k) & 31) - 31;
      word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(value)) << (8 * k);
    }
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&word), 4,
                raw.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = kPattern; i < raw.size(); i += kPattern)
    std::copy_n(raw.begin(), std::min(kPattern, raw.size() - i),
                raw.begin() + static_cast<std::ptrdiff_t>(i));
  const auto samples = uploaded(raw);
  const double sample_s = 1e-6;
  std::vector<Placement> placements(static_cast<std::size_t>(c.n_input) *
                                    static_cast<std::size_t>(n_spectra));
  for (int ant = 0; ant < c.n_input; ++ant)
    for (int s = 0; s < n_spectra; ++s) {
      Placement& at = placements[static_cast<std::size_t>(ant) * static_cast<std::size_t>(n_spectra) +
                                 static_cast<std::size_t>(s)];
      at.start = s * length + (c.apart ? ant % 5 : 0);
      if (!c.delays) continue;
      at.delay_s = sample_s * (0.3 * std::sin(ant) + 1e-6 * s);
      at.slope_s = static_cast<float>(at.delay_s);
    }
  const auto placed = uploaded(placements);
  const auto mixed = uploaded(std::vector<double>{150e6});
  std::vector<float> h =
      pfb_weights(static_cast<std::size_t>(length), {static_cast<std::size_t>(c.n_taps), Window::hann}, 1);
  if (h.empty()) h.assign(static_cast<std::size_t>(length), 1 / std::sqrt(static_cast<float>(length)));
  const auto taps = uploaded(h);
  // packed samples count 16 times their value
  const auto scales =
      uploaded(std::vector<float>(static_cast<std::size_t>(c.n_input), c.four_bit ? 0.25f : 1));
  DeviceArray<unsigned long long> clipped(static_cast<std::size_t>(c.n_input));

  Task task{};
  task.samples = {samples.data(),
                  c.four_bit ? SampleFormat::packed_4bit : SampleFormat::int8,
                  c.real,
                  1,
                  c.n_input,
                  row,
                  row};
  task.placement = placed.data();
  task.placement_stride = task.n_spectra = n_spectra;
  task.n_pol = 1;
  task.length = length;
  task.n_fine = c.n_fine;
  task.n_taps = n_taps;
  task.taps = taps.data();
  task.mixed_hz = mixed.data();
  task.fine_hz = static_cast<float>(1 / (length * sample_s));
  task.turns = c.delays;
  task.scale = scales.data();
  IntegerOutput out{};
  out.layout.n_chan = c.n_fine;
  out.layout.n_blocks = n_spectra / 64;
  out.layout.n_input = c.n_input;
  out.layout.n_input_padded = (c.n_input + 63) / 64 * 64;
  out.clipped = clipped.data();
  std::vector<std::int8_t> truth(out.layout.bytes()), values_of_path(truth.size());
  DeviceArray<std::int8_t> spectra(truth.size());
  out.data = spectra.data();
  cuda_check(cudaDeviceSynchronize(), "preparing");
  CopyStream stream;
  const double n = static_cast<double>(n_spectra) * length * c.n_input;
  const auto measure = [&](const char* path, const auto& work, bool first) {
    cuda_check(cudaMemset(spectra.data(), first ? 2 : 1, spectra.size()), "poisoning");
    cuda_check(cudaDeviceSynchronize(), "poisoning");
    const auto [least, median] = seconds_of(stream.get(), work);
    std::vector<std::int8_t>& to = first ? truth : values_of_path;
    cuda_check(cudaMemcpy(to.data(), spectra.data(), to.size(), cudaMemcpyDeviceToHost), "copying");
    std::size_t different = 0, far = 0;
    double power = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
      different += to[i] != truth[i];
      far += std::abs(to[i] - truth[i]) > 1;
      power += to[i] * to[i];
    }
    fmt::print(
        R"({{"bench":"f_stage","device":"{}","path":"{}","input":"{}{}","inputs":{},"channels":{},"taps":{},)"
        R"("delays":{},"apart":{},"spectra":{},"seconds_min":{:.4g},"seconds_median":{:.4g},)"
        R"("gsamples_per_s":{:.1f},"rms_steps":{:.2f},"differ_by_1":{:.2g},"differ_by_more":{}}})"
        "\n",
        cuda_device_name(0), path, c.four_bit ? "int4" : "int8", c.real ? " real" : " complex", c.n_input,
        c.n_fine, c.n_taps, c.delays, c.apart, n_spectra, least, median, n / median * 1e-9,
        std::sqrt(power / static_cast<double>(to.size())),
        static_cast<double>(different) / static_cast<double>(to.size()), far);
    std::fflush(stdout);
  };

  const int n_stream = c.real ? (c.n_input + 1) / 2 : c.n_input;
  const int batch_spectra =
      std::max(64, static_cast<int>((1u << 28) / sizeof(float2)) / n_stream / length / 64 * 64);
  {
    DeviceArray<float2> values(static_cast<std::size_t>(batch_spectra) * static_cast<std::size_t>(n_stream) *
                               static_cast<std::size_t>(length));
    CudaFft1d fft(length, batch_spectra * n_stream);
    fft.use(stream.get());
    measure(
        "steps",
        [&] {
          for (int first = 0; first < n_spectra; first += batch_spectra) {
            const Batch batch{0, 1, first, std::min(batch_spectra, n_spectra - first)};
            launch_fold(task, batch, values.data(), stream.get());
            fft.execute(values.data());  // of a last, shorter batch more than it holds
            launch_finish(task, batch, values.data(), out, stream.get());
          }
        },
        true);
  }
  if (has_fused(c.real, length, n_taps, task.samples.format)) {
    const auto factors = uploaded(fused_factors(c.real, length, h));
    measure(
        "fused", [&] { launch_fused(task, out, factors.data(), stream.get()); }, false);
  }
  if (has_long(length, n_taps, task.samples.format)) {
    const auto factors = uploaded(long_factors(length, h));
    LongSpectra in_batches;
    measure(
        "long", [&] { in_batches.run(task, placements.data(), out, factors.data(), stream.get()); }, false);
  }
}

}  // namespace

void f_stage_cuda() {
  for (const bool real : {false, true})
    for (const int n_fine : {128, 256, 512, 1024}) run({.real = real, .n_fine = n_fine, .delays = true});
  for (const bool real : {false, true})
    for (const int n_fine : {64, 128}) run({.real = real, .n_fine = n_fine});
  run({.four_bit = true, .n_fine = 128, .delays = true});
  run({.n_fine = 128, .n_taps = 0, .delays = true});
  for (const bool real : {false, true}) run({.real = real, .delays = true, .apart = true});
}

void f_stage_long_cuda() {
  for (const bool real : {false, true}) {
    for (const int n_fine : {1024, 4096})
      for (const int n_taps : {4, 8, 16})
        run({.real = real, .n_fine = n_fine, .n_taps = n_taps, .delays = true});
    for (const int n_fine : {256, 512, 2048, 8192, 16384})
      run({.real = real, .n_fine = n_fine, .delays = true});
    run({.real = real, .n_fine = 1024, .delays = true, .apart = true});
  }
  run({.four_bit = true, .n_fine = 1024, .delays = true});
}

}  // namespace apsyn::bench
