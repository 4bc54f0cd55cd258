// SPDX-License-Identifier: GPL-3.0-or-later
// bench_epic_cuda [--channels N] [--spectra N] [--seconds S] [--method NAME] [CASE...]: direct images of
// 4-bit samples that are on the device, one JSON line per case and method: milliseconds to add one
// accumulation's spectra and to take its images, medians of as many accumulations as S seconds hold; those of
// an accumulation when images leave while the next one is made ("sustained"), when the field follows the sky
// ("moving": what is kept of a geometry is made anew), and when samples of 8 bits come
// from pinned memory as well ("stream"); and the error against float64. Cases: lwa-sv-64, lwa-sv-128 (256
// antennas, the published imager's: 132 channels x 1000 spectra, 40 ms), lwa-sv-degree
// (128 x 128 pixels of 1 degree, 10.3 k of them in the sky instead of 12.9 k), core-128, random-512,
// random-1024; mwa-1200, mwa-1200-near and mwa-1200-aslant (MWA-128T at 150 MHz, 1200 x 1200 pixels of an
// arcminute about the zenith, and 0.2 and 40 degrees from there; --channels 32 --spectra 500 is a coarse
// channel for 20 ms). Methods: dft-half, dft-single (beams or pairs, as cheaper), beams-half, beams-single,
// corr, corr-total (Stokes I alone), corr-direct.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/pair_sums_cuda.h"
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/spectra_pipeline.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/bench/epic/deviation.h"
#include "tests/bench/epic/resident_source.h"

using namespace apsyn;
using namespace apsyn::bench;

namespace {

constexpr double kFirst_hz = 50e6, kStep_hz = 25e3, kSpectrum_s = 40e-6;

struct Case {
  std::string name;
  std::vector<Vec3> enu_m;
  std::size_t size = 128;
  double cell = 2.0 / static_cast<double>(size);
  double first_hz = kFirst_hz;
  double zenith_distance_rad = 0;  ///< of the image's centre, to the north
};

struct Options {
  std::size_t n_chan = 132, n_spectra = 1000;
  double seconds = 1;
  std::string method;
  std::vector<std::string> names;
};

/// 1 antenna in 25 m^2, on level ground but for 0.3 m.
std::vector<Vec3> random_positions(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double radius_m = std::sqrt(25 * static_cast<double>(n) / kPi);
  std::vector<Vec3> enu;
  while (enu.size() < n) {
    const double e = uniform(random), north = uniform(random);
    if (e * e + north * north <= 1) enu.push_back({radius_m * e, radius_m * north, 0.3 * uniform(random)});
  }
  return enu;
}

std::vector<Case> all_cases() {
  std::vector<Vec3> station;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) station.push_back(antenna.enu_m);
  std::vector<Vec3> mwa;
  for (const Antenna& antenna : builtin_array("mwa-128t").antennas) mwa.push_back(antenna.enu_m);
  return {{"lwa-sv-64", station, 64},
          {"lwa-sv-128", station, 128},
          {"lwa-sv-degree", station, 128, kPi / 180},
          {"core-128", random_positions(128), 128},
          {"random-512", random_positions(512), 128},
          {"random-1024", random_positions(1024), 128},
          {"mwa-1200", mwa, 1200, kPi / 10800, 150e6},
          {"mwa-1200-near", mwa, 1200, kPi / 10800, 150e6, 0.2 * kRadPerDeg},
          {"mwa-1200-aslant", mwa, 1200, kPi / 10800, 150e6, 40 * kRadPerDeg}};
}

EpicPlan plan_of(const Case& c, const Options& options) {
  EpicPlan plan;
  plan.n_chan = options.n_chan;
  plan.n_ant = c.enu_m.size();
  plan.n_pol = 2;
  for (std::size_t chan = 0; chan < options.n_chan; ++chan)
    plan.channel_hz.push_back(c.first_hz + kStep_hz * static_cast<double>(chan));
  plan.second = plan.cross = true;
  plan.nx = plan.ny = c.size;
  plan.cell = c.cell;
  plan.n_threads = available_threads();
  return plan;
}

