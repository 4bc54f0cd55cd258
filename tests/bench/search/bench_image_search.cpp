// SPDX-License-Identifier: GPL-3.0-or-later
// bench_image_search cpu|cuda[:N]|write:PATH NX NY CHANNELS IMAGES [damaged]: images of noise and a few
// pulses at 150 MHz, 1.28 MHz wide, each 20 ms. Searched from memory, one JSON line: rates, and seconds on
// images as they come, on levels and noise, and on trials. Or written as a stream for the tool, to standard
// output for `write:-`; `damaged` ones lack pixels, channels and whole images.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/dedisperse/trials.h"
#include "kernels/search/images/image_search.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"

using namespace apsyn;

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kStep = 0.02, kFirstHz = 149.36e6, kBandHz = 1.28e6;
/// Images that are searched again and again.
constexpr std::size_t kDistinct = 24;

struct Pulse {
  double begin, dm, width, x, y, height;  ///< frames, parts of the image, noise
};
constexpr Pulse kPulses[] = {{50, 100, 3, 0.4, 0.6, 4},    {75, 50, 6, 0.5, 0.5, 400},
                             {90, 210, 5, 0.1, 0.1, 40},   {120, 0, 1, 0.7, 0.25, 8},
                             {150, 150, 2, 1, 1, 6},       {210, 30, 1, 0.3, 0.8, 30},
                             {300, 240, 2, 0.55, 0.35, 10}};

class Sky {
 public:
  Sky(std::size_t nx, std::size_t ny, std::size_t n_chan, bool damaged)
      : nx_(nx), ny_(ny), n_chan_(n_chan), damaged_(damaged), noise_(nx * ny + (std::size_t{1} << 22)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : noise_) value = normal(random);
  }

  void make(std::size_t t, std::vector<float>& planes) const {
    const std::size_t n = nx_ * ny_;
    planes.resize(n * n_chan_);
    parallel_for(available_threads(), n_chan_, [&](std::size_t chan, unsigned) {
      std::mt19937_64 random(1000003 * t + chan);
      float* plane = planes.data() + chan * n;
      std::copy_n(noise_.data() + random() % (noise_.size() - n), n, plane);
      for (const Pulse& pulse : kPulses) add(pulse, t, chan, plane);
      if (damaged_) damage(t, chan, plane);
    });
  }

 private:
  void add(const Pulse& pulse, std::size_t t, std::size_t chan, float* plane) const {
    const DispersionBand band = band_of(n_chan_);
    const double begin = pulse.begin + std::round(pulse.dm * band.delay_per_dm(chan));
    const auto at = static_cast<double>(t);
    if (at < begin || at >= begin + pulse.width) return;
    const double x0 = pulse.x * static_cast<double>(nx_ - 1), y0 = pulse.y * static_cast<double>(ny_ - 1);
    for (std::size_t y = 0; y < ny_; ++y)
      for (std::size_t x = 0; x < nx_; ++x) {
        const double square =
            std::pow(static_cast<double>(x) - x0, 2) + std::pow(static_cast<double>(y) - y0, 2);
        if (square < 100) plane[y * nx_ + x] += static_cast<float>(pulse.height * std::exp(-square / 3.25));
      }
  }

  void damage(std::size_t t, std::size_t chan, float* plane) const {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const std::size_t n = nx_ * ny_;
    for (std::size_t y = 0; y < ny_; ++y) plane[y * nx_ + nx_ / 5] = kNan;
    plane[n / 3] = t % 7 == 0 ? std::numeric_limits<float>::infinity() : plane[n / 3] + 50;
    if (t == 60 || t == 61 || (chan == 2 && t % 3 != 0)) std::fill_n(plane, n, kNan);
    if (t == 100 && chan == 1) std::for_each(plane, plane + n, [](float& value) { value += 5; });
  }

 public:
  static DispersionBand band_of(std::size_t n_chan) {
    const double width = kBandHz / static_cast<double>(n_chan);
    return {kFirstHz + width / 2, width, n_chan, kStep};
  }

 private:
  std::size_t nx_, ny_, n_chan_;
  bool damaged_;
  std::vector<float> noise_;
};

ImageSearchPlan plan_of(std::size_t nx, std::size_t ny, std::size_t n_chan, const Device& device) {
  ImageSearchPlan plan;
  plan.nx = nx, plan.ny = ny, plan.n_chan = n_chan;
  plan.n_threads = available_threads();
  plan.device = device;
  plan.widths = {1, 2, 3, 4, 6, 8};
  plan.program = plan_boxcars(plan.widths);
  const DispersionBand band = Sky::band_of(n_chan);
  TrialSettings settings;
  settings.dm_high = 1000, settings.max_factor = 1;
  std::vector<double> dms;
  for (const TrialLevel& level : plan_trials(band, settings))
    dms.insert(dms.end(), level.dm.begin(), level.dm.end());
  plan.delay.resize({dms.size(), n_chan});
  for (std::size_t trial = 0; trial < dms.size(); ++trial) {
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      plan.delay(trial, chan) =
          static_cast<std::uint32_t>(std::llround(dms[trial] * band.delay_per_dm(chan)));
    plan.band_delay.push_back(dms[trial] * band.delay_per_dm(0));
  }
  return plan;
}

