// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings to make direct images of, with the truth beside them: point sources and noise on any array,
// sample by sample from the measurement equation, and the pixels that image_products() makes of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <random>
#include <vector>

#include "kernels/epic/epic.h"
#include "libcore/base/constants.h"
#include "tests/reference/direct_image.h"

namespace apsyn::test {

struct EpicCase {
  std::vector<Vec3> enu_m;
  std::size_t n_chan = 1, n_pol = 2, n_spectra = 64;
  double freq_hz = 60e6, step_hz = 25e3;
  std::vector<Vec3> sources{{0.3, -0.4, std::sqrt(0.75)}};  ///< unit vectors, flux 1 each
  double noise = 0.3;                                       ///< power over that of a source
  bool integers = false;                                    ///< 4 bits
  bool gains = false, delays = false;
  double missing = 0;  ///< share of blocks of 8 spectra
  /// What an antenna hears of a source: of its number, the frequency and the source's direction; empty: 1.
  std::function<std::complex<double>(std::size_t, double, const Vec3&)> heard;
  unsigned seed = 1;
};

/// Antennas on a disc, uneven in height by +-height_m and on a slope.
inline std::vector<Vec3> random_array(std::size_t n, double radius_m, double height_m, double slope,
                                      unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Vec3> enu;
  while (enu.size() < n) {
    const double e = uniform(random), north = uniform(random);
    if (e * e + north * north > 1) continue;
    enu.push_back({radius_m * e, radius_m * north, height_m * uniform(random) + slope * radius_m * north});
  }
  return enu;
}

struct EpicRecording {
  EpicPlan shape;  ///< shape and channels only
  EpicGeometry geometry;
  std::vector<reference::ImagedAntenna> antennas;
  /// [chan][spectrum][ant]
  std::vector<std::vector<std::vector<reference::ImagedVoltage>>> voltages;
  bool all_valid = true, integers = false;