std::unique_ptr<DeviceImager> dft(EpicPlan plan, EpicPrecision precision, const Options& options) {
  return make_dft_imager_cuda(std::move(plan), precision, 0, make_device_pair_sums,
                              static_cast<double>(options.n_spectra));
}
struct Method {
  const char* name;
  std::unique_ptr<DeviceImager> (*make)(EpicPlan, const Options&);
};
const Method kMethods[] = {
    {"dft-half",
     [](EpicPlan plan, const Options& o) { return dft(std::move(plan), EpicPrecision::half, o); }},
    {"dft-single",
     [](EpicPlan plan, const Options& o) { return dft(std::move(plan), EpicPrecision::single, o); }},
    {"beams-half",
     [](EpicPlan plan, const Options&) {
       return make_dft_imager_cuda(std::move(plan), EpicPrecision::half, 0);
     }},
    {"beams-single",
     [](EpicPlan plan, const Options&) {
       return make_dft_imager_cuda(std::move(plan), EpicPrecision::single, 0);
     }},
    {"corr", [](EpicPlan plan,
                const Options&) { return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0); }},
    {"corr-total",
     [](EpicPlan plan, const Options&) {
       plan.total = true;
       plan.second = plan.cross = false;
       return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0);
     }},
    {"corr-direct", [](EpicPlan plan, const Options&) {
       return make_corr_imager_cuda(std::move(plan), make_device_pair_sums, 0, CorrMethod::direct);
     }}};

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Milliseconds of each turn, of as many as S seconds hold; the images of each are settled in the next.
template <class Turn>
double ms_of_turn(double seconds, DirectImager& imager, const Turn& turn) {
  constexpr int kWarm = 3;
  EpicImages images[2];
  Clock::time_point begin;
  int n = 0;
  for (; n < 2 * kWarm || ms_since(begin) < 1e3 * seconds; ++n) {
    if (n == kWarm) begin = Clock::now();
    turn();
    imager.take_later(images[n % 2]);
    if (n > 0) imager.settle();
  }
  imager.settle();
  return ms_since(begin) / (n - kWarm);
}

/// `turn_rad`: the field turns by so much from accumulation to accumulation.
double sustained_ms(EpicGeometry geometry, double turn_rad, const Options& options, ResidentSource& source,
                    DeviceImager& imager) {
  double angle = 0;
  EpicGeometry begin = geometry;
  return ms_of_turn(options.seconds, imager, [&] {
    angle += turn_rad;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      geometry.axes[0][axis] = std::cos(angle) * begin.axes[0][axis] + std::sin(angle) * begin.axes[1][axis];
      geometry.axes[1][axis] = std::cos(angle) * begin.axes[1][axis] - std::sin(angle) * begin.axes[0][axis];
    }
    imager.start(geometry);
    imager.add_from(source, 0, options.n_spectra);
  });
}

double stream_ms(const EpicPlan& plan, const EpicGeometry& geometry, const Options& options,
                 std::unique_ptr<DeviceImager> imager) {
  VoltageHeader header;
  header.n_chan = plan.n_chan;
  header.n_ant = plan.n_ant;
  header.n_pol = plan.n_pol;
  header.sample_s = kSpectrum_s;
  header.bandwidth_hz = kStep_hz * static_cast<double>(plan.n_chan);
  header.freq_hz = plan.channel_hz[0];
  CudaChannelisePlan f;
  f.f = plan_channelise(header, 1, plan.n_threads);
  f.gulp_samples = f.n_spectra = options.n_spectra;
  VoltageBlock block;
  block.n_time = options.n_spectra;
  block.samples_i8.resize({options.n_spectra, plan.n_chan, plan.n_ant, plan.n_pol, 2});
  block.valid.resize({(options.n_spectra + 127) / 128, plan.n_ant});
  block.valid.fill(1);
  std::uint32_t state = 1;
  for (auto& value : block.samples_i8.view())
    value = static_cast<std::int8_t>(static_cast<int>((state = state * 1664525u + 1013904223u) >> 28) - 8);
  DirectImager& images = *imager;
  const auto feed = make_device_pipeline(make_cuda_channeliser(f, nullptr, 0), std::move(imager));
  const auto pinned = feed->pin(block.samples_i8.data(), block.samples_i8.size());
  std::int64_t next = 0;
  return ms_of_turn(options.seconds, images, [&] {
    feed->append(block, 0);
    block.first_sample += static_cast<std::int64_t>(block.n_time);
    images.start(geometry);
    feed->add(next, options.n_spectra);
    next += static_cast<std::int64_t>(options.n_spectra);
    feed->release(next);
    if (const auto wait = feed->taken()) wait();
  });
}

