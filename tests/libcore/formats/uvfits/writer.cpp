// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS files written, by their bytes and through the reader, which real files and other software's hold.
#include "libcore/formats/uvfits/writer.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "libcore/base/error.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "tests/libcore/formats/ms/ms_observation.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(writer)

namespace {

Observation observation(const MsDescription& set) {
  Observation made(set, 3);
  std::size_t i = 0;
  for (float& weight : made.weight)
    if (++i % 3 == 0) weight = 0;
  return made;
}

void write(const Observation& made, const std::string& path, bool conjugated = false) {
  const std::size_t nb = made.baselines.size();
  UvfitsWriter writer(path, made.set, false, static_cast<std::int64_t>(made.n_time * nb), conjugated);
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
  BOOST_TEST(std::filesystem::file_size(path) % 2880 == 0);
}

/// Whether the file holds what was observed.
void check(const Observation& made, const std::string& path, bool conjugated = false) {
  UvfitsReader reader(path, {});
  const MsDescription& set = reader.description();
  BOOST_TEST((set.products == made.set.products));
  BOOST_TEST(set.source == made.set.source);
  BOOST_TEST_REQUIRE(set.layout.antennas.size() == made.set.layout.antennas.size());
  for (std::size_t i = 0; i < set.layout.antennas.size(); ++i) {
    const Vec3 apart = set.layout.antennas[i].enu_m - made.set.layout.antennas[i].enu_m;
    BOOST_TEST(std::sqrt(dot(apart, apart)) <= 1e-8);
  }
  for (std::size_t chan = 0; chan < set.channel_hz.size(); ++chan)
    BOOST_TEST(std::abs(set.channel_hz[chan] - made.set.channel_hz[chan]) <= 1e-3);
  FileRows rows;
  FileVisibilities cells;
  std::size_t row = 0;
  while (reader.read(rows, cells, 1000))
    for (std::size_t i = 0; i < rows.baselines.size(); ++i, ++row) {
      const std::size_t t = row / made.baselines.size(), b = row % made.baselines.size();
      BOOST_TEST(rows.baselines[i].ant1 == made.baselines[b].ant1);
      BOOST_TEST(rows.baselines[i].ant2 == made.baselines[b].ant2);
      BOOST_TEST(std::abs(rows.time_mjd_s[i] - made.time_s(t)) <= 1e-4);
      BOOST_TEST(rows.interval_s[i] == 2);
      for (std::size_t k = 0; k < 3; ++k)  // single precision
        BOOST_TEST(std::abs(rows.uvw_m(i, k) - (conjugated ? -1 : 1) * made.uvw_m(t, b, k)) <=
                   6e-8 * std::abs(made.uvw_m(t, b, k)));
      for (std::size_t chan = 0; chan < made.data.extent(2); ++chan)
        for (std::size_t p = 0; p < made.data.extent(3); ++p) {
          const std::complex<float> value = made.data(t, b, chan, p);
          const float weight = made.weight(t, b, chan, p);
          BOOST_TEST(cells.weight[0](i, chan, p) == weight);
          if (weight > 0) BOOST_TEST(cells.data[0](i, chan, p) == (conjugated ? std::conj(value) : value));
        }
    }
  BOOST_TEST(row == made.n_time * made.baselines.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_reader_finds_what_was_written) {
  ScratchFolder folder;
  const Observation made = observation(ms_description());
  for (const bool conjugated : {false, true}) {
    const std::string path = folder / (conjugated ? "turned.uvfits" : "plain.uvfits");
    write(made, path, conjugated);
    check(made, path, conjugated);
  }
  MsDescription set = ms_description();
  set.products = {Product::RR, Product::LL};
  const Observation two = observation(set);
  write(two, folder / "two.uvfits");
  check(two, folder / "two.uvfits");
}

BOOST_AUTO_TEST_CASE(more_antennas_than_one_number_tells_have_two) {
  ScratchFolder folder;
  MsDescription set = ms_description();
  set.channel_hz.resize(1);
  for (int i = 3; i < 300; ++i)
    set.layout.antennas.push_back({"T" + std::to_string(i), {1.0 * i, 2.0 * i, 0}});
  Observation made = observation(set);
  made.n_time = 1;
  write(made, folder / "wide.uvfits");
  check(made, folder / "wide.uvfits");
}

BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_standard) {
  ScratchFolder folder;
  const Observation made = observation(ms_description());
  write(made, folder / "file.uvfits");
  std::ifstream file(folder / "file.uvfits", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t header = (bytes.find("END     ") / 2880 + 1) * 2880;
  // The first group: 7 parameters, then re, im and weight of XX, YY, XY, YX; big-endian.
  const auto number = [&](std::size_t i) {
    std::uint32_t raw;
    std::memcpy(&raw, bytes.data() + header + 4 * i, 4);
    raw = __builtin_bswap32(raw);
    float value;
    std::memcpy(&value, &raw, 4);
    return value;
  };
  BOOST_TEST(number(5) == 256 * (made.baselines[0].ant1 + 1) + made.baselines[0].ant2 + 1);
  BOOST_TEST(number(6) == 2);
  const std::size_t order[] = {0, 3, 1, 2};
  for (std::size_t p = 0; p < 4; ++p) {
    BOOST_TEST(number(7 + 3 * p) == made.data(0, 0, 0, order[p]).real());
    BOOST_TEST(number(8 + 3 * p) == made.data(0, 0, 0, order[p]).imag());
    BOOST_TEST(number(9 + 3 * p) == made.weight(0, 0, 0, order[p]));
  }
}

BOOST_AUTO_TEST_CASE(what_uvfits_cannot_tell_is_refused) {
  ScratchFolder folder;
  MsDescription uneven = ms_description(), fields = ms_description(), cross = ms_description();
  uneven.channel_hz[3] += 1e4;
  fields.more_fields.push_back({"other", {}});
  cross.products = {Product::XX, Product::YX};
  cross.products.push_back(Product::YY);
  for (const MsDescription& set : {uneven, fields, cross})
    BOOST_CHECK_THROW(UvfitsWriter(folder / "x.uvfits", set, false, 1, false), UsageError);
  BOOST_TEST(!std::filesystem::exists(folder / "x.uvfits.part"));
}

BOOST_AUTO_TEST_SUITE_END()
