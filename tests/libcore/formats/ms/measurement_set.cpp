// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/measurement_set.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>

#include "libcore/base/error.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(measurement_set)

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  ScratchFolder folder;
  Observation observation(ms_description(), 5);
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
  BOOST_TEST(reader.begin_mjd_s() == observation.time_s(0) - 1);
  BOOST_TEST(reader.end_mjd_s() == observation.time_s(4) + 1);
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

BOOST_AUTO_TEST_CASE(cells_come_in_pieces_to_any_number_of_threads) {
  ScratchFolder folder;
  Observation observation(ms_description(), 5000);  // six megabytes of cells
  for (std::size_t t = 0; t < 5000; t += 7) observation.weight(t, t % 6, t % 4, t % 3) = 0;
  observation.write(folder / "a.ms");
  MsSelection selection;
  selection.autos = true;
  selection.first_row = 5;
  selection.first_channel = 1;
  selection.n_channels = 2;
  MeasurementSetReader reader(folder / "a.ms", selection);
  for (const std::size_t block : {1'000, 100'000}) {
    std::vector<MsRows> expected;
    reader.rewind();
    for (MsRows rows; reader.read(rows, block); rows = {}) expected.push_back(std::move(rows));
    for (const unsigned threads : {0u, 1u, 3u}) {
      reader.rewind();
      MsRows rows;
      for (const MsRows& own : expected) {
        BOOST_REQUIRE(reader.next(rows, block));
        BOOST_TEST(rows.row_number == own.row_number, boost::test_tools::per_element());
        BOOST_TEST(rows.data.size() == 0u);
        for (double& u : rows.uvw_m) u = -1;
        std::vector<int> visits(own.ant1.size(), 0);
        std::atomic<int> n_wrong{0}, n_pieces{0};
        reader.read_cells(rows, threads, [&](std::size_t first, const auto& data, const auto& weight) {
          ++n_pieces;
          for (std::size_t i = 0; i < data.extent(0); ++i) {
            ++visits[first + i];
            for (std::size_t c = 0; c < 2; ++c)
              for (std::size_t p = 0; p < 4; ++p)
                n_wrong += data(i, c, p) != own.data(first + i, c, p) ||
                           weight(i, c, p) != own.weight(first + i, c, p);
          }
        });
        BOOST_TEST(n_wrong == 0);
        BOOST_TEST((n_pieces > 1) == (block > 1'000));
        BOOST_TEST(std::count(visits.begin(), visits.end(), 1) == static_cast<std::ptrdiff_t>(visits.size()));
        BOOST_TEST(std::equal(rows.uvw_m.begin(), rows.uvw_m.end(), own.uvw_m.begin(), own.uvw_m.end()));
      }
      BOOST_TEST(!reader.next(rows, block));
    }
  }
  // Rows whose cells nobody wants cost nothing; nor do they come with the next.
  reader.rewind();
  MsRows first, second;
  BOOST_REQUIRE(reader.next(first, 10));
  BOOST_REQUIRE(reader.read(second, 10));
  BOOST_TEST(second.row_number[0] > first.row_number.back());
  BOOST_TEST(second.data(0, 1, 2) == observation.data(static_cast<std::size_t>(second.row_number[0]) / 6,
                                                      static_cast<std::size_t>(second.row_number[0]) % 6, 2,
                                                      2));
}

BOOST_AUTO_TEST_CASE(products_come_in_canonical_order) {
  ScratchFolder folder;
  MsDescription description = ms_description();
  description.products = {Product::YX, Product::XX, Product::YY, Product::XY};
  const Observation observation(description, 1);
  observation.write(folder / "a.ms");
  MeasurementSetReader reader(folder / "a.ms", {});
  BOOST_TEST((reader.products() == std::vector{Product::XX, Product::XY, Product::YX, Product::YY}));
  MsRows rows;
  BOOST_REQUIRE(reader.read(rows, 100));
  BOOST_REQUIRE(rows.ant1.size() == 3);
  const std::size_t baseline[] = {1, 2, 4};  // without autocorrelations
  const int stored[] = {1, 3, 0, 2};
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < 4; ++c)
      for (int p = 0; p < 4; ++p) {
        BOOST_TEST((rows.data(i, c, p) == observation.data(0, baseline[i], c, stored[p])));
        BOOST_TEST(rows.weight(i, c, p) == observation.weight(0, baseline[i], c, stored[p]));
      }
  BOOST_TEST(!reader.read(rows, 100));
}

BOOST_AUTO_TEST_CASE(descending_channels_and_one_circular_product_are_read) {
  ScratchFolder folder;
  MsDescription description = ms_description();
  description.products = {Product::RR};
  description.channel_hz = {150.03e6, 150.02e6};
  Observation(description, 2).write(folder / "a.ms");
  MeasurementSetReader reader(folder / "a.ms", {});
  BOOST_TEST((reader.products() == std::vector{Product::RR}));
  BOOST_TEST(reader.spectral_windows()[0].channel_hz == description.channel_hz);
  BOOST_TEST(reader.spectral_windows()[0].width_hz[0] == 10e3);
}

BOOST_AUTO_TEST_CASE(rows_intervals_and_channels_are_selected) {
  ScratchFolder folder;
  const Observation observation(ms_description(), 6);
  observation.write(folder / "a.ms");
  MsSelection selection;
  selection.autos = true;
  selection.first_interval = 2;
  selection.n_intervals = 3;
  selection.first_row = 13;  // the second baseline of interval 2
  selection.n_rows = 100;
  selection.first_channel = 1;
  selection.n_channels = 2;
  MeasurementSetReader reader(folder / "a.ms", selection);
  BOOST_TEST(reader.n_rows() == 17);
  BOOST_TEST(reader.first_time_mjd_s() == observation.time_s(2));
  BOOST_TEST(reader.last_time_mjd_s() == observation.time_s(4));
  BOOST_TEST(reader.spectral_windows()[0].channel_hz == (std::vector{150.01e6, 150.02e6}));
  MsRows rows;
  std::int64_t row = 13;
  while (reader.read(rows, 5))
    for (std::size_t i = 0; i < rows.ant1.size(); ++i, ++row) {
      BOOST_REQUIRE(rows.row_number[i] == row);
      for (int c = 0; c < 2; ++c)
        for (int p = 0; p < 4; ++p)
          BOOST_TEST((rows.data(i, c, p) == observation.data(row / 6, row % 6, c + 1, p)));
    }
  BOOST_TEST(row == 30);

  const auto refused = [&](auto change) {
    MsSelection wrong;
    change(wrong);
    BOOST_CHECK_THROW(MeasurementSetReader(folder / "a.ms", wrong), UsageError);
  };
  refused([](MsSelection& s) { s.first_row = 37; });
  refused([](MsSelection& s) { s.first_interval = 6; });
  refused([](MsSelection& s) { s.first_channel = 4; });
  refused([](MsSelection& s) { s.first_channel = 2, s.n_channels = 3; });
  refused([](MsSelection& s) { s.spws = {1}; });
  refused([](MsSelection& s) { s.fields = {-1}; });
}

BOOST_AUTO_TEST_CASE(sets_appear_complete_or_not_at_all) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 1);
  {
    MeasurementSetWriter writer(path, observation.set, false);
    BOOST_TEST(fs::exists(path + ".part"));
    BOOST_TEST(!fs::exists(path));
  }
  BOOST_TEST(fs::is_empty(folder.path));
  observation.write(path);
  BOOST_CHECK_THROW(observation.write(path), UsageError);
  Observation(ms_description(), 2).write(path, true);
  BOOST_TEST(MeasurementSetReader(path, {}).n_rows() == 12);
  MsDescription nowhere = ms_description();
  nowhere.layout.site.reset();
  BOOST_CHECK_THROW(MeasurementSetWriter(folder / "b.ms", nowhere, false), DataError);
}

