// SPDX-License-Identifier: GPL-3.0-or-later
// A small observation of random visibilities, for the tests of Measurement Sets.
#pragma once

#include <casacore/tables/Tables/Table.h>
#include <casacore/tables/Tables/TableRow.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/formats/ms/measurement_set.h"

namespace apsyn::test {

namespace fs = std::filesystem;

/// Its name is new each time: casacore remembers tables of a process by their path.
struct ScratchFolder {
  fs::path path;
  ScratchFolder() {
    std::string pattern = fs::temp_directory_path() / "apsyn-ms.XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
};

inline MsDescription ms_description() {
  MsDescription d;
  d.telescope = "TEST";
  d.source = "3C 48";
  d.layout.site = Site{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};
  d.layout.antennas = {
      {"A0", {0, 0, 0}, 0, false}, {"A1", {100, 20, 1}, 0, true}, {"A2", {-30, 250, -2}, 0, false}};
  d.phase_centre = {350 * kRadPerDeg, -30 * kRadPerDeg};
  d.channel_hz = {150e6, 150.01e6, 150.02e6, 150.03e6};
  d.channel_width_hz = 10e3;
  d.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  d.history = {"correlate 0.1", "-o x.ms"};
  return d;
}

/// Some integrations of random visibilities, with bad cells in known places.
struct Observation {
  MsDescription set;
  std::vector<Baseline> baselines;
  std::size_t n_time;
  Buffer<std::complex<float>, 4> data;  // [time][baseline][chan][product]
  Buffer<float, 4> weight;
  Buffer<double, 3> uvw_m;

  Observation(const MsDescription& d, std::size_t times) : set(d), n_time(times) {
    const int n_ant = static_cast<int>(d.layout.antennas.size());
    for (int i = 0; i < n_ant; ++i)
      for (int j = i; j < n_ant; ++j) baselines.push_back({i, j});
    const std::size_t nb = baselines.size(), nc = d.channel_hz.size(), np = d.products.size();
    data.resize({n_time, nb, nc, np});
    weight.resize({n_time, nb, nc, np});
    uvw_m.resize({n_time, nb, 3});
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
    for (auto& v : data) v = {normal(random), normal(random)};
    for (auto& w : weight) w = uniform(random);
    for (std::size_t t = 0; t < n_time; ++t)
      for (std::size_t b = 0; b < nb; ++b)
        for (int k = 0; k < 3; ++k)
          uvw_m(t, b, k) = (set.layout.antennas[baselines[b].ant1].enu_m -
                            set.layout.antennas[baselines[b].ant2].enu_m)[k] +
                           1e-3 * static_cast<double>(t);
  }
  double time_s(std::size_t t) const { return 5.1e9 + 2.0 * static_cast<double>(t); }
  void write(const std::string& path, bool overwrite = false) const {
    MeasurementSetWriter writer(path, set, overwrite);
    for (std::size_t t = 0; t < n_time; ++t)
      writer.write({time_s(t), 2.0, 1.9, uvw_m.view()[t], &baselines, data.view()[t], weight.view()[t]});
    writer.commit();
  }
};

/// A set, or one of its subtables, to change it.
inline casacore::Table edit(const std::string& path) {
  return casacore::Table(path, casacore::TableLock(casacore::TableLock::PermanentLocking),
                         casacore::Table::Update);
}

/// A copy of row 0 becomes the last row.
inline casacore::Table repeat_row(casacore::Table table) {
  casacore::TableRow row(table);
  row.get(0);
  table.addRow();
  row.put(table.nrow() - 1);
  return table;
}

}  // namespace apsyn::test
