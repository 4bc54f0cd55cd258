// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder's and the degridder's kernels over sides of subgrids, channels, planes and precisions, each
// with its error, from visibilities that the GPU holds and has cut. Gridding is everything but layers:
// preparation, sums, subgrids' transforms, adding; degridding likewise. Each subgrid takes 2048 visibilities,
// |w| up to 50 wavelengths over a field of 0.1 rad. One JSON line each:
//   GVis_per_s       gridding: the slope of the time of passes; degridding: the device's time
//   fraction         of the rate that the separable product alone would run at: single precision 20
//   (degridding
//                    18) float16 operations a plane and pixel at 989 Tflop/s, double 8 at 33.5 Tflop/s
//   nJ_per_visibility of the board while gridding, idle time included; null where nothing measures it
//   parts_s          seconds of degridding: preparation, subgrids' cells and transforms, sums with rows
//   error            relative RMS against float64: of 384 pixels, since most of it lies in the outermost
//                    tenth of the image, where the taper is least; of 100 visibilities
//   bench_idg_sweep [single|double] [SIDE...]
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/idg/degrid_cuda.h"
#include "kernels/idg/idg.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"
#include "tests/bench/idg/nvml_energy.h"
#include "tests/reference/dft_image.h"
#include "tests/support/image_pixels.h"

using namespace apsyn;

namespace {

constexpr double two_pi = 2 * std::numbers::pi;
constexpr std::size_t kPixels = 512, kPerSubgrid = 2048, kSources = 12;
constexpr double kFieldRad = 0.1, kMaxW = 50, kMaxChannelSpread = 1e-3;

struct Case {
  IdgPlan plan;
  std::size_t n_chan, n_planes;
};

struct Rows {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  Buffer<std::uint32_t, 2> station;

  /// Every subgrid's visibilities are those of a baseline.
  explicit Rows(const Case& c) {
    const IdgPlan& plan = c.plan;
    const double side = static_cast<double>(plan.settings.subgrid);
    const auto n_subgrids =
        std::max<std::size_t>(132, static_cast<std::size_t>(1056 * 1024 / (side * side)) / 132 * 132);
    const std::size_t rows_each = kPerSubgrid / c.n_chan, n_row = n_subgrids * rows_each;
    uvw_m.resize({n_row, 3});
    wavenumber.resize({c.n_chan});
    data.resize({n_row, c.n_chan, c.n_planes});
    weight.resize({n_row, c.n_chan, c.n_planes});
    weight.fill(1);
    station.resize({n_row, 2});
    for (std::size_t k = 0; k < c.n_chan; ++k) wavenumber(k) = 0.5 * (1 + kMaxChannelSpread * double(k) / 64);
    std::mt19937_64 random(plan.settings.subgrid);
    std::uniform_real_distribution<double> flat(-1, 1);
    const double cells_per_m = static_cast<double>(plan.n_u) * plan.image.cell_rad * 0.5,
                 farthest = static_cast<double>(plan.n_u) / 2 - side,
                 reach = static_cast<double>(plan.bucket()) / 2 * 0.9,
                 half_w = std::min(4.0, plan.layer_step_lambda / 5);
    for (std::size_t i = 0, row = 0; i < n_subgrids; ++i) {
      const double u = farthest * flat(random), v = farthest * flat(random),
                   w = kMaxW * (0.5 + 0.4 * flat(random));
      for (std::size_t r = 0; r < rows_each; ++r, ++row) {
        uvw_m(row, 0) = (u + reach * flat(random)) / cells_per_m;
        uvw_m(row, 1) = (v + reach * flat(random)) / cells_per_m;
        uvw_m(row, 2) =
            (w + half_w * (2 * static_cast<double>(r) / static_cast<double>(rows_each) - 1)) / 0.5;
        station(row, 0) = static_cast<std::uint32_t>(2 * i);
        station(row, 1) = static_cast<std::uint32_t>(2 * i + 1);
      }
    }
    std::uint64_t state = 1;
    for (auto& value : data) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      value = {static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31f,
               static_cast<float>(static_cast<std::int32_t>(state >> 16)) * 0x1p-31f};
    }
  }
  double channel_step() const { return wavenumber.size() > 1 ? wavenumber(1) - wavenumber(0) : 0; }
  std::size_t n_visibilities() const { return uvw_m.extent(0) * wavenumber.size(); }
  GridBlock block() const { return {uvw_m, {}, wavenumber, data, weight, station, {}, 1}; }
};

