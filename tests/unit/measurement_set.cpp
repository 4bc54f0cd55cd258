// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/measurement_set.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "libcore/core/constants.h"
#include "libcore/core/error.h"

using namespace apsyn;
namespace fs = std::filesystem;

namespace {

struct ScratchFolder {
  fs::path path = fs::temp_directory_path() / ("apsyn-ms-" + std::to_string(::getpid()));
  ScratchFolder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~ScratchFolder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
};

MsDescription description() {
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

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  ScratchFolder folder;
  Observation observation(description(), 5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  observation.weight(1, 1, 2, 3) = 0;
  observation.weight(1, 2, 0, 0) = -1;
  observation.weight(1, 2, 0, 1) = nan;
  observation.data(2, 1, 0, 1) = {nan, 0};
  observation.data(2, 4, 3, 2) = {0, std::numeric_limits<float>::infinity()};
  for (int c = 0; c < 4; ++c)
    for (int p = 0; p < 4; ++p) observation.weight(3, 4, c, p) = 0;
  const std::string path = folder / "a.ms";
  observation.write(path);
  BOOST_TEST(!fs::exists(path + ".part"));

  MsSelection selection;
  selection.autos = true;
  MeasurementSetReader reader(path, selection);
  BOOST_TEST(reader.n_rows() == 30);
  BOOST_TEST(reader.telescope() == "TEST");
  BOOST_TEST(reader.first_time_mjd_s() == observation.time_s(0));
  BOOST_TEST(reader.last_time_mjd_s() == observation.time_s(4));
  BOOST_REQUIRE(reader.spectral_windows().size() == 1);
  BOOST_TEST(reader.spectral_windows()[0].channel_hz == observation.set.channel_hz);
  BOOST_TEST(reader.spectral_windows()[0].width_hz[3] == 10e3);
  BOOST_TEST((reader.products() == observation.set.products));
  BOOST_REQUIRE(reader.fields().size() == 1);
  BOOST_TEST(reader.fields()[0].name == "3C 48");
  BOOST_TEST(reader.fields()[0].phase_centre.ra_rad == observation.set.phase_centre.ra_rad);
  BOOST_TEST(reader.fields()[0].phase_centre.dec_rad == observation.set.phase_centre.dec_rad);
  BOOST_REQUIRE(reader.layout().antennas.size() == 3);
  BOOST_TEST(reader.layout().antennas[1].flagged);
  const Vec3 difference = reader.layout().antennas[2].enu_m - reader.layout().antennas[1].enu_m;
  BOOST_TEST(std::hypot(difference[0] + 130, difference[1] - 230, difference[2] + 3) < 0.02);

  for (std::size_t block : {1, 4, 7, 1000}) {
    reader.rewind();
    MsRows rows;
    std::int64_t row = 0;
    while (reader.read(rows, block)) {
      BOOST_REQUIRE(rows.ant1.size() <= block);
      for (std::size_t i = 0; i < rows.ant1.size(); ++i, ++row) {
        const std::size_t t = static_cast<std::size_t>(row) / 6, b = static_cast<std::size_t>(row) % 6;
        BOOST_REQUIRE(rows.row_number[i] == row);
        BOOST_TEST(rows.ant1[i] == observation.baselines[b].ant1);
        BOOST_TEST(rows.ant2[i] == observation.baselines[b].ant2);
        BOOST_TEST(rows.time_mjd_s[i] == observation.time_s(t));
        BOOST_TEST(rows.interval_s[i] == 2.0);
        for (int k = 0; k < 3; ++k) BOOST_TEST(rows.uvw_m(i, k) == observation.uvw_m(t, b, k));
        for (int c = 0; c < 4; ++c)
          for (int p = 0; p < 4; ++p) {
            const auto value = observation.data(t, b, c, p);
            const float weight = observation.weight(t, b, c, p);
            const bool good = weight > 0 && std::isfinite(value.real()) && std::isfinite(value.imag());
            BOOST_TEST(rows.weight(i, c, p) == (good ? weight : 0.0f));
            BOOST_TEST((rows.data(i, c, p) == (good ? value : std::complex<float>{})));
          }
      }
    }
    BOOST_TEST(row == 30);
  }
}
