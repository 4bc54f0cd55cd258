// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding from host memory, with everything that grid() does: sorting into subgrids, transfers, kernels,
// adding; and the layers' transforms apart. One JSON line per case. The error is against a float64 DFT of 200
// pixels.
//   bench_idg [cpu|cuda] [grid|degrid|degrid-kernels]
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/idg/idg.h"
#include "libcore/core/device.h"
#include "libcore/core/error.h"
#include "tests/bench/idg/degrid.h"
#include "tests/reference/dft_image.h"

using namespace apsyn;

namespace {

struct Case {
  std::size_t n_pixels, n_row, n_chan, n_planes, subgrid;
  double cell_asec;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const Case& c, const Device& device, unsigned n_threads) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1, 1);
  Buffer<double, 2> uvw_m({c.n_row, 3});
  Buffer<double, 1> wavenumber({c.n_chan});
  Buffer<std::complex<float>, 3> data({c.n_row, c.n_chan, c.n_planes});
  Buffer<float, 3> weight({c.n_row, c.n_chan, c.n_planes});
  const double cell_rad = c.cell_asec * std::numbers::pi / 648000, longest_m = 0.4 / cell_rad * 2.0;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    wavenumber(chan) = (150e6 + 0.1e6 * static_cast<double>(chan)) / 299792458.0;
  double max_w = 0;
  constexpr std::size_t n_step = 128;  // consecutive rows belong to a baseline that turns slowly
  for (std::size_t first = 0; first < c.n_row; first += n_step) {
    const double length = longest_m * std::pow(std::abs(flat(random)), 2),
                 angle = std::numbers::pi * flat(random);
    for (std::size_t r = first; r < std::min(c.n_row, first + n_step); ++r) {
      const double turned = angle + 7.3e-5 * 8 * static_cast<double>(r - first);
      uvw_m(r, 0) = length * std::cos(turned);
      uvw_m(r, 1) = length * std::sin(turned) * 0.9;
      uvw_m(r, 2) = length * std::sin(turned) * 0.1;
      max_w = std::max(max_w, std::abs(uvw_m(r, 2)) * wavenumber(c.n_chan - 1));
    }
  }
  for (auto& value : data) value = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
  weight.fill(1);
  IdgSettings settings;
  settings.subgrid = c.subgrid;
  const IdgPlan plan = make_idg_plan({c.n_pixels, c.n_pixels, cell_rad}, settings, max_w,
                                     static_cast<double>(c.n_row * c.n_chan));
  auto gridder = make_gridder(device, plan, {.n_data_planes = c.n_planes, .n_threads = n_threads});
  const GridBlock block{uvw_m, {}, wavenumber, data, weight, {}, {}};
  double grid_s = 1e30, count_s = 1e30;
  GridCounts counts;
  for (int repeat = 0; repeat < 3; ++repeat) {
    gridder->begin_pass(0, plan.n_layers);
    auto begin = std::chrono::steady_clock::now();
    counts = gridder->grid(block);
    grid_s = std::min(grid_s, seconds_since(begin));
    begin = std::chrono::steady_clock::now();
    gridder->count(block);
    count_s = std::min(count_s, seconds_since(begin));
  }
  const auto begin = std::chrono::steady_clock::now();
  gridder->end_pass();
  const double layers_s = seconds_since(begin);
  const auto image = gridder->take_images();

  std::vector<reference::DftVisibility> all;
  for (std::size_t r = 0; r < c.n_row; ++r)
    for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
      const double k = wavenumber(chan);
      all.push_back({uvw_m(r, 0) * k, uvw_m(r, 1) * k, uvw_m(r, 2) * k, data(r, chan, 0)});
    }
  std::vector<reference::DftPixel> pixels;
  std::vector<double> got;
  const auto half = static_cast<double>(c.n_pixels / 2);
  for (int i = 0; i < 60; ++i) {
    const std::size_t x = random() % c.n_pixels, y = random() % c.n_pixels;
    pixels.push_back(
        {(half - static_cast<double>(x)) * cell_rad, (static_cast<double>(y) - half) * cell_rad});
    got.push_back(image(0, y, x));
  }
  const auto want = reference::dft_image(all, pixels);
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    power += want[i] * want[i];
  }
  const auto n = static_cast<double>(counts.n_visibilities);
  fmt::print(
      "{{\"bench\":\"idg_grid\",\"device\":\"{}\",\"pixels\":{},\"planes\":{},\"subgrid\":{},\"terms\":{},"
      "\"layers\":{},"
      "\"channels\":{},\"visibilities\":{},\"subgrids\":{},\"grid_seconds\":{:.4g},\"of_which_sorting\":{:."
      "4g},"
      "\"Mvis_per_s\":{:.4g},\"layers_seconds\":{:.4g},\"error\":{:.2e}}}\n",
      device.description, c.n_pixels, c.n_planes, plan.settings.subgrid, plan.n_terms, plan.n_layers,
      c.n_chan, counts.n_visibilities, counts.n_subgrids, grid_s, count_s, n / grid_s * 1e-6, layers_s,
      std::sqrt(error / power));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const unsigned n_threads = available_threads();
    const Device device = choose_device(argc > 1 ? argv[1] : "auto", CudaSupport::available, n_threads);
    const std::string what = argc > 2 ? argv[2] : "grid";
    if (what == "degrid" || what == "degrid-kernels") {
      bench::degrid_kernels(device);
      if (what == "degrid") bench::degrid_passes(device, n_threads);
      return 0;
    }
    const std::size_t scale = device.kind == Device::Kind::cuda ? 8 : 1;
    for (std::size_t subgrid : {32, 64, 96})
      for (std::size_t n_planes : {1, 4})
        run({2048, 16384 * scale, 16, n_planes, subgrid, 15}, device, n_threads);
    run({2048, 65536 * scale, 1, 4, 32, 15}, device, n_threads);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
