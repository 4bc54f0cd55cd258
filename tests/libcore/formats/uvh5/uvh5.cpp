// SPDX-License-Identifier: GPL-3.0-or-later
// UVH5 files written and read: signs and orders as the memo has them, damaged files, and the compression of
// h5py.
#include "libcore/formats/uvh5/uvh5.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "libcore/base/error.h"
#include "libcore/formats/uvh5/datasets.h"
#include "libcore/formats/uvh5/lzf.h"
#include "libcore/measures/coordinates.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(uvh5)

namespace {

Observation observation() {
  Observation made(ms_description(), 4);
  std::size_t i = 0;
  for (float& weight : made.weight)
    if (++i % 3 == 0) weight = 0;
  return made;
}

void write(const Observation& made, const std::string& path, bool conjugated = false) {
  const std::size_t nb = made.baselines.size();
  Uvh5Writer writer(path, made.set, false, static_cast<std::int64_t>(made.n_time * nb), conjugated);
  for (std::size_t t = 0; t < made.n_time; ++t) {
    const auto first = static_cast<std::int64_t>(t * nb);
    MsWriteRows rows;
    rows.baselines = &made.baselines;
    rows.uvw_m = made.uvw_m.view()[t];
    rows.row_time_mjd_s.assign(nb, made.time_s(t));
    rows.row_interval_s.assign(nb, 2.0);
    writer.write_cells(first, made.data.view()[t], made.weight.view()[t]);
    writer.write_rows(first, rows);
  }
  BOOST_TEST(!std::filesystem::exists(path));
  writer.commit();
}

}  // namespace

BOOST_AUTO_TEST_CASE(data_are_conjugate_and_baselines_opposite_in_the_file) {
  ScratchFolder folder;
  const Observation made = observation();
  for (const bool conjugated : {false, true}) {
    const std::string path = folder / (conjugated ? "as-stored.uvh5" : "turned.uvh5");
    write(made, path, conjugated);
    const apsyn::uvh5::Reader file(path);
    const std::size_t n_rows = made.n_time * made.baselines.size();
    std::vector<std::complex<float>> data(n_rows * 16);
    std::vector<double> uvw(3 * n_rows);
    file.rows("/Data/visdata", 0, n_rows, apsyn::uvh5::complex_type(), data.data());
    file.rows("/Header/uvw_array", 0, n_rows, H5T_NATIVE_DOUBLE, uvw.data());
    for (std::size_t i = 0; i < data.size(); ++i)
      BOOST_TEST(data[i] == (conjugated ? made.data.data()[i] : std::conj(made.data.data()[i])));
    for (std::size_t i = 0; i < uvw.size(); ++i)
      BOOST_TEST(uvw[i] == (conjugated ? 1 : -1) * made.uvw_m.data()[i]);
    // Flagged is what has no weight; each antenna is in some baseline.
    std::vector<std::int8_t> flags(data.size());
    file.rows("/Data/flags", 0, n_rows, apsyn::uvh5::flag_type(), flags.data());
    for (std::size_t i = 0; i < flags.size(); ++i)
      BOOST_TEST((flags[i] != 0) == (made.weight.data()[i] == 0));
    BOOST_TEST(file.scalar<int>("/Header/Nants_data") == 3);
    const std::vector<int> expected{-5, -7, -8, -6};
    BOOST_TEST(file.all<int>("/Header/polarization_array") == expected, boost::test_tools::per_element());
  }
}

// Two baselines of three antennas, of which only one is ever the first.
BOOST_AUTO_TEST_CASE(the_header_counts_what_has_data) {
  ScratchFolder folder;
  const MsDescription set = ms_description();
  const std::vector<Baseline> baselines{{0, 1}, {0, 2}};
  const Buffer<double, 2> uvw_m({2, 3});
  const Buffer<std::complex<float>, 3> data({2, 4, 4});
  const Buffer<float, 3> weight({2, 4, 4});
  Uvh5Writer writer(folder / "file.uvh5", set, false, 6, false);
  for (std::int64_t t = 0; t < 3; ++t) {
    MsWriteRows rows;
    rows.baselines = &baselines;
    rows.uvw_m = uvw_m;
    rows.row_time_mjd_s.assign(2, 5.1e9 + 2 * static_cast<double>(t));
    rows.row_interval_s.assign(2, 2.0);
    writer.write_cells(2 * t, data, weight);
    writer.write_rows(2 * t, rows);
  }
  writer.commit();
  const apsyn::uvh5::Reader file(folder / "file.uvh5");
  BOOST_TEST(file.scalar<int>("/Header/Ntimes") == 3);
  BOOST_TEST(file.scalar<int>("/Header/Nbls") == 2);
  BOOST_TEST(file.scalar<int>("/Header/Nants_data") == 3);
}

