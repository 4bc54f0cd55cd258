// SPDX-License-Identifier: GPL-3.0-or-later
// bench_epic [--threads N] [--planes] [CASE...]: direct images of integer samples in memory, one JSON line
// per case and method: seconds of each spectrum and of each accumulation, for one channel, and the error
// against float64. Cases: lwa-sv (256 antennas, the published imager's case, a slice of its 132 channels),
// kernels (the same with fft's kernels of 1 to 9 cells), core-128, random-512, random-1024, best-2, and
// crossover (arrays of 16 to 1024 antennas of one density, what plot_epic draws).
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/epic/epic.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/bench/epic/pixel_truth.h"

using namespace apsyn;

namespace {

const Vec3 kSource{0.3, -0.4, std::sqrt(0.75)};

struct Case {
  std::string name;
  std::vector<Vec3> enu_m;
  std::size_t n_pol = 2, n_chan = 2, n_spectra = 1000, size = 128;
  double freq_hz = 50e6, spectrum_s = 40e-6;
  std::size_t all_channels = 132;  ///< of the whole instrument
  double cell = 0;                 ///< 0 = the whole hemisphere
};

std::vector<Vec3> builtin_positions(const char* name) {
  std::vector<Vec3> enu;
  for (const Antenna& antenna : builtin_array(name).antennas) enu.push_back(antenna.enu_m);
  return enu;
}

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

/// 4-bit samples of noise and one source, [chan][spectrum][input][re, im].
struct Recording {
  Buffer<std::int8_t, 4> samples;
  SpectraBlock planes, codes;
};

Recording make_recording(const Case& c) {
  Recording recording;
  const std::size_t n_input = c.enu_m.size() * c.n_pol, n_panel = panel_count(n_input);
  recording.samples.resize({c.n_chan, c.n_spectra, n_input, 2});
  for (SpectraBlock* block : {&recording.planes, &recording.codes}) {
    block->n_chan = c.n_chan;
    block->n_spectra = c.n_spectra;
    block->valid.resize({1, c.enu_m.size(), c.n_spectra});
    block->valid.fill(1);
    block->all_valid = true;
  }
  recording.codes.coded = true;
  recording.planes.planes.resize({c.n_chan, n_panel, c.n_spectra, 2 * kPanelInputs});
  recording.codes.codes.resize({c.n_chan, n_panel, (c.n_spectra + 1) / 2, kCodeBytes});
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> noise(1 << 16);
  for (float& value : noise) value = normal(random);
  for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
    std::vector<std::complex<float>> turn;
    for (const Vec3& enu : c.enu_m)
      turn.emplace_back(std::polar(1.0, kTwoPi * (c.freq_hz + 25e3 * static_cast<double>(chan)) *
                                            dot(enu, kSource) / kSpeedOfLight_m_s));
    for (std::size_t t = 0; t < c.n_spectra; ++t) {
      const std::complex<float> s(noise[random() % noise.size()], noise[random() % noise.size()]);
      for (std::size_t input = 0; input < n_input; ++input) {
        const std::complex<float> e = s * turn[input / c.n_pol] * 0.5f;
        for (std::size_t part = 0; part < 2; ++part) {
          const float value = (part == 0 ? e.real() : e.imag()) + noise[random() % noise.size()];
          const float level = std::clamp(std::round(value), -8.0f, 7.0f);
          recording.samples(chan, t, input, part) = static_cast<std::int8_t>(level);
          const std::size_t panel = input / kPanelInputs, lane = input % kPanelInputs;
          recording.planes.planes(chan, panel, t, part * kPanelInputs + lane) = level;
          recording.codes.codes(chan, panel, t / 2, 4 * lane + t % 2 * 2 + part) =
              static_cast<std::int8_t>(level);
        }
      }
    }
  }
  return recording;
}

