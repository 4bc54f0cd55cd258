// SPDX-License-Identifier: GPL-3.0-or-later
// bench_components [cpu|cuda[:N] [COMPONENTS STATIONS CHANNELS STEPS]]: visibilities of a sky's components in
// memory, one JSON line per case: Stokes I of points, of points and Gaussians, I Q U V, and through a matrix
// of every station, channel and component, both in a new time slot, whose matrices are copied from memory,
// and in the same again. By default 1000 components, 128 stations, 48 channels of 195 kHz and 4 time steps of
// one slot. The CPU sums in single precision on one thread, through matrices in float64. The error is the
// largest of 100 values against float64, over the sum of fluxes.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "kernels/simulate/components.h"
#include "kernels/simulate/device_components.h"
#include "kernels/simulate/fast_components.h"
#include "libcore/system/device.h"
#include "tests/support/component_cases.h"

using namespace apsyn;
using namespace apsyn::simulate;
using test::ComponentCase;

namespace {

struct Size {
  std::size_t n_components = 1000, n_stations = 128, n_chan = 48, n_steps = 4;
};

/// Baselines of all pairs of stations within 3 km, which turn by a quarter of a degree from step to step.
ComponentCase make_case(const Size& size, bool polarised, bool gaussians, bool through) {
  ComponentCase made = test::make_component_case({.n_components = size.n_components,
                                                  .n_rows = 0,
                                                  .n_stations = through ? size.n_stations : 0,
                                                  .polarised = polarised,
                                                  .gaussians = gaussians});
  made.hz.clear();
  for (std::size_t i = 0; i < size.n_chan; ++i)
    made.hz.push_back(150e6 + 195.3125e3 * static_cast<double>(i));
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1500, 1500);
  std::vector<std::array<double, 3>> place_m(size.n_stations);
  for (auto& place : place_m) place = {uniform(random), uniform(random), uniform(random) / 100};
  const std::size_t n_rows = size.n_steps * size.n_stations * (size.n_stations - 1) / 2;
  made.uvw_m.resize({n_rows, 3});
  made.station.resize({n_rows, 2});
  std::size_t row = 0;
  for (std::size_t step = 0; step < size.n_steps; ++step)
    for (std::uint32_t p = 0; p < size.n_stations; ++p)
      for (std::uint32_t q = p + 1; q < size.n_stations; ++q, ++row) {
        const double angle = 0.0044 * static_cast<double>(step);
        const double u = place_m[p][0] - place_m[q][0], v = place_m[p][1] - place_m[q][1];
        made.uvw_m(row, 0) = u * std::cos(angle) - v * std::sin(angle);
        made.uvw_m(row, 1) = u * std::sin(angle) + v * std::cos(angle);
        made.uvw_m(row, 2) = place_m[p][2] - place_m[q][2];
        made.station(row, 0) = p;
        made.station(row, 1) = q;
      }
  made.path_m = {};
  return made;
}

/// [chan][station][component][4] of a case.
Buffer<std::complex<float>, 4> matrices_of(const ComponentCase& of) {
  Buffer<std::complex<float>, 4> jones({of.hz.size(), of.n_stations, of.sky.components.size(), 4});
  for (std::size_t chan = 0; chan < jones.extent(0); ++chan)
    for (std::size_t station = 0; station < jones.extent(1); ++station)
      for (std::size_t c = 0; c < jones.extent(2); ++c)
        for (std::size_t i = 0; i < 4; ++i) jones(chan, station, c, i) = of.jones(chan, station, c, i);
  return jones;
}

double error_of(const ComponentCase& of, View<const std::complex<float>, 3> data) {
  std::mt19937 random(8);
  double worst = 0, total_jy = 0;
  for (const SkyComponent& component : of.sky.components) total_jy += component.stokes_jy[0];
  for (int i = 0; i < 100; ++i) {
    const std::size_t row = random() % data.extent(0), chan = random() % data.extent(1);
    const auto expected = test::expected_sum(of, row, chan);
    for (std::size_t plane = 0; plane < data.extent(2); ++plane)
      worst = std::max(worst, std::abs(std::complex<double>(data(row, chan, plane)) - expected[plane]));
  }
  return worst / total_jy;
}