// The bearing of ICRS north at the apparent place, by spherical trigonometry.
BOOST_AUTO_TEST_CASE(frame_angles_are_bearings_of_north) {
  ScratchFolder folder;
  const Observation made = observation();
  write(made, folder / "file.uvh5");
  const std::vector<double> angles =
      apsyn::uvh5::Reader(folder / "file.uvh5").all<double>("/Header/phase_center_frame_pa");
  const SkyFrame frame(*made.set.layout.site);
  const UtcTime time = from_mjd_seconds(made.time_s(0));
  const SkyDirection centre = made.set.phase_centre, here = frame.apparent_from_direction(time, centre),
                     north = frame.apparent_from_direction(time, {centre.ra_rad, centre.dec_rad + 1e-4});
  const double east = north.ra_rad - here.ra_rad;
  const double bearing = std::atan2(std::sin(east) * std::cos(north.dec_rad),
                                    std::cos(here.dec_rad) * std::sin(north.dec_rad) -
                                        std::sin(here.dec_rad) * std::cos(north.dec_rad) * std::cos(east));
  BOOST_TEST_MESSAGE("bearing " << bearing << " rad");
  BOOST_TEST(std::abs(angles[0] - bearing) < 1e-6);
}

BOOST_AUTO_TEST_CASE(what_was_written_is_read) {
  ScratchFolder folder;
  const Observation made = observation();
  write(made, folder / "file.uvh5");
  BOOST_TEST(is_hdf5_file(folder / "file.uvh5"));
  Uvh5Reader reader(folder / "file.uvh5");
  const MsDescription& set = reader.description();
  BOOST_TEST(set.source == made.set.source);
  BOOST_TEST(std::abs(set.phase_centre.ra_rad - made.set.phase_centre.ra_rad) <= 1e-15);
  BOOST_TEST(set.channel_hz == made.set.channel_hz, boost::test_tools::per_element());
  BOOST_TEST((set.products == made.set.products));
  BOOST_TEST_REQUIRE(set.layout.antennas.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Vec3 apart = set.layout.antennas[i].enu_m - made.set.layout.antennas[i].enu_m;
    BOOST_TEST(std::sqrt(dot(apart, apart)) <= 1e-8);
  }
  FileRows rows;
  FileVisibilities cells;
  std::size_t row = 0;
  while (reader.read(rows, cells, 7))
    for (std::size_t i = 0; i < rows.baselines.size(); ++i, ++row) {
      const std::size_t t = row / made.baselines.size(), b = row % made.baselines.size();
      BOOST_TEST(rows.baselines[i].ant2 == made.baselines[b].ant2);
      BOOST_TEST(std::abs(rows.time_mjd_s[i] - made.time_s(t)) <= 4e-5);  // of a Julian date
      for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(rows.uvw_m(i, k) == made.uvw_m(t, b, k));
      for (std::size_t chan = 0; chan < 4; ++chan)
        for (std::size_t p = 0; p < 4; ++p) {
          BOOST_TEST(cells.data[0](i, chan, p) == made.data(t, b, chan, p));
          BOOST_TEST(cells.weight[0](i, chan, p) == made.weight(t, b, chan, p));
        }
    }
  BOOST_TEST(row == made.n_time * made.baselines.size());
}

BOOST_AUTO_TEST_CASE(files_that_are_cut_or_of_another_kind_are_refused) {
  ScratchFolder folder;
  write(observation(), folder / "file.uvh5");
  std::ifstream file(folder / "file.uvh5", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::size_t n : {std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    const std::string cut = folder / ("cut" + std::to_string(n));
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, n);
    BOOST_CHECK_THROW(
        {
          Uvh5Reader reader(cut);
          FileRows rows;
          FileVisibilities cells;
          while (reader.read(rows, cells, 100)) continue;
        },
        DataError);
  }
  BOOST_CHECK_THROW(Uvh5Reader reader(folder / "absent.uvh5"), FailureError);
}

BOOST_AUTO_TEST_CASE(lzf_expands_literals_and_copies) {
  using apsyn::uvh5::expand_lzf;
  const auto expand = [](const std::vector<std::uint8_t>& packed, std::size_t max = 1000) {
    return expand_lzf(packed, max);
  };
  // "abc", then five bytes from three back; then a copy with a length byte: 2 + 7 + 10 bytes from one back.
  const auto text = expand({2, 'a', 'b', 'c', 3 << 5, 2, 7 << 5, 10, 0});
  BOOST_TEST_REQUIRE(text.has_value());
  BOOST_TEST(std::string(text->begin(), text->end()) == "abcabcab" + std::string(19, 'b'));
  BOOST_TEST(expand({})->empty());
  BOOST_TEST(!expand({2, 'a', 'b'}).has_value());                  // fewer literals than said
  BOOST_TEST(!expand({0, 'a', 1 << 5}).has_value());               // no distance
  BOOST_TEST(!expand({0, 'a', 1 << 5, 1}).has_value());            // from before the beginning
  BOOST_TEST(!expand({0, 'a', 7 << 5, 255, 0}, 100).has_value());  // more than there is room for
}

BOOST_AUTO_TEST_SUITE_END()