EpicPlan plan_of(const Case& c, unsigned n_threads) {
  EpicPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_ant = c.enu_m.size();
  plan.n_pol = c.n_pol;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    plan.channel_hz.push_back(c.freq_hz + 25e3 * static_cast<double>(chan));
  plan.second = plan.cross = c.n_pol == 2;
  plan.nx = plan.ny = c.size;
  plan.cell = c.cell > 0 ? c.cell : 2.0 / static_cast<double>(c.size);
  plan.n_threads = n_threads;
  return plan;
}

/// The largest deviation from float64 of a few pixels of channel 0, over the largest of them, the source.
double error_of(const Case& c, const Recording& recording, const EpicPlan& plan, const EpicGeometry& geometry,
                const EpicImages& images) {
  double worst = 0, peak = 0;
  const auto voltage = [&](std::size_t t, std::size_t ant, std::size_t pol) {
    const std::int8_t* at = &recording.samples(0, t, ant * plan.n_pol + pol, 0);
    return std::complex<double>(at[0], at[1]);
  };
  for (const std::size_t i : bench::sampled_pixels(plan, kSource, 12)) {
    const Vec3 unit = epic_direction(plan, geometry, i % plan.nx, i / plan.nx);
    if (!(unit[2] > 0)) continue;
    const auto products = bench::pixel_products(plan, geometry, 0, unit, c.n_spectra, voltage);
    for (std::size_t plane = 0; plane < plan.n_plane(); ++plane) {
      const double wanted = products[plane];
      worst = std::max(worst, std::abs(wanted - double(images.planes(0, plane, i / plan.nx, i % plan.nx))));
      if (plane < 2) peak = std::max(peak, std::abs(wanted));
    }
  }
  return worst / peak;
}