BOOST_AUTO_TEST_CASE(a_rerun_gives_the_same_bytes) {
  ScratchFolder folder;
  Observation(ms_description(), 3).write(folder / "a.ms");
  Observation(ms_description(), 3).write(folder / "b.ms");
  std::size_t n_files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder / "a.ms")) {
    if (!entry.is_regular_file()) continue;
    ++n_files;
    const auto bytes = [](const fs::path& path) {
      std::ifstream file(path, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const fs::path other = fs::path(folder / "b.ms") / fs::relative(entry.path(), folder / "a.ms");
    BOOST_TEST((bytes(entry.path()) == bytes(other)), entry.path());
  }
  BOOST_TEST(n_files > 30u);
}

BOOST_AUTO_TEST_CASE(a_file_that_may_not_grow_is_a_failure) {
  ScratchFolder folder;
  MsDescription description = ms_description();
  description.channel_hz.resize(2000);
  for (std::size_t i = 0; i < 2000; ++i) description.channel_hz[i] = 150e6 + 1e4 * static_cast<double>(i);
  const Observation observation(description, 8);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit tight{1 << 20, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  BOOST_CHECK_THROW(observation.write(folder / "a.ms"), FailureError);
  setrlimit(RLIMIT_FSIZE, &old);
  BOOST_TEST(fs::is_empty(folder.path));
}

BOOST_AUTO_TEST_CASE(what_is_no_set_is_refused) {
  ScratchFolder folder;
  fs::create_directory(folder / "empty");
  std::ofstream(folder / "file") << "text";
  BOOST_CHECK_THROW(MeasurementSetReader(folder / "absent", {}), FailureError);
  BOOST_CHECK_THROW(MeasurementSetReader(folder / "file", {}), FailureError);
  BOOST_CHECK_THROW(MeasurementSetReader(folder / "empty", {}), DataError);
  Observation(ms_description(), 1).write(folder / "a.ms");
  BOOST_CHECK_THROW(MeasurementSetReader(folder / "a.ms/ANTENNA", {}), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