double image_error(const Rows& rows, const IdgPlan& plan, const View<const double, 3>& images,
                   unsigned n_threads) {
  constexpr std::size_t n = 384;
  const std::size_t plane = images.extent(0) - 1, n_row = rows.uvw_m.extent(0), n_pieces = 64;
  std::mt19937_64 random(4);
  std::size_t x[n], y[n];
  for (std::size_t i = 0; i < n; ++i) x[i] = random() % kPixels, y[i] = random() % kPixels;
  std::vector<std::array<double, n>> sums(n_pieces);
  parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned) {
    for (std::size_t row = n_row * piece / n_pieces; row < n_row * (piece + 1) / n_pieces; ++row)
      for (std::size_t i = 0; i < n; ++i) {
        const double l = support::pixel_l(plan.image, x[i]), m = support::pixel_m(plan.image, y[i]),
                     r2 = l * l + m * m;
        const double path = rows.uvw_m(row, 0) * l + rows.uvw_m(row, 1) * m -
                            rows.uvw_m(row, 2) * r2 / (1 + std::sqrt(1 - r2));
        // Channels lie evenly: a rotation each.
        auto turn = std::polar(1.0, -two_pi * path * rows.wavenumber(0));
        const auto by = std::polar(1.0, -two_pi * path * rows.channel_step());
        for (std::size_t k = 0; k < rows.wavenumber.size(); ++k, turn *= by)
          sums[piece][i] += (std::complex<double>(rows.data(row, k, plane)) * turn).real();
      }
  });
  double error = 0, power = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double want = 0;
    for (const auto& piece : sums) want += piece[i];
    error += std::pow(images(plane, y[i], x[i]) - want, 2) / n;
  }
  for (const double pixel : images[plane]) power += pixel * pixel / (kPixels * kPixels);
  return std::sqrt(error / power);
}

struct Found {
  double seconds, joules, error;
  DegridSeconds parts{};  ///< of degridding
};

Found grid(const Rows& rows, const Case& c, const Device& device, unsigned n_threads) {
  const auto gridder = make_gridder(device, c.plan, {.n_data_planes = c.n_planes, .n_threads = n_threads});
  auto pass = [&](int n_blocks) {
    const auto begin = std::chrono::steady_clock::now();
    gridder->begin_pass({0, c.plan.n_layers});
    for (int i = 0; i < n_blocks; ++i) gridder->grid(rows.block());
    gridder->end_pass();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  pass(1);
  const auto images = gridder->take_images();
  const double error = image_error(rows, c.plan, images, n_threads);
  pass(1);
  const double once = std::min(pass(1), pass(1));
  const int repeats = std::clamp(static_cast<int>(0.12 / once), 1, 200);
  const NvmlEnergy energy;
  const double joules = energy.joules(), all = pass(repeats + 1), used = energy.joules() - joules;
  return {(all - once) / repeats, used / (repeats + 1), error, {}};
}

Found degrid(const Rows& rows, const Case& c, const Device& device, unsigned n_threads) {
  Buffer<double, 3> model({c.n_planes, kPixels, kPixels});
  std::mt19937_64 random(5);
  std::vector<reference::DftSource> sources;
  const std::size_t plane = c.n_planes - 1;
  for (std::size_t i = 0; i < kSources; ++i) {
    const std::size_t x = random() % kPixels, y = random() % kPixels;
    for (std::size_t p = 0; p < c.n_planes; ++p) model(p, y, x) += 1 + double(p);
    sources.push_back(
        {support::pixel_l(c.plan.image, x), support::pixel_m(c.plan.image, y), 1 + double(plane)});
  }
  const auto degridder = make_cuda_degridder(
      device, c.plan, {.n_data_planes = c.n_planes, .n_threads = n_threads}, DegridSum::automatic);
  degridder->set_model(model);
  degridder->begin_pass({0, c.plan.n_layers});
  GridBlock block = rows.block();
  block.data = {};
  Buffer<std::complex<float>, 3> predicted({rows.uvw_m.extent(0), c.n_chan, c.n_planes});
  DegridSeconds parts;
  auto run = [&] {
    const DegridSeconds before = degridder->seconds();
    predicted.fill(0);
    degridder->degrid(block, predicted);
    const DegridSeconds now = degridder->seconds();
    parts.prepare = now.prepare - before.prepare;
    parts.subgrids = now.subgrids - before.subgrids;
    parts.sums = now.sums - before.sums + now.rows - before.rows;
    return parts.prepare + parts.subgrids + parts.sums;
  };
  run();
  const double seconds = std::min(run(), run());
  double error = 0, power = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t row = random() % rows.uvw_m.extent(0), k = random() % c.n_chan;
    const double wave = rows.wavenumber(k);
    const auto want = reference::dft_visibility(sources, rows.uvw_m(row, 0) * wave, rows.uvw_m(row, 1) * wave,
                                                rows.uvw_m(row, 2) * wave);
    error += std::norm(std::complex<double>(predicted(row, k, plane)) - want);
    power += std::norm(want);
  }
  return {seconds, NAN, std::sqrt(error / power), parts};
}

