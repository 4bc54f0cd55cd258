// SPDX-License-Identifier: GPL-3.0-or-later
// bench_epic_fft_cuda [CASE...]: direct images of 4-bit samples that are on the device, 132 channels x 1000
// spectra (40 ms of LWA-SV) x 2 polarisations, all four products, by the `fft` method. One JSON line per
// case: times of queued accumulations one at a time (median) and of many in a row, without the images made of
// their sums in the end; the share of the FP32 ceiling (63.7 TFLOP/s) that gridding (8 operations for each
// antenna, cell and polarisation), transforms (5 N log2 N of the rows and columns that are needed) and
// products (16 a pixel) make up; and the RMS error against float64 over the RMS image. Cases: level (256
// antennas of LWA-SV's station on one level; the published imager's case), tall (as they stand, without the
// outrigger), whole (with it, as epic-image leaves it out of the grid), kernels (level with kernels of 1 to 9
// cells), staged (three stages with cuFFT).
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/spectra.cuh"
#include "kernels/epic/fft/fft_cuda.h"
#include "kernels/epic/fft/grid.h"
#include "kernels/epic/fft/off_grid.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/bench/epic/pixel_truth.h"

using namespace apsyn;

namespace {

const Vec3 kSource{0.3, -0.4, std::sqrt(0.75)};
constexpr double kData_s = 40e-3, kPeakFlops = 63.7e12;

struct Case {
  std::string name;
  std::vector<Vec3> enu_m;
  std::size_t n_chan = 132, n_spectra = 1000, size = 128;
  double freq_hz = 50e6;
  bool off_grid = false;  ///< whether antennas may be left out of the grid
};

std::vector<Vec3> whole_station() {
  std::vector<Vec3> enu;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) enu.push_back(antenna.enu_m);
  return enu;
}

std::vector<Vec3> station(bool level) {
  std::vector<Vec3> enu = whole_station();
  enu.pop_back();  // the outrigger
  if (!level) return enu;
  enu.push_back({0.5 * enu[0][0], 0.5 * enu[0][1], 0});
  for (Vec3& r : enu) r[2] = 0;
  return enu;
}

/// [spectrum][channel][input], re in the high nibble.
struct Samples {
  std::vector<std::uint8_t> host;
  DeviceArray<std::uint8_t> device;
};

Samples make_samples(const Case& c) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2.1f);
  std::vector<float> noise(1 << 16);
  for (float& value : noise) value = normal(random);
  const std::size_t n_ant = c.enu_m.size();
  std::vector<std::complex<float>> turn;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    for (const Vec3& enu : c.enu_m)
      turn.emplace_back(std::polar(0.5, kTwoPi * (c.freq_hz + 25e3 * static_cast<double>(chan)) *
                                            dot(enu, kSource) / kSpeedOfLight_m_s));
  Samples samples;
  samples.host.resize(c.n_spectra * c.n_chan * n_ant * 2);
  std::uint8_t* to = samples.host.data();
  std::uint32_t at = 1;
  const auto next = [&] { return noise[(at = at * 1664525 + 1013904223) >> 16]; };
  for (std::size_t t = 0; t < c.n_spectra; ++t)
    for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
      const std::complex<float> s(next(), next());
      for (std::size_t input = 0; input < 2 * n_ant; ++input) {
        const std::complex<float> e = s * turn[chan * n_ant + input / 2];
        const auto level = [&](float value) {
          return static_cast<int>(std::clamp(std::round(value + next()), -8.0f, 7.0f));
        };
        const int re = level(e.real()), im = level(e.imag());
        *to++ = static_cast<std::uint8_t>(re * 16 | (im & 15));
      }
    }
  samples.device = DeviceArray<std::uint8_t>(samples.host.size());
  cuda_check(
      cudaMemcpy(samples.device.data(), samples.host.data(), samples.host.size(), cudaMemcpyHostToDevice),
      "copying samples");
  return samples;
}

