// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA beamformer's sums over antennas with detection and integration, in device memory, of samples as
// they come and of rows: 256 inputs, 132 channels, 1024 spectra. One JSON line for each case; useful TOPS are
// 8 operations for each beam and sample. Arguments: numbers of beams (default 16 32 128 512 4096).
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/beams/products.cuh"
#include "kernels/common/cuda/check.h"

using namespace apsyn;
using namespace apsyn::beam_products;

namespace {

template <class T>
DeviceArray<T> filled(std::size_t n, unsigned seed) {
  std::vector<T> host(n);
  for (T& value : host) value = static_cast<T>((seed = seed * 1664525 + 1013904223) >> 24);
  DeviceArray<T> array(n);
  cuda_check(cudaMemcpy(array.data(), host.data(), n * sizeof(T), cudaMemcpyHostToDevice), "copying");
  return array;
}

/// Seconds of a launch: the median of single ones, and back to back for 0.3 s.
template <class Launch>
std::pair<double, double> seconds_of(Launch launch) {
  const auto run = [&](int n) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) launch();
    cuda_check(cudaDeviceSynchronize(), "waiting");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / n;
  };
  run(1);
  std::vector<double> single;
  for (int i = 0; i < 11; ++i) single.push_back(run(1));
  std::sort(single.begin(), single.end());
  return {single[5], run(std::max(3, static_cast<int>(0.3 / single[5])))};
}

void run(int n_beam, int n_pol, int n_weight_pol, Source::SampleLayout layout, int n_sm) {
  constexpr int kChannels = 132, kInputs = 256, kSpectra = 1024;
  Task task;
  task.n_channel = kChannels;
  task.n_pol = n_pol;
  task.sections = {kSpectra, kSpectra, kSpectra, kSpectra};
  task.layout = {.n_row = kChannels, .n_pol = n_weight_pol, .n_ant = kInputs / n_pol, .n_beam = n_beam};
  const std::size_t sample = layout == Source::SampleLayout::int4 ? 1 : 2;
  const auto samples = filled<std::int8_t>(sample * kChannels * kSpectra * kInputs, 1);
  const auto weights = filled<std::int8_t>(task.layout.bytes(), 2);
  const auto scale = filled<float>(std::size_t(kChannels) * n_pol * n_beam, 3);
  const int n_value = n_pol == 2 ? 4 : 1, n_segment = kSpectra / 128;
  DeviceArray<float> out(std::size_t(kChannels) * n_beam * n_value * n_segment);
  task.weights = weights.data();
  task.scale = scale.data();
  task.source.layout = layout;
  task.source.data = samples.data();
  task.source.channel_stride = sample * kInputs;
  task.source.spectrum_stride = sample * kInputs * kChannels;
  task.product = n_pol == 2 ? Product::coherence : Product::power;
  task.out = out.data();
  // [beam][time][value][channel], as files have it
  task.joined = true;
  task.row_stride = 1;
  task.value_stride = kChannels;
  task.segment_stride = std::size_t(n_value) * kChannels;
  task.beam_stride = task.segment_stride * n_segment;
  const auto [single, sustained] = seconds_of([&] { launch(task, n_sm, nullptr); });
  const double operations = 8.0 * kChannels * kInputs * kSpectra * n_beam;
  const char* layouts[] = {"rows", "int8", "int4"};
  fmt::print(
      "{{\"beams\": {}, \"polarisations\": {}, \"weight_polarisations\": {}, \"samples\": \"{}\", "
      "\"short_tops\": {:.0f}, \"sustained_tops\": {:.0f}, \"sustained_us\": {:.1f}}}\n",
      n_beam, n_pol, n_weight_pol, layouts[static_cast<int>(layout)], operations / single * 1e-12,
      operations / sustained * 1e-12, sustained * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int n_sm = device_attribute(cudaDevAttrMultiProcessorCount, 0);
  std::vector<int> beams;
  for (int i = 1; i < argc; ++i) beams.push_back(std::stoi(argv[i]));
  if (beams.empty()) beams = {16, 32, 128, 512, 4096};
  for (const int n_beam : beams)
    for (const auto layout :
         {Source::SampleLayout::rows, Source::SampleLayout::int8, Source::SampleLayout::int4})
      for (const int n_pol : {1, 2})
        for (int n_weight_pol = 1; n_weight_pol <= n_pol; ++n_weight_pol)
          run(n_beam, n_pol, n_weight_pol, layout, n_sm);
}
