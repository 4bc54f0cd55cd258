// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/image_pulses.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace apsyn::reference {
namespace {

constexpr double kDelayConstant = 1 / 2.41e-4 * 1e12;  // s Hz^2 / (pc cm^-3)

double sigma_pixels(const PulsedImages& images) {
  return images.beam_pixels / std::sqrt(8 * std::log(2.0));
}

}  // namespace

double PulsedImages::delay_frames(std::size_t chan, double dm) const {
  const auto hz = [&](std::size_t c) { return first_hz + static_cast<double>(c) * step_hz; };
  const double reference = step_hz > 0 ? hz(n_chan - 1) : hz(0);
  return dm * kDelayConstant * (1 / (hz(chan) * hz(chan)) - 1 / (reference * reference)) / frame_s;
}

double PulsedImages::beam(double dx, double dy) const {
  const double s = sigma_pixels(*this);
  return std::exp(-(dx * dx + dy * dy) / (2 * s * s));
}

double PulsedImages::steady(std::size_t x, std::size_t y, std::size_t t) const {
  double value = 0;
  for (int i = 0; i < 6; ++i) {
    const double px = static_cast<double>((37 * i + 11) % 97) / 97 * static_cast<double>(nx),
                 py = static_cast<double>((53 * i + 29) % 89) / 89 * static_cast<double>(ny);
    value += sky * (i + 1) / 6 * beam(static_cast<double>(x) - px, static_cast<double>(y) - py);
  }
  return value * (1 + drift * static_cast<double>(t));
}

std::vector<float> PulsedImages::frame(std::size_t t) const {
  std::mt19937_64 random(seed * 1000003 + t);
  std::normal_distribution<double> normal;
  // white noise smoothed by a Gaussian of 1/sqrt(2) of the beam's width has the beam as its correlation
  const double s = sigma_pixels(*this) / std::sqrt(2.0);
  const auto reach = static_cast<int>(std::ceil(4 * s));
  std::vector<double> kernel;
  double square = 0;
  for (int i = -reach; i <= reach; ++i) kernel.push_back(std::exp(-i * i / (2 * s * s)));
  for (const double k : kernel) square += k * k;
  const std::size_t pad = static_cast<std::size_t>(2 * reach), wide = nx + pad, high = ny + pad;
  std::vector<float> out(n_chan * ny * nx);
  std::vector<double> steady_sky;  // of all channels, [y][x]
  for (std::size_t y = 0; y < ny; ++y)
    for (std::size_t x = 0; x < nx; ++x) steady_sky.push_back(steady(x, y, t));
  std::vector<double> white(wide * high), rows(nx * high);
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    for (double& value : white) value = normal(random);
    for (std::size_t y = 0; y < high; ++y)
      for (std::size_t x = 0; x < nx; ++x) {
        double sum = 0;
        for (std::size_t i = 0; i < kernel.size(); ++i) sum += kernel[i] * white[y * wide + x + i];
        rows[y * nx + x] = sum;
      }
    for (std::size_t y = 0; y < ny; ++y)
      for (std::size_t x = 0; x < nx; ++x) {
        double sum = 0;
        for (std::size_t i = 0; i < kernel.size(); ++i) sum += kernel[i] * rows[(y + i) * nx + x];
        double value = steady_sky[y * nx + x] + sum / square;
        for (const ImagePulse& pulse : pulses) {
          const double begin = pulse.begin + delay_frames(chan, pulse.dm), at = static_cast<double>(t);
          const double part = std::min(begin + pulse.width, at + 1) - std::max(begin, at);
          if (part > 0)
            value +=
                part * pulse.peak * beam(static_cast<double>(x) - pulse.x, static_cast<double>(y) - pulse.y);
        }
        out[(chan * ny + y) * nx + x] = static_cast<float>(noise * value);
      }
  }
  return out;
}

double best_signal_to_noise(const PulsedImages& images, const std::vector<std::vector<float>>& frames,
                            const ImagePulse& pulse, double dm_reach) {
  double best = 0;
  const auto n_frame = static_cast<std::int64_t>(frames.size());
  const auto longest = static_cast<std::int64_t>(2 * std::ceil(pulse.width) + 2);
  for (int step = -8; step <= 8; ++step) {
    const double dm = std::max(0.0, pulse.dm + dm_reach * step / 8);
    for (int dy = -2; dy <= 2; ++dy)
      for (int dx = -2; dx <= 2; ++dx) {
        const std::int64_t x = std::llround(pulse.x) + dx, y = std::llround(pulse.y) + dy;
        if (x < 0 || y < 0 || x >= static_cast<std::int64_t>(images.nx) ||
            y >= static_cast<std::int64_t>(images.ny))
          continue;
        const auto px = static_cast<std::size_t>(x), py = static_cast<std::size_t>(y);
        const std::int64_t first = static_cast<std::int64_t>(std::floor(pulse.begin)) - 4;
        std::vector<double> before{0};  // sums over the frames before
        for (std::int64_t t = first; t < first + longest + 8; ++t) {
          double sum = 0;
          for (std::size_t chan = 0; chan < images.n_chan; ++chan) {
            const std::int64_t at = t + std::llround(images.delay_frames(chan, dm));
            if (at < 0 || at >= n_frame) continue;
            const auto frame = static_cast<std::size_t>(at);
            sum +=
                static_cast<double>(frames[frame][(chan * images.ny + py) * images.nx + px]) / images.noise -
                images.steady(px, py, frame);
          }
          before.push_back(before.back() + sum);
        }
        for (std::size_t width = 1; width <= static_cast<std::size_t>(longest); ++width)
          for (std::size_t t = 0; t + width < before.size(); ++t)
            best = std::max(best, (before[t + width] - before[t]) /
                                      std::sqrt(static_cast<double>(width * images.n_chan)));
      }
  }
  return best;
}

}  // namespace apsyn::reference