/// Samples that are on the device already, over and over.
class Resident final : public DeviceSpectrumSource {
 public:
  explicit Resident(const Samples& samples) : samples_(samples) {}
  std::size_t append(const VoltageBlock&, std::size_t) override { return 0; }
  std::function<void()> taken() override { return {}; }
  void end_of_stream() override {}
  std::int64_t available() const override { return 0; }
  void release(std::int64_t) override {}
  std::size_t max_spectra() const override { return 0; }
  std::size_t good_spectra() const override { return 0; }
  bool untouched() const override { return true; }
  DeviceSamples samples(std::int64_t, SpectraBlock& validity, cudaStream_t) override {
    validity.all_valid = true;
    return {samples_.device.data(), true};
  }
  void used(cudaStream_t) override {}
  void spectra(std::int64_t, SpectraBlock&, const x_layout::Layout&, std::int8_t*, cudaStream_t) override {}
  void spectra(std::int64_t, SpectraBlock&, std::size_t, float2*, cudaStream_t) override {}
  View<const float, 2> scales(std::int64_t) const override { return {}; }
  std::vector<std::uint64_t> clipped() const override { return {}; }

 private:
  const Samples& samples_;
};

EpicPlan plan_of(const Case& c, std::size_t cells, double padding) {
  EpicPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_ant = c.enu_m.size();
  plan.n_pol = 2;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    plan.channel_hz.push_back(c.freq_hz + 25e3 * static_cast<double>(chan));
  plan.second = plan.cross = true;
  plan.nx = plan.ny = c.size;
  plan.cell = 2.0 / static_cast<double>(c.size);
  plan.kernel_cells = cells;
  plan.padding = padding;
  plan.n_threads = 16;
  return plan;
}

/// RMS over sampled pixels of the last channel and all products, over the RMS of XX and YY. Without the
/// source, which would be nearly all of the latter.
double error_of(const Case& c, const Samples& samples, const EpicPlan& plan, const EpicGeometry& geometry,
                const EpicImages& images) {
  const std::size_t channel = c.n_chan - 1;
  const auto voltage = [&](std::size_t t, std::size_t ant, std::size_t pol) {
    const auto code =
        static_cast<std::int8_t>(samples.host[((t * c.n_chan + channel) * plan.n_ant + ant) * 2 + pol]);
    return std::complex<double>(code >> 4, static_cast<std::int8_t>(code * 16) >> 4);
  };
  double squares = 0, power = 0;
  for (const std::size_t i : bench::sampled_pixels(plan, 40)) {
    const std::size_t x = i % plan.nx, y = i / plan.nx;
    const Vec3 unit = epic_direction(plan, geometry, x, y);
    if (!(unit[2] > 0)) continue;
    const auto wanted = bench::pixel_products(plan, geometry, channel, unit, c.n_spectra, voltage);
    for (std::size_t plane = 0; plane < 4; ++plane) {
      const double off = wanted[plane] - static_cast<double>(images.planes(channel, plane, y, x));
      squares += off * off / 4;
      if (plane < 2) power += wanted[plane] * wanted[plane] / 2;
    }
  }
  return std::sqrt(squares / power);
}

double operations_of(const Case& c, const EpicPlan& plan, const EpicGeometry& geometry) {
  const FftGrid grid = plan_fft_grid(plan, geometry);
  const auto k = static_cast<double>(plan.kernel_cells);
  double low = 0, high = 0;
  for (const Vec3& enu : geometry.enu_m) {
    low = std::min(low, grid.place(enu)[1]);
    high = std::max(high, grid.place(enu)[1]);
  }
  const double n_x = static_cast<double>(grid.x.n), n_y = static_cast<double>(grid.y.n);
  const double rows = std::min(n_y, (high - low) * c.freq_hz / kSpeedOfLight_m_s / grid.y.spacing() + k);
  const double columns = grid.resampled ? n_x : static_cast<double>(plan.nx);
  const double spectrum = 2 * (8 * k * k * static_cast<double>(plan.n_ant) + 5 * rows * n_x * std::log2(n_x) +
                               5 * columns * n_y * std::log2(n_y)) +
                          16 * columns * n_y;
  return spectrum * static_cast<double>(c.n_chan * c.n_spectra);
}

template <class Work>
double seconds_of(int n, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) work();
  cuda_check(cudaDeviceSynchronize(), "waiting");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / n;
}

