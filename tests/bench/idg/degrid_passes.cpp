// SPDX-License-Identifier: GPL-3.0-or-later
// Whole passes of the degridder: 52 stations on a LOFAR-like plane, integrations of 1 s, an image of 2730
// pixels on a grid of 4096. "resident" counts the device's time alone, without cutting into subgrids and
// finding tracks; "whole" the caller's, sorting and transfers included; in hybrid its layers are the CPU's.
// The error is the relative RMS of 300 visibilities against the float64 sum over sources.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/idg/degrid_cuda.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition/partition.h"
#include "tests/bench/idg/degrid.h"
#include "tests/reference/dft_image.h"

namespace apsyn::bench {
namespace {

struct Case {
  std::size_t subgrid, n_chan, n_time;
  double longest_m, cell_asec;
  DegridRows rows = DegridRows::automatic;
};

constexpr const char* kRowsNames[] = {"automatic", "each", "on device", "on host"};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const Case& c, const Device& device, GridMemory grids, unsigned n_threads) {
  constexpr std::size_t n_station = 52, n_planes = 4, n_pixels = 2730;
  const double cell_rad = c.cell_asec * std::numbers::pi / 648000, dec = 0.9;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> flat(-1, 1);
  std::vector<std::array<double, 3>> station(n_station);  // equatorial
  for (auto& s : station) {
    const double length = c.longest_m / 2 * std::pow(std::abs(flat(random)), 1.5),
                 angle = std::numbers::pi * flat(random);
    const double east = length * std::cos(angle), north = length * std::sin(angle), latitude = 0.92;
    s = {-north * std::sin(latitude), east, north * std::cos(latitude)};
  }
  const std::size_t n_row = n_station * (n_station - 1) / 2 * c.n_time;
  Buffer<double, 2> uvw_m({n_row, 3});
  Buffer<double, 1> wavenumber({c.n_chan});
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    wavenumber(chan) = (150e6 + 12.2e3 * static_cast<double>(chan)) / 299792458.0;
  Buffer<std::uint32_t, 2> stations({n_row, 2});
  double max_w = 0;
  std::size_t row = 0;
  for (std::size_t t = 0; t < c.n_time; ++t) {
    const double hour = -0.3 + 7.292e-5 * static_cast<double>(t);
    for (std::size_t p = 0; p < n_station; ++p)
      for (std::size_t q = p + 1; q < n_station; ++q, ++row) {
        const double x = station[p][0] - station[q][0], y = station[p][1] - station[q][1],
                     z = station[p][2] - station[q][2];
        stations(row, 0) = static_cast<std::uint32_t>(p);
        stations(row, 1) = static_cast<std::uint32_t>(q);
        const double s = std::sin(hour), k = std::cos(hour);
        uvw_m(row, 0) = s * x + k * y;
        uvw_m(row, 1) = -std::sin(dec) * k * x + std::sin(dec) * s * y + std::cos(dec) * z;
        uvw_m(row, 2) = std::cos(dec) * k * x - std::cos(dec) * s * y + std::sin(dec) * z;
        max_w = std::max(max_w, std::abs(uvw_m(row, 2)) * wavenumber(c.n_chan - 1));
      }
  }
  Buffer<double, 3> model({n_planes, n_pixels, n_pixels});
  std::vector<reference::DftSource> sources[n_planes];
  for (int i = 0; i < 100; ++i) {
    const std::size_t x = random() % n_pixels, y = random() % n_pixels;
    for (std::size_t p = 0; p < n_planes; ++p) {
      const double flux = flat(random) + 1;
      model(p, y, x) += flux;
      sources[p].push_back({(double(n_pixels / 2) - double(x)) * cell_rad,
                            (double(y) - double(n_pixels / 2)) * cell_rad, flux});
    }
  }
  IdgSettings settings;
  settings.subgrid = c.subgrid;
  const IdgPlan plan =
      make_idg_plan({n_pixels, n_pixels, cell_rad}, settings, max_w, static_cast<double>(n_row * c.n_chan));
  auto degridder = make_cuda_degridder(
      device, plan, {.n_data_planes = n_planes, .n_threads = n_threads, .grid_memory = grids},
      DegridSum::automatic, c.rows);
  degridder->set_model(model);
  Buffer<std::complex<float>, 3> data({n_row, c.n_chan, n_planes});
  GridBlock block;
  block.uvw_m = uvw_m;
  block.wavenumber = wavenumber;
  block.station = stations;
  double sort_s = 1e30;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    partition(plan, block, {0, plan.n_layers}, n_threads);
    sort_s = std::min(sort_s, seconds_since(begin));
  }
  DegridSeconds least;
  double whole = 1e30, resident = 1e30;
  GridCounts counts;
  for (int repeat = 0; repeat < 3; ++repeat) {
    data.fill(0);
    const DegridSeconds before = degridder->seconds();
    const auto begin = std::chrono::steady_clock::now();
    degridder->begin_pass({0, plan.n_layers});
    counts = degridder->degrid(block, data);
    whole = std::min(whole, seconds_since(begin));
    DegridSeconds now = degridder->seconds();
    now.layers -= before.layers, now.prepare -= before.prepare;
    now.subgrids -= before.subgrids, now.sums -= before.sums, now.rows -= before.rows;
    now.tensor_visibilities -= before.tensor_visibilities;
    now.places -= before.places;
    const double all = now.layers + now.prepare + now.subgrids + now.sums + now.rows;
    if (all < resident) {
      resident = all;
      least = now;
    }
  }
  double error = 0, power = 0;
  for (int i = 0; i < 300; ++i) {
    const std::size_t r = random() % n_row, chan = random() % c.n_chan, p = random() % n_planes;
    const double k = wavenumber(chan);
    const auto want =
        reference::dft_visibility(sources[p], uvw_m(r, 0) * k, uvw_m(r, 1) * k, uvw_m(r, 2) * k);
    error += std::norm(std::complex<double>(data(r, chan, p)) - want);
    power += std::norm(want);
  }
  const auto n = static_cast<double>(counts.n_visibilities);
  fmt::print(
      "{{\"bench\":\"idg_degrid_pass\",\"device\":\"{}\",\"grids\":\"{}\",\"rows\":\"{}\",\"grid\":{},"
      "\"field_rad\":{:.3g},"
      "\"max_w\":{:.4g},"
      "\"subgrid\":{},\"kernel_padding\":{},\"layers\":{},\"half_w\":{:.4g},\"channels\":{},"
      "\"visibilities\":{},\"places\":{},\"subgrids\":{},\"tensor_fraction\":{:.3f},\"layers_s\":{:.4g},"
      "\"prepare_s\":{:.4g},\"subgrids_s\":{:.4g},\"sums_s\":{:.4g},\"rows_s\":{:.4g},\"sort_s\":{:.4g},"
      "\"whole_s\":{:.4g},\"sums_GVis_per_s\":{:."
      "3f},"
      "\"resident_GVis_per_s\":{:.3f},\"whole_GVis_per_s\":{:.3f},\"error\":{:.2e}}}\n",
      device.description, to_text(grids), kRowsNames[int(c.rows)], plan.n_u, double(plan.n_u) * cell_rad,
      max_w, plan.settings.subgrid, plan.settings.kernel_padding, plan.n_layers, plan.half_w_lambda, c.n_chan,
      counts.n_visibilities, least.places, counts.n_subgrids,
      static_cast<double>(least.tensor_visibilities) / n, least.layers, least.prepare, least.subgrids,
      least.sums, least.rows, sort_s, whole, n / least.sums * 1e-9, n / resident * 1e-9, n / whole * 1e-9,
      std::sqrt(error / power));
}

}  // namespace

void degrid_passes(const Device& device, GridMemory grids, unsigned n_threads) {
  for (std::size_t subgrid : {32, 64}) run({subgrid, 16, 512, 20e3, 4}, device, grids, n_threads);
  run({32, 1, 4096, 20e3, 4}, device, grids, n_threads);
  run({32, 16, 512, 3e3, 12}, device, grids, n_threads);
  using enum DegridRows;
  for (DegridRows rows : {automatic, on_device, each})
    run({32, 16, 4096, 20e3, 4, rows}, device, grids, n_threads);
}

}  // namespace apsyn::bench
