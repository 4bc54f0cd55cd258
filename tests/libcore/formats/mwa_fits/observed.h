// SPDX-License-Identifier: GPL-3.0-or-later
// An observation of the MWA of which everything is known, as files: tiles whose order, inputs and
// polarisations are mixed up, what they measured, and what cables, gains and the sky's rotation made of it.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/formats/mwa_fits/mwa_fits.h"
#include "libcore/measures/coordinates.h"
#include "tests/reference/recordings/mwa_correlator.h"
#include "tests/reference/scratch.h"

namespace apsyn::test {

using reference::MwaIntegration;
using reference::MwaMetafits;
using reference::MwaPacking;
using reference::MwaTile;

inline constexpr std::int64_t kBegin_ms = 1512140080000;

/// Everything read of a set of files, row by row.
struct ReadRow {
  int window = 0;
  double time_mjd_s = 0;
  Baseline pair;
  std::array<double, 3> uvw_m{};
  std::vector<std::complex<float>> data;  ///< [chan][product]
  std::vector<float> weight;
};

inline std::vector<ReadRow> read_all(MwaFitsReader& reader, std::size_t max_rows = 1 << 20,
                                     unsigned n_threads = 2) {
  std::vector<ReadRow> all;
  FileRows rows;
  FileVisibilities cells;
  while (reader.read(rows, cells, max_rows, n_threads)) {
    const std::size_t n_cells = cells.data[0].extent(1) * cells.data[0].extent(2);
    for (std::size_t r = 0; r < rows.baselines.size(); ++r) {
      const auto* data = cells.data[0].data() + r * n_cells;
      const auto* weight = cells.weight[0].data() + r * n_cells;
      all.push_back({static_cast<int>(rows.first_window),
                     rows.time_mjd_s[r],
                     rows.baselines[r],
                     {rows.uvw_m(r, 0), rows.uvw_m(r, 1), rows.uvw_m(r, 2)},
                     {data, data + n_cells},
                     {weight, weight + n_cells}});
    }
  }
  return all;
}

class Observed {
 public:
  MwaMetafits metafits;
  bool cables = true, geometry = true, gains = true;            ///< what the data carry
  SkyDirection centre{50.67 * kRadPerDeg, -37.2 * kRadPerDeg};  ///< RAPHASE and DECPHASE
  MwaPacking packing = MwaPacking::floats;
  double scale = 1;

  Observed(std::size_t n_tiles, std::vector<int> channels) {
    metafits.channels = std::move(channels);
    std::mt19937 random(7);
    std::vector<int> inputs(2 * n_tiles), antennas(n_tiles);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<int>(i);
    for (std::size_t i = 0; i < n_tiles; ++i) antennas[i] = static_cast<int>(i);
    std::shuffle(inputs.begin(), inputs.end(), random);
    std::shuffle(antennas.begin(), antennas.end(), random);
    const auto metres = [&] { return static_cast<double>(random() % 16384) / 8 - 1024; };
    for (std::size_t i = 0; i < n_tiles; ++i) {
      MwaTile tile;
      tile.antenna = antennas[i];
      tile.input = {inputs[2 * i], inputs[2 * i + 1]};
      tile.enh_m = {metres(), metres(), 377 + metres() / 128};
      tile.length = fmt::format("EL_{}", metres());
      for (auto& of_signal : tile.gains)
        for (std::size_t channel = 0; channel < metafits.channels.size(); ++channel)
          of_signal.push_back(40 + static_cast<int>(random() % 80));
      metafits.tiles.push_back(tile);
    }
  }

  std::string gpubox_name(int number, int batch = 0) const {
    return fmt::format("{}_20171201145440_gpubox{:02}_{:02}.fits", metafits.obs_id, number, batch);
  }
  std::string mwax_name(int channel, int batch = 0) const {
    return fmt::format("{}_20171201145440_ch{:03}_{:03}.fits", metafits.obs_id, channel, batch);
  }

  /// The tile that the reader counts as `index`.
  const MwaTile& tile_of(int index) const {
    for (const MwaTile& tile : metafits.tiles)
      if (tile.antenna == index) return tile;
    throw std::out_of_range("no such tile");
  }

  double integration_ms() const { return metafits.integration_s * 1e3; }
  double channel_hz(int coarse, int channel, bool mwax) const {
    const double middle =
        mwax ? metafits.n_fine / 2 : metafits.n_fine / 2.0;  // of a legacy one an edge is centred
    return coarse * 1.28e6 + (channel - middle) * metafits.fine_khz * 1e3;
  }