/// Wall and processor time of something, the least of several runs of each.
struct Timing {
  double wall_s = INFINITY, cpu_s = INFINITY;
  template <class Work>
  void measure(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    work();
    wall_s =
        std::min(wall_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    cpu_s = std::min(cpu_s, static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC);
  }
};

struct Options {
  unsigned n_threads = available_threads();
  bool planes = false;  ///< never codes
  std::vector<std::string> names;
};

/// Spectra of a short accumulation: what it takes beside the share of its spectra is the cost of an image.
constexpr std::size_t kBrief = 32;

void run(const Case& c, const Recording& recording, const Recording& brief, EpicMethod method,
         std::size_t kernel_cells, double padding, const Options& options) {
  const auto plan = [&] {
    EpicPlan one = plan_of(c, options.n_threads);
    one.kernel_cells = kernel_cells;
    one.padding = padding;
    return one;
  };
  EpicGeometry geometry;
  geometry.enu_m = c.enu_m;
  geometry.delay_s.assign(c.enu_m.size(), 0.0);
  EpicImages images;
  Timing start, add, add_brief, take;
  bool coded = false;
  try {
    const auto imager = make_imager(method, plan());
    coded = imager->takes_codes() && !options.planes;
    start.measure([&] { imager->start(geometry); });
    for (int repeat = 0; repeat < 3; ++repeat) {
      imager->start(geometry);
      add.measure([&] { imager->add(coded ? recording.codes : recording.planes); });
      take.measure([&] { imager->take(images); });
      imager->start(geometry);
      add_brief.measure([&] { imager->add(coded ? brief.codes : brief.planes); });
    }
  } catch (const Error& error) {
    fmt::print(stderr, "bench_epic: {}, {}: {}\n", c.name, epic_method_name(method), error.what());
    return;
  }
  const double channels = static_cast<double>(c.n_chan), spectra = static_cast<double>(c.n_spectra);
  const auto per_spectrum = [&](double all, double few) {
    return (all - few) / (spectra - kBrief) / channels;
  };
  const double wall_s = per_spectrum(add.wall_s, add_brief.wall_s);
  const double cpu_s = per_spectrum(add.cpu_s, add_brief.cpu_s);
  const auto per_image = [&](double few, double one, double end) {
    return std::max(0.0, few / channels - kBrief * one) + end / channels;
  };
  const double data_s = spectra * c.spectrum_s;
  const double total_s = (add.wall_s + take.wall_s) / channels * static_cast<double>(c.all_channels);
  fmt::print(
      "{{\"bench\":\"epic\",\"case\":\"{}\",\"method\":\"{}\",\"device\":\"cpu\",\"threads\":{},\"antennas\":"
      "{},"
      "\"polarisations\":{},\"channels\":{},\"spectra\":{},\"size\":{},\"kernel\":{},\"padding\":{},"
      "\"codes\":{},"
      "\"start_s\":{:.4g},\"us_per_spectrum\":{:.4g},\"ms_per_image\":{:.4g},\"cpu_us_per_spectrum\":{:.4g},"
      "\"cpu_ms_per_image\":{:.4g},\"of_channels\":{},"
      "\"times_real_time\":{:.4g},\"error\":{:.2g}}}\n",
      c.name, epic_method_name(method), options.n_threads, c.enu_m.size(), c.n_pol, c.n_chan, c.n_spectra,
      c.size, method == EpicMethod::fft ? kernel_cells : 0, method == EpicMethod::fft ? padding : 1, coded,
      start.wall_s, 1e6 * wall_s, 1e3 * per_image(add_brief.wall_s, wall_s, take.wall_s), 1e6 * cpu_s,
      1e3 * per_image(add_brief.cpu_s, cpu_s, take.cpu_s), c.all_channels, data_s / total_s,
      error_of(c, recording, plan(), geometry, images));
  std::fflush(stdout);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::size_t size : {64, 128}) {
    Case c;
    c.name = "lwa-sv";
    c.enu_m = builtin_positions("lwa-sv");
    c.size = size;
    cases.push_back(c);
    c.name = "kernels";
    c.n_spectra = 200;
    cases.push_back(c);
    c.name = "core-128";
    c.enu_m = random_positions(128);
    cases.push_back(c);
  }
  for (const std::size_t n_ant : {512, 1024}) {
    Case c;
    c.name = fmt::format("random-{}", n_ant);
    c.enu_m = random_positions(n_ant);
    c.n_chan = 1;
    c.n_spectra = 256;
    cases.push_back(c);
  }
  Case best;
  best.name = "best-2";
  best.enu_m = builtin_positions("best-2");
  best.n_pol = 1;
  best.n_chan = 64;
  best.size = 32;
  best.freq_hz = 408e6;
  best.spectrum_s = 1024 / 20e6;
  best.n_spectra = 512;
  best.all_channels = 64;
  cases.push_back(best);
  for (const std::size_t n_ant : {16, 32, 64, 128, 256, 512, 1024}) {
    Case c;
    c.name = "crossover";
    c.enu_m = random_positions(n_ant);
    c.n_spectra = n_ant > 256 ? 128 : 512;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      options.n_threads = static_cast<unsigned>(std::atoi(argv[++i]));
    else if (argument == "--planes")
      options.planes = true;
    else
      options.names.push_back(argument);
  }
  const auto& names = options.names;
  for (const Case& c : all_cases()) {
    if (!names.empty() && std::find(names.begin(), names.end(), c.name) == names.end()) continue;
    const Recording recording = make_recording(c);
    const Recording brief = make_recording([&] {
      Case few = c;
      few.n_spectra = kBrief;
      return few;
    }());
    if (c.name != "kernels") {
      run(c, recording, brief, EpicMethod::dft, 0, 1, options);
      run(c, recording, brief, EpicMethod::corr, 0, 1, options);
      run(c, recording, brief, EpicMethod::fft, 7, 1, options);
      continue;
    }
    for (std::size_t cells = 1; cells <= 9; ++cells)
      run(c, recording, brief, EpicMethod::fft, cells, 1, options);
    run(c, recording, brief, EpicMethod::fft, 7, 1.25, options);
  }
}