void run(const Case& c, const Method& method, const Options& options, ResidentSource& source,
         const Buffer<std::uint8_t, 3>& samples) {
  const EpicPlan shape = plan_of(c, options);
  EpicGeometry geometry;
  geometry.enu_m = c.enu_m;
  geometry.delay_s.assign(c.enu_m.size(), 0.0);
  const double cosine = std::cos(c.zenith_distance_rad), sine = std::sin(c.zenith_distance_rad);
  geometry.axes = {{{1, 0, 0}, {0, cosine, -sine}, {0, sine, cosine}}};
  const auto imager = method.make(plan_of(c, options), options);
  EpicImages images;
  std::vector<double> add_ms, take_ms;
  double first_ms = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < 3 || ms_since(begin) < 1e3 * options.seconds; ++i) {
    const auto t0 = Clock::now();
    imager->start(geometry);
    imager->add_from(source, 0, options.n_spectra);
    source.wait();
    const double added = ms_since(t0);
    imager->take(images);
    const double all = ms_since(t0);
    if (i == 0) {
      first_ms = all;
      continue;
    }
    add_ms.push_back(added);
    take_ms.push_back(all - added);
  }
  const double sustained = sustained_ms(geometry, 0, options, source, *imager);
  const double moving = sustained_ms(geometry, 3e-6, options, source, *imager);
  const double stream = stream_ms(shape, geometry, options, method.make(plan_of(c, options), options));
  const double data_ms = 1e3 * static_cast<double>(options.n_spectra) * kSpectrum_s;
  const double add = median(add_ms), take = median(take_ms);
  const Deviation first = deviation(samples, shape, geometry, images, 0);
  const Deviation last = deviation(samples, shape, geometry, images, shape.n_chan - 1);
  fmt::print(
      "{{\"bench\":\"epic_cuda\",\"case\":\"{}\",\"method\":\"{}\",\"device\":\"{}\",\"antennas\":{},"
      "\"channels\":{},\"spectra\":{},\"size\":{},\"repeats\":{},\"first_ms\":{:.4g},\"add_ms\":{:.4g},"
      "\"take_ms\":{:.4g},\"sustained_ms\":{:.4g},\"moving_ms\":{:.4g},\"stream_ms\":{:.4g},\"data_ms\":{:."
      "4g},"
      "\"sustained_times_real_time\":{:.4g},\"stream_times_real_time\":{:.4g},"
      "\"error_of_peak\":{:.3g},\"error_rms\":{:.3g}}}\n",
      c.name, method.name, cuda_device_name(0), shape.n_ant, shape.n_chan, options.n_spectra, c.size,
      add_ms.size(), first_ms, add, take, sustained, moving, stream, data_ms, data_ms / sustained,
      data_ms / stream, std::max(first.of_peak, last.of_peak), std::max(first.rms, last.rms));
  std::fflush(stdout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : throw UsageError("{}: no value", name); };
    if (name == "--channels")
      options.n_chan = std::stoul(value());
    else if (name == "--spectra")
      options.n_spectra = std::stoul(value());
    else if (name == "--seconds")
      options.seconds = std::stod(value());
    else if (name == "--method")
      options.method = value();
    else
      options.names.push_back(name);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = parse(argc, argv);
  if (cuda_device_count() == 0) return 77;
  for (const Case& c : all_cases()) {
    if (!options.names.empty() &&
        std::find(options.names.begin(), options.names.end(), c.name) == options.names.end())
      continue;
    const EpicPlan plan = plan_of(c, options);
    const Buffer<std::uint8_t, 3> samples = make_samples(plan, c.enu_m, options.n_spectra);
    const auto source = make_resident_source(samples.view(), plan.n_ant);
    for (const Method& method : kMethods) {
      if (!options.method.empty() && options.method != method.name) continue;
      try {
        run(c, method, options, *source, samples);
      } catch (const Error& error) {
        fmt::print(stderr, "bench_epic_cuda: {}, {}: {}\n", c.name, method.name, error.what());
      }
    }
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_epic_cuda: {}\n", error.what());
  return 1;
}