  explicit EpicRecording(const EpicCase& c);
  /// The shape and g, for the test to fill in the rest.
  EpicPlan plan() const;
  /// Spectra first .. first + n - 1 of some channels; what nobody may read is NaN.
  SpectraBlock block(std::size_t first, std::size_t n, std::size_t first_chan, std::size_t n_chan,
                     bool coded = false) const;
  Vec3 direction(const EpicPlan& plan, std::size_t x, std::size_t y) const {
    return plan.n_direction > 0 ? geometry.directions[x] : epic_direction(plan, geometry, x, y);
  }
  /// All of it, in pieces of `piece` spectra and `batch` channels.
  EpicImages image(DirectImager& imager, std::size_t piece, std::size_t batch, bool coded = false) const;
  /// The truth at a direction, over channels first_chan .. first_chan + n_average - 1.
  reference::ImagedProducts truth(const Vec3& unit, std::size_t first_chan, std::size_t n_average,
                                  bool autos) const;
};

inline EpicRecording::EpicRecording(const EpicCase& c) : integers(c.integers) {
  std::mt19937 random(c.seed);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  const auto noise = [&] { return std::complex<double>(normal(random), normal(random)); };
  shape.n_chan = c.n_chan;
  shape.n_ant = c.enu_m.size();
  shape.n_pol = c.n_pol;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    shape.channel_hz.push_back(c.freq_hz + c.step_hz * static_cast<double>(chan));
  geometry.enu_m = c.enu_m;
  for (const Vec3& enu : c.enu_m) {
    reference::ImagedAntenna antenna;
    antenna.position_m = enu;
    if (c.delays) antenna.delay_s = 1e-7 * normal(random);
    for (auto& factor : antenna.factor)
      if (c.gains) factor = std::polar(std::exp(0.3 * normal(random)), kTwoPi * normal(random));
    antennas.push_back(antenna);
    geometry.delay_s.push_back(antenna.delay_s);
  }
  voltages.resize(c.n_chan);
  std::vector<bool> valid((c.n_spectra + 7) / 8 * shape.n_ant, true);
  for (std::size_t i = 0; i < valid.size(); ++i)
    if (std::uniform_real_distribution<double>()(random) < c.missing) valid[i] = all_valid = false;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    for (std::size_t t = 0; t < c.n_spectra; ++t) {
      std::vector<std::array<std::complex<double>, 2>> signals;
      for (std::size_t i = 0; i < c.sources.size(); ++i) {
        const std::complex<double> x = noise();
        signals.push_back({x, 0.5 * x + std::sqrt(0.75) * noise()});  // partly polarised
      }
      std::vector<reference::ImagedVoltage> spectrum(shape.n_ant);
      for (std::size_t ant = 0; ant < shape.n_ant; ++ant) {
        auto& sample = spectrum[ant];
        sample.valid = valid[t / 8 * shape.n_ant + ant];
        for (std::size_t pol = 0; pol < c.n_pol; ++pol) {
          std::complex<double> e = std::sqrt(c.noise) * noise();
          for (std::size_t i = 0; i < signals.size(); ++i) {
            const double tau = dot(c.enu_m[ant], c.sources[i]) / kSpeedOfLight_m_s - geometry.delay_s[ant];
            std::complex<double> turned = std::polar(1.0, kTwoPi * shape.channel_hz[chan] * tau);
            if (c.heard) turned *= c.heard(ant, shape.channel_hz[chan], c.sources[i]);
            e += signals[i][pol] * turned;
          }
          e /= antennas[ant].factor[pol];
          if (c.integers)
            e = {std::clamp(std::round(3 * e.real()), -8.0, 7.0),
                 std::clamp(std::round(3 * e.imag()), -8.0, 7.0)};
          else
            e = std::complex<double>(std::complex<float>(e));
          if (sample.valid) sample.voltage[pol] = e;
        }
      }
      voltages[chan].push_back(std::move(spectrum));
    }
}

inline EpicPlan EpicRecording::plan() const {
  EpicPlan plan;
  plan.n_chan = shape.n_chan;
  plan.n_ant = shape.n_ant;
  plan.n_pol = shape.n_pol;
  plan.channel_hz = shape.channel_hz;
  plan.second = plan.cross = plan.n_pol == 2;
  plan.factor.resize({plan.n_ant, plan.n_pol, plan.n_chan});
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
      for (std::size_t chan = 0; chan < plan.n_chan; ++chan)
        plan.factor(ant, pol, chan) = antennas[ant].factor[pol];
  return plan;
}

inline SpectraBlock EpicRecording::block(std::size_t first, std::size_t n, std::size_t first_chan,
                                         std::size_t n_chan, bool coded) const {
  SpectraBlock block;
  block.first_chan = first_chan;
  block.n_chan = n_chan;
  block.n_spectra = n;
  block.coded = coded;
  const std::size_t n_panel = panel_count(shape.n_ant * shape.n_pol);
  block.valid.resize({1, shape.n_ant, n});
  block.all_valid = all_valid;
  if (coded) {
    block.codes.resize({n_chan, n_panel, (n + 1) / 2 + 1, kCodeBytes});
    block.codes.fill(77);
  } else {
    block.planes.resize({n_chan, n_panel, n + 3, 2 * kPanelInputs});
    block.planes.fill(std::numeric_limits<float>::quiet_NaN());
  }
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    for (std::size_t t = 0; t < n + n % 2; ++t)
      for (std::size_t input = 0; input < n_panel * kPanelInputs; ++input) {
        const std::size_t ant = input / shape.n_pol, pol = input % shape.n_pol;
        std::complex<double> value;
        if (ant < shape.n_ant && t < n) {
          const auto& sample = voltages[first_chan + chan][first + t][ant];
          value = sample.voltage[pol];
          block.valid(0, ant, t) = sample.valid;
        }
        const std::size_t panel = input / kPanelInputs, lane = input % kPanelInputs;
        if (coded) {
          std::int8_t* to = &block.codes(chan, panel, t / 2, 4 * lane + t % 2 * 2);
          to[0] = static_cast<std::int8_t>(value.real());
          to[1] = static_cast<std::int8_t>(value.imag());
        } else if (t < n) {
          block.planes(chan, panel, t, lane) = static_cast<float>(value.real());
          block.planes(chan, panel, t, kPanelInputs + lane) = static_cast<float>(value.imag());
        }
      }
  return block;
}

inline EpicImages EpicRecording::image(DirectImager& imager, std::size_t piece, std::size_t batch,
                                       bool coded) const {
  EpicImages images;
  images.planes.resize({1, 1, 1, 1});
  images.planes.fill(12345);
  imager.start(geometry);
  const std::size_t n_spectra = voltages[0].size();
  for (std::size_t first = 0; first < n_spectra; first += piece)
    for (std::size_t chan = 0; chan < shape.n_chan; chan += batch)
      imager.add(block(first, std::min(piece, n_spectra - first), chan, std::min(batch, shape.n_chan - chan),
                       coded));
  imager.take(images);
  return images;
}

inline reference::ImagedProducts EpicRecording::truth(const Vec3& unit, std::size_t first_chan,
                                                      std::size_t n_average, bool autos) const {
  reference::ImagedProducts sum;
  for (std::size_t chan = first_chan; chan < first_chan + n_average; ++chan) {
    const auto one = reference::image_products(antennas, voltages[chan], unit, shape.channel_hz[chan], autos);
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t q = 0; q < 2; ++q) sum.mean[p][q] += one.mean[p][q] * one.pairs;
    sum.pairs += one.pairs;
  }
  for (auto& row : sum.mean)
    for (auto& mean : row) mean = sum.pairs > 0 ? mean / sum.pairs : 0;
  return sum;
}

}  // namespace apsyn::test