  /// What tiles would have measured, without cables, amplifiers and rotation.
  static std::complex<double> truth(int ant1, int p, int ant2, int q, double freq_hz, std::int64_t time_ms) {
    const auto voltage = [&](int antenna, int pol) {
      return std::polar(100 + antenna + 0.5 * pol, antenna * (0.7 + 1e-8 * freq_hz) + 2.0 * pol);
    };
    return voltage(ant1, p) * std::conj(voltage(ant2, q)) *
           (1 + 1e-3 * static_cast<double>(time_ms - kBegin_ms));
  }

  /// Signals and times of a file.
  std::vector<MwaIntegration> integrations(int coarse, std::int64_t first_ms, int n, bool mwax) const {
    std::vector<MwaIntegration> made;
    const std::size_t gain_index = static_cast<std::size_t>(
        std::find(metafits.channels.begin(), metafits.channels.end(), coarse) - metafits.channels.begin());
    for (int k = 0; k < n; ++k) {
      const std::int64_t time_ms = first_ms + static_cast<std::int64_t>(k * integration_ms());
      std::vector<double> delay_s;  // by which a tile's signal comes late
      const SkyFrame frame(*mwa_site());
      const double middle_s = 40587 * 86400.0 + (static_cast<double>(time_ms) + integration_ms() / 2) * 1e-3;
      const Mat3 rotation = frame.uvw_rotation(from_mjd_seconds(middle_s), centre);
      for (const MwaTile& tile : metafits.tiles) {
        const Vec3 enu{tile.enh_m[0], tile.enh_m[1], tile.enh_m[2]};
        double path_m = cables ? std::stod(tile.length.substr(3)) : 0;
        if (geometry) path_m -= dot(rotation[2], enu);
        delay_s.push_back(path_m / 299792458.0);
      }
      const auto signal = [=, this](std::size_t i, int p, std::size_t j, int q, int channel) {
        const double freq_hz = channel_hz(coarse, channel, mwax);
        const MwaTile &first = metafits.tiles[i], &second = metafits.tiles[j];
        std::complex<double> value = truth(first.antenna, p, second.antenna, q, freq_hz, time_ms);
        value *= std::polar(1.0, -2 * kPi * freq_hz * (delay_s[i] - delay_s[j]));
        if (gains)
          value *= first.gains[static_cast<std::size_t>(p)][gain_index] / 64.0 *
                   second.gains[static_cast<std::size_t>(q)][gain_index] / 64.0;
        return value;
      };
      made.push_back({time_ms, signal, [](std::size_t i, int p, std::size_t j, int q) {
                        return 1.0 / static_cast<double>(1 + (i + j) % 4 + static_cast<std::size_t>(p + q));
                      }});
    }
    return made;
  }

  std::string write_metafits() const {
    return folder.file(fmt::format("{}.metafits", metafits.obs_id), reference::mwa_metafits_bytes(metafits));
  }
  std::string write_gpubox(int number, int coarse, std::int64_t first_ms = kBegin_ms, int n = 1,
                           int batch = 0) const {
    return folder.file(
        gpubox_name(number, batch),
        reference::mwa_gpubox_bytes(metafits, integrations(coarse, first_ms, n, false), packing, scale));
  }
  std::string write_mwax(int coarse, std::int64_t first_ms = kBegin_ms, int n = 1, int batch = 0) const {
    return folder.file(mwax_name(coarse, batch),
                       reference::mwa_mwax_bytes(metafits, integrations(coarse, first_ms, n, true), packing));
  }

  static std::optional<Site> mwa_site() {
    return Site{-26.703319405555554 * kRadPerDeg, 116.67081523611111 * kRadPerDeg, 377.827};
  }

  reference::Scratch folder;
};

/// The largest difference from the truth over its size. Channels of the windows' coarse channels in order.
inline double worst_error(const Observed& observed, const std::vector<ReadRow>& rows,
                          const MsDescription& set) {
  double worst = 0;
  for (const ReadRow& row : rows) {
    const std::vector<double>& channels_hz =
        row.window == 0 ? set.channel_hz
                        : set.more_windows[static_cast<std::size_t>(row.window) - 1].channel_hz;
    const auto time_ms = static_cast<std::int64_t>(
        std::llround((row.time_mjd_s - 40587 * 86400.0) * 1e3 - observed.integration_ms() / 2));
    for (std::size_t cell = 0; cell < row.data.size(); ++cell) {
      const int product = static_cast<int>(cell % 4);
      const std::complex<double> wanted = Observed::truth(row.pair.ant1, product / 2, row.pair.ant2,
                                                          product % 2, channels_hz[cell / 4], time_ms);
      worst = std::max(worst, std::abs(std::complex<double>(row.data[cell]) - wanted) / std::abs(wanted));
    }
  }
  return worst;
}

}  // namespace apsyn::test