void write(const Sky& sky, const std::string& path, std::size_t nx, std::size_t ny, std::size_t n_chan,
           std::size_t n_image) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  std::string header = fmt::format(
      "HDR_SIZE 4096\nINSTRUMENT apsyn-image\nUTC_START 2024-01-01-00:00:00\nPICOSECONDS 0\nOBS_OFFSET 0\n"
      "FILE_SIZE {}\nTRAILER 0\nFREQ {}\nBW {}\nTSAMP {}\nNBIT 32\nNDIM 1\nNCHAN {}\nNX {}\nNY {}\nCELL "
      "0.05\n"
      "PRODUCTS I\nORDER TDPFYX\nENCODING FLOAT\nENDIAN LITTLE\nPHASE_RA 60\nPHASE_DEC -27\nFLUX_UNIT Jy\n",
      n_image * n_chan * nx * ny * sizeof(float), (kFirstHz + kBandHz / 2) * 1e-6, kBandHz * 1e-6,
      kStep * 1e6, n_chan, nx, ny);
  header.resize(4096, '\0');
  std::setvbuf(file, nullptr, _IONBF, 0);
  bool done = std::fwrite(header.data(), 1, header.size(), file) == header.size();
  std::vector<float> planes;
  for (std::size_t t = 0; t < n_image && done; ++t) {
    sky.make(t, planes);
    done = std::fwrite(planes.data(), sizeof(float), planes.size(), file) == planes.size();
  }
  if (!done || std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

void search(const Sky& sky, const ImageSearchPlan& plan, std::size_t n_image) {
  std::vector<std::vector<float>> images(std::min(kDistinct, n_image));
  for (std::size_t t = 0; t < images.size(); ++t) sky.make(t, images[t]);
  const Clock::time_point start = Clock::now();
  ImageSearch engine(plan);
  std::vector<std::shared_ptr<void>> prepared;
  for (std::vector<float>& image : images) prepared.push_back(engine.prepare(image));
  const double start_s = std::chrono::duration<double>(Clock::now() - start).count();
  const Clock::time_point begin = Clock::now();
  std::size_t n = 0;
  for (std::size_t t = 0; t < n_image; ++t) {
    engine.push(images[t % images.size()]);
    n += engine.take().size();
  }
  engine.end();
  n += engine.take().size();
  const double s = std::chrono::duration<double>(Clock::now() - begin).count(),
               planes = static_cast<double>(n_image * plan.n_chan),
               bytes = planes * static_cast<double>(plan.nx * plan.ny * sizeof(float));
  fmt::print(
      "{{\"device\": \"{}\", \"nx\": {}, \"ny\": {}, \"channels\": {}, \"images\": {}, \"trials\": {}, "
      "\"candidates\": "
      "{}, \"start_s\": {:.3f}, \"s\": {:.3f}, \"planes_per_s\": {:.0f}, \"gb_per_s\": {:.2f}, \"frames_s\": "
      "{:.3f}, "
      "\"levels_s\": {:.3f}, \"trials_s\": {:.3f}}}\n",
      plan.device.kind == Device::Kind::cuda ? "cuda" : "cpu", plan.nx, plan.ny, plan.n_chan, n_image,
      plan.delay.extent(0), n, start_s, s, planes / s, bytes / s * 1e-9, engine.curve_seconds().frames,
      engine.curve_seconds().levels, engine.scan_seconds());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 6)
      throw std::runtime_error("bench_image_search cpu|cuda[:N]|write:PATH NX NY CHANNELS IMAGES [damaged]");
    const std::string_view what = argv[1];
    const std::size_t nx = std::stoul(argv[2]), ny = std::stoul(argv[3]), n_chan = std::stoul(argv[4]),
                      n_image = std::stoul(argv[5]);
    const Sky sky(nx, ny, n_chan, argc > 6 && std::string_view(argv[6]) == "damaged");
    if (what.starts_with("write:"))
      write(sky, std::string(what.substr(6)), nx, ny, n_chan, n_image);
    else
      search(sky, plan_of(nx, ny, n_chan, choose_device(what, CudaSupport::available, available_threads())),
             n_image);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_image_search: {}\n", error.what());
    return 1;
  }
}
