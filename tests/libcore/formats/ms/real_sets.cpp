// SPDX-License-Identifier: GPL-3.0-or-later
// Sets of real telescopes against sums that casatools gave for them.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(real_sets)

namespace {

struct Sums {
  std::int64_t n_rows = 0, n_valid = 0;
  std::complex<double> weighted;
  double weight = 0;
  Vec3 uvw_m{};
};

/// Over product `p`, or counting all of them for `p` < 0.
Sums sums_of(MeasurementSetReader& reader, int p, std::size_t block) {
  Sums sums;
  MsRows rows;
  while (reader.read(rows, block))
    for (std::size_t i = 0; i < rows.ant1.size(); ++i) {
      ++sums.n_rows;
      for (int k = 0; k < 3; ++k) sums.uvw_m[k] += rows.uvw_m(i, k);
      for (std::size_t chan = 0; chan < rows.data.extent(1); ++chan)
        for (std::size_t q = 0; q < rows.data.extent(2); ++q) {
          if (p >= 0 && q != static_cast<std::size_t>(p)) continue;
          const double weight = rows.weight(i, chan, q);
          sums.n_valid += weight > 0;
          sums.weight += weight;
          sums.weighted += weight * std::complex<double>(rows.data(i, chan, q));
        }
    }
  return sums;
}

struct Unpacked {
  ScratchFolder folder;
  std::string path;
  Unpacked(const std::string& archive, const std::string& name) : path(folder / name) {
    const std::string command =
        "tar -xzf '" APSYN_TEST_DATA "/" + archive + "' -C '" + folder.path.string() + "' 2>/dev/null";
    BOOST_REQUIRE(std::system(command.c_str()) == 0);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(flags_and_weights_of_lofar_are_heeded) {
  const Unpacked set("LOFAR-3C48-8st.MS.tgz", "tNDPPP-generic.MS");
  MsSelection selection;
  selection.column = "CORRECTED_DATA";
  MeasurementSetReader reader(set.path, selection);
  BOOST_TEST(reader.telescope() == "LOFAR");
  BOOST_TEST(reader.layout().antennas.size() == 8u);
  BOOST_TEST(reader.layout().site.has_value());
  for (std::size_t block : {1000, 11}) {
    reader.rewind();
    const Sums sums = sums_of(reader, 0, block);
    BOOST_TEST(sums.n_rows == 168);
    BOOST_TEST(sums.n_valid == 928);
    BOOST_TEST(sums.weighted.real() == 158479122523962.3, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(sums.weighted.imag() == -2281242952311.559, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(sums.weight == 2156972045248.0, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(sums.uvw_m[1] == -1100579.01735521, boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(infinities_of_lwa_sv_have_no_weight) {
  const Unpacked set("LWASV-4ant-infs.ms.tar.gz", "test_adp4_0_00300673800807520000_58342_05_00_14.ms");
  MeasurementSetReader cross(set.path, {});
  const Sums sums = sums_of(cross, 0, 1000);
  BOOST_TEST(sums.n_rows == 6);
  BOOST_TEST(sums.n_valid == 24);
  BOOST_TEST(sums.weighted.real() == -0.1949801784940064, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sums.weighted.imag() == 0.3544292643200606, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sums.uvw_m[1] == 81.0660000, boost::test_tools::tolerance(1e-7));
  MsSelection selection;
  selection.autos = true;
  MeasurementSetReader all(set.path, selection);
  BOOST_TEST(sums_of(all, -1, 1000).n_valid == 148);  // 12 cells hold inf
}

BOOST_AUTO_TEST_CASE(tart_has_one_circular_product) {
  const Unpacked set("TART-ghana-60s.ms.tar.gz", "ghana.ms");
  MeasurementSetReader reader(set.path, {});
  BOOST_TEST((reader.products() == std::vector{Product::RR}));
  const Sums sums = sums_of(reader, 0, 4096);
  BOOST_TEST(sums.n_rows == 16560);
  BOOST_TEST(sums.n_valid == 16560);
  BOOST_TEST(sums.weighted.real() == 238.41161866907177, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sums.weighted.imag() == -52.75396607597946, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sums.weight == 15731.999802589417, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(sums.uvw_m[1] == 11020.2727, boost::test_tools::tolerance(1e-7));
}

BOOST_AUTO_TEST_CASE(tiles_hold_what_casacore_reads_from_them) {
  const std::pair<const char*, const char*> sets[] = {
      {"LOFAR-3C48-8st.MS.tgz", "tNDPPP-generic.MS"},
      {"TART-ghana-60s.ms.tar.gz", "ghana.ms"},
      {"LWASV-4ant-infs.ms.tar.gz", "test_adp4_0_00300673800807520000_58342_05_00_14.ms"}};
  for (const auto& [archive, name] : sets) {
    const Unpacked set(archive, name);
    MsSelection selection;
    selection.autos = true;
    MeasurementSetReader by_tiles(set.path, selection);
    selection.by_casacore_alone = true;
    MeasurementSetReader by_casacore(set.path, selection);
    MsRows rows, expected;
    const auto same = [](const auto& a, const auto& b) {
      return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0;
    };
    while (by_casacore.read(expected, 1000)) {
      BOOST_TEST_REQUIRE(by_tiles.read(rows, 1000));
      BOOST_TEST(same(rows.uvw_m, expected.uvw_m));
      BOOST_TEST(same(rows.data, expected.data));
      BOOST_TEST(same(rows.weight, expected.weight));
    }
    BOOST_TEST(!by_tiles.read(rows, 1000));
  }
}

BOOST_AUTO_TEST_SUITE_END()
