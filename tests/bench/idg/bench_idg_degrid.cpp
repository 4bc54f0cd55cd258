// SPDX-License-Identifier: GPL-3.0-or-later
// Predicting visibilities into host memory, with everything that degrid() does: sorting into subgrids,
// splitting, transforms, A-terms, interpolation; and the layers' transforms apart. One JSON line per case.
// The error is against the float64 sum over the model's pixels, of visibilities all over the block.
//   bench_idg_degrid [cpu|cuda] [THREADS]
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/idg/idg.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/reference/dft_image.h"

using namespace apsyn;

namespace {

constexpr std::size_t n_stations = 16;

struct Case {
  std::size_t n_row, n_chan, n_planes, subgrid, kernel_padding;
  std::size_t n_step;  ///< rows of a baseline, which turns slowly
  bool aterms;
  double cell_asec = 15;
  std::size_t n_pixels = 2048;
};

struct Coverage {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> row_slot, chan_slot;
  double max_w_lambda = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Coverage cover(const Case& c, double cell_rad) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> flat(-1, 1);
  Coverage v;
  v.uvw_m.resize({c.n_row, 3});
  v.wavenumber.resize({c.n_chan});
  v.station.resize({c.n_row, 2});
  v.row_slot.resize({c.n_row});
  v.chan_slot.resize({c.n_chan});
  const double longest_m = 0.4 / cell_rad * 2.0;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    v.wavenumber(chan) = (150e6 + 0.1e6 * static_cast<double>(chan)) / 299792458.0;
  for (std::size_t first = 0; first < c.n_row; first += c.n_step) {
    const double length = longest_m * std::pow(std::abs(flat(random)), 2),
                 angle = std::numbers::pi * flat(random);
    for (std::size_t r = first; r < std::min(c.n_row, first + c.n_step); ++r) {
      const double turned = angle + 7.3e-5 * 2 * static_cast<double>(r - first);
      v.uvw_m(r, 0) = length * std::cos(turned);
      v.uvw_m(r, 1) = length * std::sin(turned) * 0.9;
      v.uvw_m(r, 2) = length * std::sin(turned) * 0.1;
      v.max_w_lambda = std::max(v.max_w_lambda, std::abs(v.uvw_m(r, 2)) * v.wavenumber(c.n_chan - 1));
      const std::size_t baseline = first / c.n_step;
      v.station(r, 0) = static_cast<std::uint32_t>(baseline % n_stations);
      v.station(r, 1) = static_cast<std::uint32_t>(baseline / n_stations);
    }
  }
  return v;
}

/// Unpolarised sources all over the field.
Buffer<double, 3> random_model(const Case& c, double cell_rad, std::vector<reference::DftSource>& sources) {
  std::mt19937_64 random(4);
  const auto half = static_cast<double>(c.n_pixels / 2);
  Buffer<double, 3> model({c.n_planes, c.n_pixels, c.n_pixels});
  for (int i = 0; i < 100; ++i) {
    const std::size_t x = random() % c.n_pixels, y = random() % c.n_pixels;
    const double flux = 1 + static_cast<double>(random() % 100) / 100;
    for (std::size_t plane = 0; plane < c.n_planes; plane += 3) model(plane, y, x) = flux;
    sources.push_back(
        {(half - static_cast<double>(x)) * cell_rad, (static_cast<double>(y) - half) * cell_rad, flux});
  }
  return model;
}

void run(const Case& c, const Device& device, unsigned n_threads) {
  const double cell_rad = c.cell_asec * std::numbers::pi / 648000;
  const Coverage v = cover(c, cell_rad);
  std::vector<reference::DftSource> sources;
  const auto model = random_model(c, cell_rad, sources);
  IdgSettings settings;
  settings.subgrid = c.subgrid;
  settings.kernel_padding = c.kernel_padding;
  const IdgPlan plan = make_idg_plan({c.n_pixels, c.n_pixels, cell_rad}, settings,
                                     {.max_w_lambda = v.max_w_lambda,
                                      .n_visibilities = static_cast<double>(c.n_row * c.n_chan),
                                      .n_planes = c.n_planes,
                                      .device = device.kind});
  IdgSetup setup{.n_data_planes = c.n_planes, .n_threads = n_threads};
  GridBlock block{v.uvw_m, {}, v.wavenumber, {}, {}, v.station, {}};
  Buffer<std::complex<float>, 6> jones;
  if (c.aterms) {
    // Ones, so that the error stays that of the prediction; they are applied like any others.
    setup.aterms = AtermMode::adjoint;
    setup.mix = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    jones.resize({1, 1, c.n_row / c.n_step / n_stations + n_stations, plan.settings.subgrid,
                  plan.settings.subgrid, 4});
    for (std::size_t i = 0; i < jones.size(); ++i) jones.data()[i] = i % 4 % 3 == 0 ? 1 : 0;
    block.aterms = {v.row_slot, v.chan_slot, jones};
  }
  auto degridder = make_degridder(device, plan, setup);
  auto begin = std::chrono::steady_clock::now();
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  const double layers_s = seconds_since(begin);
  Buffer<std::complex<float>, 3> data({c.n_row, c.n_chan, c.n_planes});
  double degrid_s = 1e30, cpu_s = 1e30;
  GridCounts counts;
  for (int repeat = 0; repeat < 10; ++repeat) {
    data.fill(0);
    begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    counts = degridder->degrid(block, data);
    cpu_s = std::min(cpu_s, static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC);
    degrid_s = std::min(degrid_s, seconds_since(begin));
  }
  double error = 0, power = 0;
  for (std::size_t i = 0; i < c.n_row * c.n_chan; i += 211) {
    const std::size_t row = i / c.n_chan, chan = i % c.n_chan;
    const double k = v.wavenumber(chan);
    const auto want =
        reference::dft_visibility(sources, v.uvw_m(row, 0) * k, v.uvw_m(row, 1) * k, v.uvw_m(row, 2) * k);
    error += std::norm(std::complex<double>(data(row, chan, 0)) - want);
    power += std::norm(want);
  }
  const auto n = static_cast<double>(counts.n_visibilities);
  fmt::print(
      "{{\"bench\":\"idg_degrid\",\"device\":\"{}\",\"threads\":{},\"pixels\":{},\"planes\":{},\"aterms\":{},"
      "\"subgrid\":{},\"kernel_padding\":{},\"layers\":{},\"channels\":{},\"visibilities\":{},"
      "\"per_subgrid\":{:.0f},\"degrid_seconds\":{:.4g},\"Mvis_per_s\":{:.4g},\"cpu_seconds\":{:.4g},\"Mvis_"
      "per_cpu_s\":{:.4g},\"layers_seconds\":{:.4g},"
      "\"error\":{:.2e}}}\n",
      device.description, n_threads, c.n_pixels, c.n_planes, c.aterms, plan.settings.subgrid,
      plan.settings.kernel_padding, plan.n_layers, c.n_chan, counts.n_visibilities,
      n / static_cast<double>(counts.n_subgrids), degrid_s, n / degrid_s * 1e-6, cpu_s, n / cpu_s * 1e-6,
      layers_s, std::sqrt(error / power));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const unsigned n_threads =
        argc > 2 ? static_cast<unsigned>(std::max(1, std::atoi(argv[2]))) : available_threads();
    const Device device = choose_device(argc > 1 ? argv[1] : "auto", CudaSupport::available, n_threads);
    const std::size_t scale = device.kind == Device::Kind::cuda ? 8 : 1;
    struct Size {
      std::size_t subgrid, kernel_padding;
    };
    for (const Size size : {Size{32, 16}, Size{64, 24}, Size{96, 24}}) {
      run({16384 * scale, 16, 4, size.subgrid, size.kernel_padding, 512, false}, device, n_threads);
      run({16384 * scale, 16, 4, size.subgrid, size.kernel_padding, 512, true}, device, n_threads);
    }
    run({16384 * scale, 16, 1, 32, 16, 512, false}, device, n_threads);
    run({65536 * scale, 1, 4, 32, 16, 2048, false}, device, n_threads);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg_degrid: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
