// SPDX-License-Identifier: GPL-3.0-or-later
// Samples, weights and what is made of them in int64, for tests of kernels/common/cuda/beams/products.cuh.
#pragma once

#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/sample_rows.h"

namespace apsyn::support {

using namespace beam_products;

struct BeamCase {
  int n_channel = 1, n_pol = 1, n_weight_pol = 1, n_ant = 64, n_beam = 32, n_limb = 1;
  Sections sections;
  Source::SampleLayout layout = Source::SampleLayout::rows;
  bool flagged = false, joined = false;
  Values values = Values::products;
};

inline std::string describe(const BeamCase& c) {
  const char* layouts[] = {"rows", "int8", "int4"};
  return std::to_string(c.n_channel) + " channels, " + std::to_string(c.n_pol) + " pol, " +
         std::to_string(c.n_weight_pol) + " weight pol, " + std::to_string(c.n_ant) + " ant, " +
         std::to_string(c.n_beam) + " beams, " + std::to_string(c.n_limb) + " limbs, " +
         std::to_string(c.sections.count()) + " sections of " + std::to_string(c.sections.n_spectra) +
         " spectra, " + layouts[static_cast<int>(c.layout)] + (c.flagged ? ", flagged" : "") +
         (c.joined ? ", joined" : "");
}

/// Whole batches of samples and weights; samples [spectrum][channel][ant][pol][2].
struct BeamOperands {
  BeamCase c;
  int shift = 3;
  std::vector<std::int8_t> samples;
  std::vector<int> weights;  ///< [row][weight pol][beam][ant][2], limbs joined
  std::vector<std::uint8_t> valid;
  std::vector<float> scale;

  explicit BeamOperands(const BeamCase& which) : c(which) {
    std::mt19937 random(5);
    const int low = c.layout == Source::SampleLayout::int4 ? -8 : -128, high = -low - 1;
    std::uniform_int_distribution<int> sample(low, high), weight(-127, 127), limb(-4, 3), flag(0, 4);
    samples.resize(std::size_t(c.sections.n_spectra) * c.n_channel * c.n_ant * c.n_pol * 2);
    for (std::int8_t& value : samples) value = static_cast<std::int8_t>(sample(random));
    const std::size_t n_row = std::size_t(c.n_channel) * c.sections.count();
    weights.resize(n_row * c.n_weight_pol * c.n_beam * c.n_ant * 2);
    for (int& value : weights)
      value = c.n_limb == 1 ? weight(random) : (weight(random) << shift) + limb(random);
    valid.resize(std::size_t(c.n_channel) * c.n_ant, 1);
    if (c.flagged)
      for (std::uint8_t& value : valid) value = flag(random) != 0;
    scale.resize(std::size_t(c.n_channel) * c.n_pol * c.n_beam);
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 1.0f / static_cast<float>(1 << (i % 5));
  }

  std::complex<double> beam_of(int row, int pol, int beam, int t) const {
    const int section = row % c.sections.count(), channel = row / c.sections.count();
    if (t >= c.sections.size(section)) return 0;
    const int weight_pol = c.n_weight_pol == 1 ? 0 : pol;
    const std::int8_t* x =
        samples.data() +
        (std::size_t(c.sections.begin(section) + t) * c.n_channel + channel) * c.n_ant * c.n_pol * 2;
    const int* w =
        weights.data() + ((std::size_t(row) * c.n_weight_pol + weight_pol) * c.n_beam + beam) * c.n_ant * 2;
    std::int64_t re = 0, im = 0;
    for (int ant = 0; ant < c.n_ant; ++ant) {
      if (valid[std::size_t(channel) * c.n_ant + ant] == 0) continue;
      const std::int64_t xr = x[2 * (ant * c.n_pol + pol)], xi = x[2 * (ant * c.n_pol + pol) + 1];
      const std::int64_t wr = w[2 * ant], wi = w[2 * ant + 1];
      re += wr * xr - wi * xi;
      im += wi * xr + wr * xi;
    }
    const double factor = double(scale[(std::size_t(channel) * c.n_pol + pol) * c.n_beam + beam]);
    return {factor * static_cast<double>(re), factor * static_cast<double>(im)};
  }

  WeightLayout layout() const {
    return {.n_row = c.n_channel * c.sections.count(),
            .n_pol = c.n_weight_pol,
            .n_ant = c.n_ant,
            .n_beam = c.n_beam,
            .n_limb = c.n_limb};
  }

  std::vector<std::int8_t> weight_bytes() const {
    const WeightLayout to = layout();
    std::vector<std::int8_t> bytes(to.bytes(), 0);
    std::size_t at = 0;
    for (int row = 0; row < to.n_row; ++row)
      for (int pol = 0; pol < to.n_pol; ++pol)
        for (int beam = 0; beam < to.n_beam; ++beam)
          for (int ant = 0; ant < to.n_ant; ++ant)
            for (int part = 0; part < 2; ++part, ++at) {
              const Limbs limbs(weights[at], c.n_limb == 1 ? 0 : shift);
              const std::int8_t values[2] = {limbs.high, limbs.low};
              for (int limb = 0; limb < to.n_limb; ++limb)
                bytes[to.group(row, pol, beam / kGroupBeams, limb * to.n_blocks() + ant / kBlockAntennas) +
                      weight_offset(beam % kGroupBeams, part, ant % kBlockAntennas)] = values[limb];
            }
    return bytes;
  }

  /// The samples in the bytes that the device takes.
  std::vector<std::int8_t> sample_bytes() const {
    if (c.layout == Source::SampleLayout::int8) return samples;
    std::vector<std::int8_t> bytes;
    if (c.layout == Source::SampleLayout::int4) {
      for (std::size_t i = 0; i < samples.size(); i += 2)
        bytes.push_back(static_cast<std::int8_t>((samples[i] << 4) | (samples[i + 1] & 15)));
      return bytes;
    }
    const RowLayout to{.n_row = c.n_channel * c.sections.count(),
                       .n_pol = c.n_pol,
                       .n_ant = c.n_ant,
                       .n_spectra = c.sections.stride};
    const auto n = [](int count) { return static_cast<std::size_t>(count); };
    RowSamples rows({n(to.n_row), n(c.n_pol), n(c.sections.stride), n(c.n_ant), std::size_t{2}});
    rows.fill(0);
    for (int row = 0; row < to.n_row; ++row) {
      const int section = row % c.sections.count(), channel = row / c.sections.count();
      for (int t = 0; t < c.sections.size(section); ++t)
        for (int ant = 0; ant < c.n_ant; ++ant)
          for (int i = 0; i < 2 * c.n_pol; ++i)
            rows(row, i / 2, t, ant, i % 2) =
                samples[((std::size_t(c.sections.begin(section) + t) * c.n_channel + channel) * c.n_ant +
                         ant) *
                            c.n_pol * 2 +
                        i];
    }
    return sample_rows(to, rows);
  }
};

}  // namespace apsyn::support
