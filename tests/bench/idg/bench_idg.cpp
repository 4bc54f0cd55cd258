// SPDX-License-Identifier: GPL-3.0-or-later
// Gridding from host memory, with everything that grid() does: sorting into subgrids, transfers, kernels,
// A-terms, adding; and the layers' transforms apart. One JSON line per case. The error is against a float64
// DFT of 60 pixels (not with A-terms).
//   bench_idg [cpu|cuda] [quick]
//   bench_idg cuda degrid [gpu|hybrid|unified]      the degridder: its sums, then its whole passes with the
//   grids there; "passes" instead: these alone
// On the CPU one thread, and rates per second of processor time, so that other work on the machine counts
// little.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/idg.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/bench/idg/degrid.h"
#include "tests/reference/dft_image.h"
#include "tests/support/grid_rows.h"

using namespace apsyn;

namespace {

struct Case {
  std::size_t n_pixels = 1024;
  double cell_asec = 30;
  std::size_t n_visibilities = 262144, n_chan = 16, n_planes = 4, subgrid = 32, kernel_padding = 0;
  Precision precision = Precision::single;
  AtermMode aterms = AtermMode::none;
  std::size_t n_image_planes = 4;  ///< with A-terms
};

constexpr std::size_t n_stations = 8;

/// Baselines one after the other, each a few thousand visibilities along an ellipse.
support::GridRows make_visibilities(const Case& c) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1, 1);
  const std::size_t n_row = c.n_visibilities / c.n_chan, n_step = std::max<std::size_t>(128, n_row / 128);
  support::GridRows v;
  v.uvw_m.resize({n_row, 3});
  v.wavenumber.resize({c.n_chan});
  v.data.resize({n_row, c.n_chan, c.n_planes});
  v.weight.resize({n_row, c.n_chan, c.n_planes});
  v.station.resize({n_row, 2});
  const double cell_rad = c.cell_asec * std::numbers::pi / 648000, longest_m = 0.4 / cell_rad * 2.0;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    v.wavenumber(chan) = (150e6 + 0.1e6 * static_cast<double>(chan)) / 299792458.0;
  for (std::size_t first = 0; first < n_row; first += n_step) {
    const double length = longest_m * std::pow(std::abs(flat(random)), 2),
                 angle = std::numbers::pi * flat(random);
    for (std::size_t r = first; r < std::min(n_row, first + n_step); ++r) {
      const double turned = angle + 0.075 * static_cast<double>(r - first) / static_cast<double>(n_step);
      v.uvw_m(r, 0) = length * std::cos(turned);
      v.uvw_m(r, 1) = length * std::sin(turned) * 0.9;
      v.uvw_m(r, 2) = length * std::sin(turned) * 0.1;
      v.station(r, 0) = static_cast<std::uint32_t>(first / n_step % n_stations);
      v.station(r, 1) = static_cast<std::uint32_t>(first / n_step / n_stations % n_stations);
      v.max_w_lambda = std::max(v.max_w_lambda, std::abs(v.uvw_m(r, 2)) * v.wavenumber(c.n_chan - 1));
    }
  }
  for (auto& value : v.data) value = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
  v.weight.fill(1);
  if (c.aterms != AtermMode::none) {
    v.row_slot.resize({n_row});
    v.chan_slot.resize({c.n_chan});
    v.jones.resize({1, 1, n_stations, c.subgrid, c.subgrid, 4});
    for (auto& value : v.jones) value = {static_cast<float>(flat(random)), static_cast<float>(flat(random))};
  }
  return v;
}

/// Seconds of the wall, or of this process on one core.
double now(const Device& device) {
  if (device.kind == Device::Kind::cpu) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double image_error(const Case& c, const IdgPlan& plan, const support::GridRows& v,
                   const Buffer<double, 3>& image) {
  std::mt19937_64 random(5);
  std::vector<reference::DftVisibility> all;
  for (std::size_t r = 0; r < v.uvw_m.extent(0); ++r)
    for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
      const double k = v.wavenumber(chan);
      all.push_back({v.uvw_m(r, 0) * k, v.uvw_m(r, 1) * k, v.uvw_m(r, 2) * k, v.data(r, chan, 0)});
    }
  std::vector<reference::DftPixel> pixels;
  std::vector<double> got;
  const auto half = static_cast<double>(c.n_pixels / 2);
  for (int i = 0; i < 60; ++i) {
    const std::size_t x = random() % c.n_pixels, y = random() % c.n_pixels;
    pixels.push_back({(half - static_cast<double>(x)) * plan.image.cell_rad,
                      (static_cast<double>(y) - half) * plan.image.cell_rad});
    got.push_back(image(0, y, x));
  }
  const auto want = reference::dft_image(all, pixels);
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    power += want[i] * want[i];
  }
  return std::sqrt(error / power);
}