void report(const char* what, const Case& c, const Device& device, std::size_t n, const Found& found) {
  const bool single = c.plan.settings.precision == Precision::single;
  const double side2 = std::pow(static_cast<double>(c.plan.settings.subgrid), 2),
               operations = single ? (what[0] == 'g' ? 20 : 18) : 8, ceiling = single ? 989e12 : 33.5e12;
  const std::string parts = what[0] == 'g' ? "null"
                                           : fmt::format("[{:.3g},{:.3g},{:.3g}]", found.parts.prepare,
                                                         found.parts.subgrids, found.parts.sums);
  const double nj = found.joules / static_cast<double>(n) * 1e9;
  fmt::print(
      "{{\"bench\":\"idg_sweep\",\"what\":\"{}\",\"device\":\"{}\",\"subgrid\":{},\"channels\":{},\"planes\":"
      "{},"
      "\"precision\":\"{}\",\"kernel_padding\":{},\"visibilities\":{},\"GVis_per_s\":{:.4f},\"fraction\":{:."
      "3f},"
      "\"nJ_per_visibility\":{},\"parts_s\":{},\"error\":{:.2e}}}\n",
      what, device.description, c.plan.settings.subgrid, c.n_chan, c.n_planes, single ? "single" : "double",
      c.plan.settings.kernel_padding, n, static_cast<double>(n) / found.seconds * 1e-9,
      static_cast<double>(n * c.n_planes) * side2 * operations / found.seconds / ceiling,
      nj > 0 ? fmt::format("{:.3g}", nj) : "null", parts, found.error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Device device = choose_device("cuda", CudaSupport::available, available_threads());
    const unsigned n_threads = available_threads();
    std::vector<std::size_t> sides;
    std::vector<Precision> precisions;
    for (int i = 1; i < argc; ++i) {
      const std::string_view what = argv[i];
      if (what == "single" || what == "double")
        precisions.push_back(what == "single" ? Precision::single : Precision::double_);
      else
        sides.push_back(std::stoul(argv[i]));
    }
    if (precisions.empty()) precisions = {Precision::single, Precision::double_};
    if (sides.empty()) sides = {24, 32, 48, 64, 96, 128, 160};
    for (const std::size_t side : sides)
      for (const Precision precision : precisions) {
        const bool single = precision == Precision::single;
        const IdgSettings settings{
            .accuracy = single ? 1e-5 : 1e-10, .subgrid = side, .precision = precision};
        for (const std::size_t n_planes : {4, 1}) {
          const IdgPlan plan = make_idg_plan({kPixels, kPixels, kFieldRad / kPixels}, settings,
                                             {.max_w_lambda = kMaxW * (1 + 2 * kMaxChannelSpread),
                                              .n_visibilities = 2e6,
                                              .n_planes = n_planes,
                                              .device = device.kind});
          for (const std::size_t n_chan : {1, 16, 64}) {
            const Case c{plan, n_chan, n_planes};
            const Rows rows(c);
            report("grid", c, device, rows.n_visibilities(), grid(rows, c, device, n_threads));
            report("degrid", c, device, rows.n_visibilities(), degrid(rows, c, device, n_threads));
          }
        }
      }
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg_sweep: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
