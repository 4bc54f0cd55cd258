// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/epic/deviation.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

#include "libcore/base/constants.h"
#include "tests/bench/epic/pixel_truth.h"

namespace apsyn::bench {

namespace {

const Vec3 kSource{0.3, -0.4, std::sqrt(0.75)};

}  // namespace

Buffer<std::uint8_t, 3> make_samples(const EpicPlan& plan, const std::vector<Vec3>& enu_m,
                                     std::size_t n_spectra) {
  Buffer<std::uint8_t, 3> samples({n_spectra, plan.n_chan, plan.n_ant * 2});
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> noise(1 << 16);
  for (float& value : noise) value = normal(random);
  std::vector<std::complex<float>> turns;
  for (const double hz : plan.channel_hz)
    for (const Vec3& enu : enu_m)
      turns.emplace_back(std::polar(1.0, kTwoPi * hz * dot(enu, kSource) / kSpeedOfLight_m_s));
  std::uint32_t state = 12345;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return noise[state >> 16];
  };
  const auto level = [](float value) {
    return static_cast<int>(std::clamp(std::nearbyint(value), -8.0f, 7.0f));
  };
  std::uint8_t* to = samples.data();
  for (std::size_t t = 0; t < n_spectra; ++t)
    for (std::size_t chan = 0; chan < plan.n_chan; ++chan) {
      const std::complex<float> s(0.5f * next(), 0.5f * next());
      for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
        const std::complex<float> e = s * turns[chan * plan.n_ant + ant];
        for (std::size_t pol = 0; pol < 2; ++pol)
          *to++ = static_cast<std::uint8_t>(level(e.real() + next()) << 4 | (level(e.imag() + next()) & 15));
      }
    }
  return samples;
}

Deviation deviation(const Buffer<std::uint8_t, 3>& samples, const EpicPlan& plan,
                    const EpicGeometry& geometry, const EpicImages& images, std::size_t chan) {
  double worst = 0, peak = 0, square = 0, all = 0;
  const auto voltage = [&](std::size_t t, std::size_t ant, std::size_t pol) {
    const auto both = static_cast<std::int8_t>(samples(t, chan, 2 * ant + pol));
    return std::complex<double>(both >> 4, static_cast<std::int8_t>(both << 4) >> 4);
  };
  for (const std::size_t i : sampled_pixels(plan, kSource, 24)) {
    const Vec3 unit = epic_direction(plan, geometry, i % plan.nx, i / plan.nx);
    if (!(unit[2] > 0)) continue;
    const auto products = pixel_products(plan, geometry, chan, unit, samples.extent(0), voltage);
    const bool total = images.planes.extent(1) == 1;  // (XX + YY) / 2 alone
    for (std::size_t plane = 0; plane < (total ? 1 : 4); ++plane) {
      const double wanted = total ? (products[0] + products[1]) / 2 : products[plane];
      const double off = wanted - static_cast<double>(images.planes(chan, plane, i / plan.nx, i % plan.nx));
      worst = std::max(worst, std::isfinite(off) ? std::abs(off) : 1e30);
      square += off * off;
      all += wanted * wanted;
      if (plane < 2) peak = std::max(peak, std::abs(wanted));
    }
  }
  return {worst / peak, std::sqrt(square / all)};
}

}  // namespace apsyn::bench
