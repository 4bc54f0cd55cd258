// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA beamformer's sums over antennas with detection and integration, from operands in device memory:
// 256 inputs, 132 channels, 1024 spectra. One JSON line for each number of beams; useful TOPS are 8
// operations for each beam and sample. Arguments: numbers of beams (default 32 128 512 4096).
#include <fmt/format.h>

#ifdef APSYN_CUDA
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/common/beam_sums.cuh"
#include "kernels/common/cuda_check.h"
#include "kernels/common/device_array.h"

using namespace apsyn;
using namespace apsyn::beam_sums;

namespace {

template <class T>
DeviceArray<T> filled(std::size_t n, unsigned seed) {
  std::vector<T> host(n);
  for (T& value : host) value = static_cast<T>(((seed = seed * 1664525 + 1013904223) >> 24) & 0x7F);
  DeviceArray<T> array(n);
  cuda_check(cudaMemcpy(array.data(), host.data(), n * sizeof(T), cudaMemcpyHostToDevice), "copying");
  return array;
}

void run(int n_beam, int n_pol, int n_sm) {
  const Layout layout{.n_chan = 132,
                      .n_pol = n_pol,
                      .n_ant = 256 / n_pol,
                      .n_beam = n_beam,
                      .n_spectra = 1024,
                      .n_weight_pol = n_pol};
  const auto samples = filled<std::int8_t>(layout.sample_bytes(), 1);
  const auto weights = filled<std::int8_t>(layout.weight_bytes(), 2);
  const auto scale = filled<float>(std::size_t(layout.n_chan) * n_pol * n_beam, 3);
  const int n_value = n_pol == 2 ? 4 : 1;
  DeviceArray<float> out(std::size_t(layout.n_chan) * n_beam * n_value * layout.n_tiles());
  const Task task{layout, samples.data(), weights.data(), scale.data(), kTileSpectra, out.data()};
  const auto seconds_of = [&](int n) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i)
      launch_wgmma(task, n_pol == 2 ? Product::coherence : Product::power, n_sm, nullptr);
    cuda_check(cudaDeviceSynchronize(), "waiting");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / n;
  };
  seconds_of(1);
  std::vector<double> single;
  for (int i = 0; i < 11; ++i) single.push_back(seconds_of(1));
  std::sort(single.begin(), single.end());
  const double sustained = seconds_of(std::max(3, static_cast<int>(0.3 / single[5])));
  const double operations =
      8.0 * layout.n_chan * n_pol * layout.n_ant * n_beam * static_cast<double>(layout.n_spectra);
  fmt::print("{{\"beams\": {}, \"polarisations\": {}, \"short_tops\": {:.0f}, \"sustained_tops\": {:.0f}}}\n",
             n_beam, n_pol, operations / single[5] * 1e-12, operations / sustained * 1e-12);
}

}  // namespace

int main(int argc, char** argv) {
  int n_sm = 0;
  cuda_check(cudaDeviceGetAttribute(&n_sm, cudaDevAttrMultiProcessorCount, 0), "asking the device");
  std::vector<int> beams;
  for (int i = 1; i < argc; ++i) beams.push_back(std::stoi(argv[i]));
  if (beams.empty()) beams = {32, 128, 512, 4096};
  for (int n_beam : beams)
    for (int n_pol : {1, 2}) run(n_beam, n_pol, n_sm);
}
#else
int main() {
  fmt::print("bench_beam_sums_cuda: this build has no CUDA\n");
  return 1;
}
#endif
