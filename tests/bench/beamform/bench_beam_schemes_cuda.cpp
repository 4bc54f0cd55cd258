// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of BEST-2 (32 antennas, 1024 channels, 20 MHz, 4 bits, 420 ms) in device memory, by the scheme of
// Magro, Zarb Adami & Hickish (2014) and by kernels/common/cuda/beams/products.cuh: accumulators by threads
// (their figure 1), and time against beams (figure 2). Every spectrum's power is kept, as there. One JSON
// line for each case; plot_beams draws them. The error is the worst difference of the two over the RMS, of
// weights that are integers.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/beams/products.cuh"
#include "tests/bench/beamform/accumulators.cuh"

using namespace apsyn;

namespace {

constexpr int kChannels = 1024, kAntennas = 32, kSpectra = 8192;
constexpr double kSpectrum_s = 1024 / 20e6;

/// Median of five.
template <class Launch>
double seconds_of(Launch launch) {
  std::vector<double> seconds;
  for (int i = 0; i < 6; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    launch();
    cuda_check(cudaDeviceSynchronize(), "waiting");
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin() + 1, seconds.end());
  return seconds[3];
}

int weight(int channel, int beam, int ant, int part) {
  return (channel * 31 + beam * 17 + ant * 7 + part * 3 + (beam * ant) % 11) % 127 - 63;
}
std::uint8_t code(int channel, int spectrum, int ant) {
  unsigned x = static_cast<unsigned>(channel * 73 + spectrum * 151 + ant * 31 + 7) * 2654435761u;
  return static_cast<std::uint8_t>(x >> 24);
}

struct Samples {
  DeviceArray<std::uint32_t> words;  // of their scheme
  DeviceArray<std::uint8_t> codes;   // [spectrum][channel][ant]
};

Samples make_samples() {
  std::vector<std::uint32_t> words(std::size_t(kChannels) * kAntennas / 4 * kSpectra);
  std::vector<std::uint8_t> codes(std::size_t(kSpectra) * kChannels * kAntennas);
  for (int channel = 0; channel < kChannels; ++channel)
    for (int t = 0; t < kSpectra; ++t)
      for (int ant = 0; ant < kAntennas; ++ant) {
        const std::uint8_t value = code(channel, t, ant);
        codes[(std::size_t(t) * kChannels + channel) * kAntennas + ant] = value;
        words[(std::size_t(channel) * kAntennas / 4 + ant / 4) * kSpectra + t] |= std::uint32_t{value}
                                                                                  << 8 * (ant % 4);
      }
  return {uploaded(words), uploaded(codes)};
}

struct Weights {
  DeviceArray<float2> floats;
  DeviceArray<std::int8_t> codes;
  beam_products::WeightLayout layout;
};

Weights make_weights(int n_beam) {
  using namespace beam_products;
  const WeightLayout layout{.n_row = kChannels, .n_ant = kAntennas, .n_beam = n_beam};
  std::vector<float2> floats(std::size_t(kChannels) * n_beam * kAntennas);
  std::vector<std::int8_t> codes(layout.bytes());
  std::size_t at = 0;
  for (int channel = 0; channel < kChannels; ++channel)
    for (int beam = 0; beam < n_beam; ++beam)
      for (int ant = 0; ant < kAntennas; ++ant, ++at) {
        const int re = weight(channel, beam, ant, 0), im = weight(channel, beam, ant, 1);
        floats[at] = {static_cast<float>(re), static_cast<float>(im)};
        std::int8_t* to = codes.data() + layout.group(channel, 0, beam / kGroupBeams, 0);
        to[weight_offset(beam % kGroupBeams, 0, ant)] = static_cast<std::int8_t>(re);
        to[weight_offset(beam % kGroupBeams, 1, ant)] = static_cast<std::int8_t>(im);
      }
  return {uploaded(floats), uploaded(codes), layout};
}

void print(const char* scheme, int n_beam, int accumulators, int threads, double seconds, double error) {
  const double operations = 8.0 * kChannels * kAntennas * kSpectra * n_beam;
  fmt::print(
      "{{\"bench\": \"beam_schemes\", \"scheme\": \"{}\", \"beams\": {}, \"accumulators\": {}, \"threads\": "
      "{}, "
      "\"ms\": {:.4f}, \"tops\": {:.3f}, \"times_real_time\": {:.1f}, \"error\": {:.2g}}}\n",
      scheme, n_beam, accumulators, threads, seconds * 1e3, operations / seconds * 1e-12,
      kSpectra * kSpectrum_s / seconds, error);
  std::fflush(stdout);
}

/// Worst difference over the RMS, of some channels.
double difference(const DeviceArray<float>& a, const DeviceArray<float>& b, int n_beam) {
  const std::size_t n = std::size_t(8) * n_beam * kSpectra;
  std::vector<float> x(n), y(n);
  cuda_check(cudaMemcpy(x.data(), a.data(), n * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  cuda_check(cudaMemcpy(y.data(), b.data(), n * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  double worst = 0, square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    worst = std::max(worst, std::abs(double(x[i]) - double(y[i])));
    square += double(x[i]) * double(x[i]);
  }
  return worst / std::sqrt(square / static_cast<double>(n));
}

}  // namespace

int main() {
  const int n_sm = device_attribute(cudaDevAttrMultiProcessorCount, 0);
  const Samples samples = make_samples();
  int best[2] = {16, 128};
  for (int n_beam : {32, 8, 16, 64, 128, 256}) {
    const Weights weights = make_weights(n_beam);
    const std::size_t n_power = std::size_t(kChannels) * n_beam * kSpectra;
    DeviceArray<float> power(n_power), other(n_power);
    bench::AccumulatorTask theirs{
        kChannels, kAntennas, n_beam, kSpectra, samples.words.data(), weights.floats.data(), power.data()};
    const auto measure = [&](int accumulators, int threads) {
      if (!bench::launch_accumulators(theirs, accumulators, threads, nullptr)) return 1e9;
      const double seconds =
          seconds_of([&] { bench::launch_accumulators(theirs, accumulators, threads, nullptr); });
      print("accumulators", n_beam, accumulators, threads, seconds, 0);
      return seconds;
    };
    if (n_beam == 32) {
      double least = 1e9;
      for (const int accumulators : {1, 2, 4, 8, 16, 32})
        for (const int threads : {32, 64, 128, 256, 512, 1024}) {
          const double seconds = measure(accumulators, threads);
          if (seconds < least) least = seconds, best[0] = accumulators, best[1] = threads;
        }
    } else {
      measure(best[0], best[1]);
    }
    beam_products::Task ours;
    ours.n_channel = kChannels;
    ours.sections = {kSpectra, kSpectra, kSpectra, kSpectra};
    ours.layout = weights.layout;
    ours.weights = weights.codes.data();
    ours.source = {.layout = beam_products::Source::SampleLayout::int4,
                   .data = samples.codes.data(),
                   .spectrum_stride = std::size_t(kChannels) * kAntennas,
                   .channel_stride = kAntennas};
    ours.segment = 1;
    ours.beam_stride = kSpectra;
    ours.row_stride = std::size_t(n_beam) * kSpectra;
    ours.out = other.data();
    const double seconds = seconds_of([&] { beam_products::launch(ours, n_sm, nullptr); });
    print("tensor cores", n_beam, 0, 0, seconds, difference(power, other, n_beam));
  }
}