void run(const Case& c, const Samples& samples, std::size_t cells, double padding, FftVariant form,
         EpicPrecision precision = EpicPrecision::single) {
  EpicGeometry geometry;
  geometry.enu_m = c.enu_m;
  geometry.delay_s.assign(c.enu_m.size(), 0.0);
  const auto planned = [&] {
    EpicPlan plan = plan_of(c, cells, padding);
    if (c.off_grid)
      choose_off_grid(plan, geometry, [&] {
        return cuda_epic_cost(EpicMethod::fft, plan, geometry, precision)
            .of(static_cast<double>(c.n_spectra));
      });
    return plan;
  };
  const EpicPlan plan = planned();
  const auto imager = make_fft_imager_cuda(planned(), 0, precision, form);
  Resident source(samples);
  EpicImages images;
  const double start_s = seconds_of(1, [&] { imager->start(geometry); });
  const auto add = [&] { imager->add_from(source, 0, c.n_spectra); };
  seconds_of(1, add);
  const double take_s = seconds_of(1, [&] { imager->take(images); });
  const double error = error_of(c, samples, plan, geometry, images);
  std::vector<double> single;
  for (int i = 0; i < (form == FftVariant::staged ? 3 : 9); ++i) single.push_back(seconds_of(1, add));
  std::sort(single.begin(), single.end());
  const double median_s = single[single.size() / 2];
  const double sustained_s = seconds_of(std::max(2, static_cast<int>(0.3 / median_s)), add);
  const FftGrid grid = plan_fft_grid(plan, geometry);
  fmt::print(
      "{{\"bench\":\"epic\",\"case\":\"{}\",\"method\":\"fft\",\"device\":\"cuda\",\"form\":\"{}\","
      "\"precision\":\"{}\","
      "\"antennas\":{},\"off_grid\":{},"
      "\"size\":{},\"grid\":[{},{}],\"kernel\":{},\"padding\":{},\"ms\":{:.4g},\"ms_sustained\":{:.4g},"
      "\"times_real_time\":{:.3g},\"fp32_share\":{:.3f},\"start_s\":{:.3g},\"take_ms\":{:.4g},\"error\":{:."
      "2g}}}\n",
      c.name,
      form == FftVariant::staged  ? "staged"
      : form == FftVariant::fused ? "fused"
                                  : "automatic",
      precision == EpicPrecision::half ? "half" : "single", plan.n_ant, off_grid_order(plan).n_off, c.size,
      grid.x.n, grid.y.n, cells, padding, 1e3 * median_s, 1e3 * sustained_s, kData_s / sustained_s,
      operations_of(c, plan, geometry) / sustained_s / kPeakFlops, start_s, 1e3 * take_s, error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> names(argv + 1, argv + argc);
  const auto wanted = [&](const char* name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const bool level : {true, false}) {
    Case c;
    c.name = level ? "level" : "tall";
    c.enu_m = station(level);
    if (!level && !wanted("tall")) continue;
    if (level && !wanted("level") && !wanted("kernels") && !wanted("staged")) continue;
    const Samples samples = make_samples(c);
    for (const std::size_t size : {64, 128}) {
      c.size = size;
      if (wanted(c.name.c_str()))
        for (const double padding : {1.0, 1.115, 1.25})
          for (const EpicPrecision precision : {EpicPrecision::half, EpicPrecision::single})
            run(c, samples, 7, padding, FftVariant::automatic, precision);
      if (!level) continue;
      for (std::size_t cells = 1; wanted("kernels") && cells <= 9; ++cells)
        run(c, samples, cells, 1, FftVariant::automatic);
      if (wanted("staged")) run(c, samples, 7, 1, FftVariant::staged);
    }
  }
  if (!wanted("whole")) return 0;
  Case c;
  c.name = "whole";
  c.enu_m = whole_station();
  for (const double freq_hz : {50e6, 70e6}) {
    c.freq_hz = freq_hz;
    const Samples samples = make_samples(c);
    for (c.off_grid = true;; c.off_grid = false) {
      for (const EpicPrecision precision : {EpicPrecision::half, EpicPrecision::single})
        run(c, samples, 7, 1.115, FftVariant::automatic, precision);
      if (!c.off_grid) break;
    }
  }
}