void run(const Case& c, const Device& device, unsigned n_threads) {
  const support::GridRows v = make_visibilities(c);
  IdgSettings settings;
  settings.subgrid = c.subgrid;
  settings.kernel_padding = c.kernel_padding;
  settings.precision = c.precision;
  const IdgPlan plan =
      make_idg_plan({c.n_pixels, c.n_pixels, c.cell_asec * std::numbers::pi / 648000}, settings,
                    {.max_w_lambda = v.max_w_lambda,
                     .n_visibilities = static_cast<double>(c.n_visibilities),
                     .n_planes = c.n_planes,
                     .device = device.kind});
  IdgSetup setup{.n_data_planes = c.n_planes, .aterms = c.aterms, .n_threads = n_threads};
  if (c.aterms != AtermMode::none) setup.mix.assign(c.n_image_planes, {0.5, 0, 0, 0.5});
  auto gridder = make_gridder(device, plan, setup);
  double grid_s = 1e30, count_s = 1e30, layers_s = 1e30;
  GridCounts counts;
  Buffer<double, 3> image;
  for (int repeat = 0; repeat < 5; ++repeat) {
    gridder->begin_pass({0, plan.n_layers});
    double begin = now(device);
    counts = gridder->grid(v.block());
    grid_s = std::min(grid_s, now(device) - begin);
    begin = now(device);
    gridder->count(v.block());
    count_s = std::min(count_s, now(device) - begin);
  }
  const double begin = now(device);
  gridder->end_pass();
  layers_s = now(device) - begin;
  image = gridder->take_images();
  const bool aterms = c.aterms != AtermMode::none;
  fmt::print(
      "{{\"bench\":\"idg_grid\",\"device\":\"{}\",\"precision\":\"{}\",\"pixels\":{},\"planes\":{},"
      "\"image_planes\":{},\"aterms\":\"{}\",\"subgrid\":{},\"kernel_padding\":{},\"layers\":{},"
      "\"channels\":{},\"visibilities\":{},\"subgrids\":{},\"grid_seconds\":{:.4g},"
      "\"of_which_sorting\":{:.4g},\"Mvis_per_s\":{:.4g},\"layers_seconds\":{:.4g},\"error\":{:.2e}}}\n",
      device.description, c.precision == Precision::single ? "single" : "double", c.n_pixels, c.n_planes,
      setup.n_image_planes(), aterms ? c.aterms == AtermMode::adjoint ? "adjoint" : "normalised" : "none",
      plan.settings.subgrid, plan.settings.kernel_padding, plan.n_layers, c.n_chan, counts.n_visibilities,
      counts.n_subgrids, grid_s, count_s, static_cast<double>(counts.n_visibilities) / grid_s * 1e-6,
      layers_s, aterms ? NAN : image_error(c, plan, v, image));
  std::fflush(stdout);
}

void run_cpu(const Device& device, bool quick) {
  for (Precision precision : {Precision::single, Precision::double_})
    for (std::size_t n_planes : {4, 1})
      for (std::size_t n_chan : {16, 1, 64})
        for (std::size_t subgrid : {24, 32, 48, 64, 96, 128, 160}) {
          const bool single = precision == Precision::single;
          if (quick && (!single || n_chan != 16 || (subgrid != 32 && subgrid != 96))) continue;
          run({.n_chan = n_chan,
               .n_planes = n_planes,
               .subgrid = subgrid,
               .kernel_padding = single          ? 14u
                                 : subgrid == 24 ? 18u
                                                 : 22u,
               .precision = precision},
              device, 1);
        }
  for (std::size_t n_image_planes : {4, 1})
    for (AtermMode mode : {AtermMode::normalised, AtermMode::adjoint})
      for (std::size_t subgrid : {32, 96})
        run({.subgrid = subgrid, .kernel_padding = 14, .aterms = mode, .n_image_planes = n_image_planes},
            device, 1);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const unsigned n_threads = available_threads();
    const Device device = choose_device(argc > 1 ? argv[1] : "auto", CudaSupport::available, n_threads);
    const bool quick = argc > 2 && argv[2] == std::string("quick");
    if (device.kind == Device::Kind::cpu) {
      run_cpu(device, quick);
      return 0;
    }
    const std::string what = argc > 2 ? argv[2] : "";
    if (what == "degrid") bench::degrid_kernels(device);
    if (what == "degrid" || what == "passes") {
      bench::degrid_passes(device, parse_grid_memory(argc > 3 ? argv[3] : "gpu"), n_threads);
      return 0;
    }
    for (std::size_t subgrid : {32, 64, 96})
      for (std::size_t n_planes : {1, 4})
        run({.n_pixels = 2048,
             .cell_asec = 15,
             .n_visibilities = 2097152,
             .n_planes = n_planes,
             .subgrid = subgrid},
            device, n_threads);
    run({.n_pixels = 2048, .cell_asec = 15, .n_visibilities = 524288, .n_chan = 1}, device, n_threads);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