template <class Run>
double seconds_of(Run run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
 public:
  Bench(const Device& device, const Size& size) : device_(device), size_(size) {}

  void run(const char* name, bool polarised, bool gaussians) const {
    const ComponentCase of = make_case(size_, polarised, gaussians, false);
    Buffer<std::complex<float>, 3> data({of.uvw_m.extent(0), of.hz.size(), of.n_planes()});
    if (device_.kind == Device::Kind::cuda) {
      const auto engine = make_device_components(of.sky, setup_of(of));
      engine->predict(of.uvw_m, {}, data);
      report(name, of, data, seconds_of([&] { engine->predict(of.uvw_m, {}, data); }));
    } else {
      const FastComponentPredictor predictor(of.sky, of.centre, of.hz);
      report(name, of, data, seconds_of([&] { predictor.predict(of.uvw_m, {}, data); }));
    }
  }

  void run_through() const {
    ComponentCase of = make_case(size_, true, true, true);
    const Buffer<std::complex<float>, 4> jones = matrices_of(of);
    Buffer<std::complex<float>, 3> data({of.uvw_m.extent(0), of.hz.size(), 4});
    if (device_.kind == Device::Kind::cpu) {
      const ComponentPredictor predictor(of.sky, of.centre, of.hz);
      Buffer<std::complex<double>, 3> sums(data.shape());
      const double seconds = seconds_of([&] {
        predictor.add_through(of.uvw_m, {}, of.station, {0, jones}, 1, sums);
      });
      std::copy(sums.begin(), sums.end(), data.begin());
      return report("through matrices", of, data, seconds);
    }
    const auto engine = make_device_components(of.sky, setup_of(of));
    const auto predict = [&](std::int64_t slot) {
      engine->predict_through(of.uvw_m, {}, of.station,
                              {slot, size_.n_stations,
                               [&](std::size_t chan, std::size_t first, View<std::complex<float>, 3> to) {
                                 for (std::size_t station = 0; station < size_.n_stations; ++station)
                                   std::copy_n(&jones(chan, station, first, 0), to.extent(1) * 4,
                                               &to(station, 0, 0));
                               }},
                              data);
    };
    predict(0);
    report("through new matrices", of, data, seconds_of([&] { predict(1); }));
    report("through matrices", of, data, seconds_of([&] { predict(1); }));
  }

 private:
  DeviceComponentsSetup setup_of(const ComponentCase& of) const {
    DeviceComponentsSetup setup;
    setup.centre = of.centre;
    setup.channel_hz = of.hz;
    setup.through = of.n_stations > 0;
    setup.n_threads = available_threads();
    setup.device_index = device_.index;
    return setup;
  }

  void report(const char* name, const ComponentCase& of, View<const std::complex<float>, 3> data,
              double seconds) const {
    const double terms =
        static_cast<double>(size_.n_components) * static_cast<double>(data.extent(0) * data.extent(1));
    fmt::print(
        "{{\"bench\": \"components\", \"case\": \"{}\", \"device\": \"{}\", \"components\": {}, "
        "\"stations\": "
        "{}, \"channels\": {}, \"rows\": {}, \"seconds\": {:.6f}, \"gterms_per_s\": {:.3f}, \"error\": "
        "{:.2e}}}\n",
        name, device_.description, size_.n_components, size_.n_stations, size_.n_chan, data.extent(0),
        seconds, 1e-9 * terms / seconds, error_of(of, data));
    std::fflush(stdout);
  }

  Device device_;
  Size size_;
};

}  // namespace

int main(int argc, char** argv) {
  const Device device = choose_device(argc > 1 ? argv[1] : "auto", CudaSupport::available, 1);
  Size size;
  if (argc > 5)
    size = {std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10),
            std::strtoull(argv[4], nullptr, 10), std::strtoull(argv[5], nullptr, 10)};
  const Bench bench(device, size);
  bench.run("points", false, false);
  bench.run("points and Gaussians", false, true);
  bench.run("I Q U V", true, false);
  bench.run_through();
}
