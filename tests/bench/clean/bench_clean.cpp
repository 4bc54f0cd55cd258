// SPDX-License-Identifier: GPL-3.0-or-later
// Components per second of a minor cycle, by algorithm, image size, PSF size, channel groups and threads.
// bench_clean [--full] [hogbom|clark|multiscale] [cuda[:N]]: image sizes to 4096 instead of to 2048; of one
// algorithm; on a GPU instead of the CPU, with images on their way there and back.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>

#include "kernels/clean/deconvolve.h"
#include "libcore/system/device.h"
#include "tests/bench/clean/scene.h"

using namespace apsyn;

namespace {

struct Case {
  CleanAlgorithm algorithm;
  const char* name;
  std::size_t n, psf_n, n_group, n_component, sub_image = 0;
  bool wide = false;
};

double rms(const Buffer<float, 4>& image) {
  double sum = 0;
  for (const float value : image) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum / static_cast<double>(image.size()));
}

void run(const Case& c, const bench::CleanScene& scene, const Device& device, unsigned n_threads) {
  DeconvolutionSettings settings;
  settings.algorithm = c.algorithm;
  settings.max_iterations = c.n_component;
  settings.sub_image_pixels = c.sub_image;
  settings.n_threads = n_threads, settings.device = device;
  settings.join_channels = true;
  std::vector<DeconvolutionGroup> groups;
  for (std::size_t g = 0; g < c.n_group; ++g) groups.push_back({1.4e8 + 1e6 * static_cast<double>(g), 1});
  Buffer<float, 4> residual(scene.dirty.shape()), model(scene.dirty.shape());
  std::copy(scene.dirty.begin(), scene.dirty.end(), residual.begin());
  const std::clock_t start_processor = std::clock();
  const auto start = std::chrono::steady_clock::now();
  Deconvolver deconvolver(settings, scene.psf, groups, {1, c.n, c.n}, 4);
  const CycleReport report = deconvolver.minor_cycle(residual, model);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double processor = static_cast<double>(std::clock() - start_processor) / CLOCKS_PER_SEC;
  fmt::print(
      "{{\"bench\": \"clean\", \"algorithm\": \"{}\", \"image\": {}, \"psf\": {}, \"sub_image\": {}, "
      "\"wide\": {}, "
      "\"groups\": {}, "
      "\"device\": \"{}\", \"threads\": {}, \"components\": {}, \"seconds\": {:.3f}, \"processor_s\": "
      "{:.3f}, \"components_per_s\": "
      "{:.0f}, \"start_peak_jy\": {:.4g}, "
      "\"peak_jy\": {:.4g}, \"noise_jy\": {:.4g}, \"residual_rms_jy\": {:.6g}, \"model_jy\": {:.6g}, "
      "\"sky_jy\": {:.6g}}}\n",
      c.name, c.n, c.psf_n, c.sub_image, c.wide, c.n_group,
      device.kind == Device::Kind::cuda ? device.description : "cpu", n_threads, report.n_components, seconds,
      processor, static_cast<double>(report.n_components) / seconds, report.sets[0].start_peak_jy,
      report.sets[0].peak_jy, report.sets[0].noise_jy, rms(residual), report.sets[0].model_flux_jy,
      scene.flux_jy);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool full = false;
  std::string only;
  Device device;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--full")
      full = true;
    else if (const std::string name = argv[i]; name == "hogbom" || name == "clark" || name == "multiscale")
      only = name;
    else
      device = choose_device(argv[i], CudaSupport::available, available_threads());
  const bool on_device = device.kind == Device::Kind::cuda;
  const auto hogbom = CleanAlgorithm::hogbom, clark = CleanAlgorithm::clark,
             multiscale = CleanAlgorithm::multiscale;
  std::vector<Case> cases{{hogbom, "hogbom", 1024, 2048, 1, 10000},
                          {clark, "clark", 1024, 2048, 1, 10000},
                          {hogbom, "hogbom", 2048, 2048, 1, 10000},
                          {clark, "clark", 2048, 2048, 1, 10000},
                          {hogbom, "hogbom", 2048, 4096, 1, 10000},
                          {clark, "clark", 2048, 4096, 1, 10000},
                          {clark, "clark", 2048, 4096, 1, 100000},
                          {clark, "clark", 2048, 4096, 1, 100000, 512},
                          {hogbom, "hogbom", 1024, 2048, 4, 10000},
                          {clark, "clark", 1024, 2048, 4, 10000},
                          {multiscale, "multiscale", 512, 1024, 1, 3000, 0, true},
                          {multiscale, "multiscale", 1024, 2048, 1, 3000, 0, true},
                          {multiscale, "multiscale", 1024, 2048, 1, 3000},
                          {multiscale, "multiscale", 1024, 2048, 4, 3000},
                          {multiscale, "multiscale", 2048, 4096, 1, 3000},
                          {multiscale, "multiscale", 2048, 4096, 1, 3000, 512}};
  if (full) {
    cases.push_back({hogbom, "hogbom", 4096, 8192, 1, 10000});
    cases.push_back({clark, "clark", 4096, 8192, 1, 10000});
    cases.push_back({multiscale, "multiscale", 4096, 8192, 1, 3000});
  }
  bench::CleanScene scene;
  std::array<std::size_t, 4> made{};
  for (const Case& c : cases) {
    if (!only.empty() && only != c.name) continue;
    const std::array<std::size_t, 4> wanted{c.n, c.psf_n, c.n_group, c.wide};
    if (std::exchange(made, wanted) != wanted) {
      bench::SceneSize size{c.n, c.psf_n, c.n_group};
      if (c.wide) size.n_source = 100;
      size.wide = c.wide;
      scene = bench::make_clean_scene(size);
    }
    if (on_device) run(c, scene, device, available_threads());  // warms up
    for (unsigned n_threads = on_device ? available_threads() : 1; n_threads <= available_threads();
         n_threads *= 2)
      run(c, scene, device, n_threads);
  }
}
