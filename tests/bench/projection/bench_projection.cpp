// SPDX-License-Identifier: GPL-3.0-or-later
// W- and AW-projection against the size of the convolution kernel, as in figure 16 of Veenboer and Romein
// 2020. One JSON line per case; plot_figure16 draws them together with those of bench_idg, whose visibilities
// these are. Seconds and Mvis_per_s are of gridding or degridding with everything it does: visibilities from
// or into host memory, sorting, AW-projection's weights; W-projection's table is made beforehand. "resident"
// leaves the transfers to the device out. GB_per_s are bytes of weights read, TFLOP_per_s 32 operations for
// each cell. The error is that of the image against a float64 DFT, at 60 pixels.
//   bench_projection [cpu|cuda [SIZE...]]
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/bench/projection/image_check.h"

using namespace apsyn;
using namespace apsyn::projection;

namespace {

constexpr std::size_t n_pixels = 2048, n_grid = 3072, n_w_planes = 128;
constexpr double cell_rad = 15 * std::numbers::pi / 648000;

struct Truth {
  std::vector<Direction> pixels;
  std::vector<std::complex<double>> image_w, image_aw;
  Buffer<std::complex<float>, 3> grid;
  Buffer<std::complex<double>, 2> visibilities_w, visibilities_aw;
};

/// Oversampling errs by some percent, so that a better taper would gain nothing.
Taper make_taper() {
  return Taper(TaperKind::pswf, choose_taper_c(TaperKind::pswf, 8, 1.5, 1e-4));
}

Truth find_truth(const Workload& workload, unsigned n_threads) {
  Truth truth;
  truth.pixels = choose_directions(60, n_pixels, cell_rad);
  truth.image_w = sums_by_definition(workload, truth.pixels, false, n_threads);
  truth.image_aw = sums_by_definition(workload, truth.pixels, true, n_threads);
  const std::vector<Direction> sources(truth.pixels.begin(), truth.pixels.begin() + 10);
  truth.grid = grid_of_sources(n_grid, cell_rad, make_taper(), sources, n_threads);
  truth.visibilities_w = visibilities_by_definition(workload, sources, false, n_threads);
  truth.visibilities_aw = visibilities_by_definition(workload, sources, true, n_threads);
  return truth;
}

Setup make_setup(std::size_t size, const Workload& workload, const Taper& taper, bool aterms) {
  Setup setup;
  setup.size = size;
  setup.n_grid = n_grid;
  setup.cell_rad = cell_rad;
  setup.interval = workload.interval;
  setup.n_w_planes = n_w_planes;
  setup.max_w_lambda = workload.max_w_lambda;
  const auto n = static_cast<double>(size);
  for (std::size_t i = 0; i < size; ++i) setup.taper.push_back(taper(2 * static_cast<double>(i) / n - 1));
  if (!aterms) return setup;
  setup.aterms.resize({n_stations, size, size});
  const double step = static_cast<double>(n_grid) * cell_rad / n;
  for (std::size_t s = 0; s < n_stations; ++s)
    for (std::size_t y = 0; y < size; ++y)
      for (std::size_t x = 0; x < size; ++x)
        setup.aterms(s, y, x) =
            std::complex<float>(aterm(static_cast<std::uint32_t>(s), (static_cast<double>(x) - n / 2) * step,
                                      (static_cast<double>(y) - n / 2) * step));
  return setup;
}

/// The least of three repetitions.
struct Timing {
  double all_s = 1e30;
  Seconds device_s{1e30, 1e30};
};
template <class Work>
Timing measure(Gridder& gridder, Work work) {
  Timing timing;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    timing.all_s = std::min(timing.all_s,
                            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    const Seconds s = gridder.seconds();
    if (s.weights + s.gridding < timing.device_s.weights + timing.device_s.gridding) timing.device_s = s;
  }
  return timing;
}

void print_line(const char* direction, const Setup& setup, const Workload& workload, const Device& device,
                const Timing& timing, double error) {
  const auto n = static_cast<double>(workload.data.size() / n_pol);
  const double cells = n * static_cast<double>(setup.size * setup.size);
  const Seconds& s = timing.device_s;
  fmt::print(
      "{{\"bench\":\"projection\",\"operation\":\"{}\",\"direction\":\"{}\",\"device\":\"{}\",\"kernel\":{},"
      "\"w_planes\":{},\"grid\":{},\"channels\":{},\"visibilities\":{},\"seconds\":{:.4g},\"Mvis_per_s\":{:."
      "4g},"
      "\"weights_seconds\":{:.4g},\"gridding_seconds\":{:.4g},\"resident_Mvis_per_s\":{:.4g},"
      "\"GB_per_s\":{:.4g},\"TFLOP_per_s\":{:.4g},\"error\":{:.2e}}}\n",
      setup.has_aterms() ? "AW-projection" : "W-projection", direction, device.description, setup.size,
      setup.has_aterms() ? 0 : n_w_planes, n_grid, workload.wavenumber.size(), workload.data.size() / n_pol,
      timing.all_s, n / timing.all_s * 1e-6, s.weights, s.gridding, n / (s.weights + s.gridding) * 1e-6,
      cells * 8 / s.gridding * 1e-9, cells * 32 / s.gridding * 1e-12, error);
  std::fflush(stdout);
}

void run(std::size_t size, bool aterms, const Workload& workload, const Truth& truth, const Device& device,
         unsigned n_threads) {
  const Taper taper = make_taper();
  const Setup setup = make_setup(size, workload, taper, aterms);
  auto gridder = make_gridder(device, setup, n_threads);
  const Visibilities visibilities = workload.view();
  gridder->grid(visibilities);
  const double error =
      image_error(sums_from_grid(gridder->grid_copy(), cell_rad, taper, truth.pixels, n_threads),
                  aterms ? truth.image_aw : truth.image_w);
  print_line("gridding", setup, workload, device, measure(*gridder, [&] { gridder->grid(visibilities); }),
             error);

  Buffer<std::complex<float>, 3> predicted(workload.data.shape());
  gridder->set_grid(truth.grid);
  gridder->degrid(visibilities, predicted);
  const double predicted_error =
      visibility_error(predicted, aterms ? truth.visibilities_aw : truth.visibilities_w);
  print_line("degridding", setup, workload, device,
             measure(*gridder, [&] { gridder->degrid(visibilities, predicted); }), predicted_error);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const unsigned n_threads = available_threads();
    const Device device = choose_device(argc > 1 ? argv[1] : "auto", CudaSupport::available, n_threads);
    const std::size_t scale = device.kind == Device::Kind::cuda ? 8 : 1;
    const Workload workload = make_workload(16384 * scale, 16, cell_rad);
    const Truth truth = find_truth(workload, n_threads);
    std::vector<std::size_t> sizes{8, 16, 24, 32, 48, 64, 96, 128};
    if (argc > 2) sizes.clear();
    for (int i = 2; i < argc; ++i) {
      sizes.push_back(std::strtoul(argv[i], nullptr, 10));
      if (sizes.back() == 0 || sizes.back() % 8 != 0 || sizes.back() > 512)
        throw UsageError("{}: give sizes that are multiples of 8 up to 512", argv[i]);
    }
    for (const bool aterms : {false, true})
      for (const std::size_t size : sizes) run(size, aterms, workload, truth, device, n_threads);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_projection: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
