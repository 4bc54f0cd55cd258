// SPDX-License-Identifier: GPL-3.0-or-later
// Files that the legacy correlator wrote (RICE and gzip tiles, made-up values) against what pyuvdata reads.
#include <boost/test/unit_test.hpp>

#include <map>

#include "libcore/base/csv.h"
#include "libcore/files/input.h"
#include "tests/libcore/formats/mwa_fits/observed.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(real_files)

namespace {

const std::string kData = APSYN_TEST_DATA "/1196175296";

/// "(1.5-2j)".
std::complex<double> complex_of(std::string_view text) {
  text = text.substr(1, text.size() - 3);
  const std::size_t sign = text.find_last_of("+-");
  return {*finite_number(text.substr(0, sign)), *finite_number(text.substr(sign))};
}

}  // namespace

BOOST_AUTO_TEST_CASE(legacy_files_agree_with_pyuvdata) {
  MwaFitsOptions options;
  options.cable_delays = options.geometric_delays = options.digital_gains = false;
  MwaFitsReader reader(
      kData + ".metafits",
      {kData + "_20171201145440_gpubox01_00.fits", kData + "_20171201145440_gpubox02_00.fits"}, options);
  // gpubox 1 is the highest of the channels, which are above 128.
  BOOST_TEST(reader.description().window_name == "ch179-180");
  FileRows rows;
  FileVisibilities cells;
  BOOST_REQUIRE(reader.read(rows, cells, reader.n_baselines()));
  const std::string text = read_text_file(kData + "-pyuvdata.csv");
  const CsvTable table = parse_csv(text, "pyuvdata");
  std::map<std::pair<int, int>, std::size_t> row_of;
  for (std::size_t row = 0; row < rows.baselines.size(); ++row)
    row_of[{rows.baselines[row].ant1, rows.baselines[row].ant2}] = row;
  const std::map<std::string_view, std::size_t> products{{"xx", 0}, {"xy", 1}, {"yx", 2}, {"yy", 3}};
  BOOST_REQUIRE(table.rows.size() == 200u);
  for (const CsvRow& row : table.rows) {
    const int baseline = static_cast<int>(table.number(row, *table.find("baseline")));
    const std::size_t ours = row_of.at({baseline / 256 - 1, baseline % 256 - 1});
    for (std::size_t channel = 0; channel < 4; ++channel) {
      // pyuvdata conjugates, for its baselines are r_2 - r_1. The numbers are whole.
      const std::complex<double> wanted =
          std::conj(complex_of(row.fields[*table.find(std::to_string(channel))]));
      BOOST_TEST(cells.data[0](ours, channel, products.at(row.fields[*table.find("pol")])) ==
                 std::complex<float>(wanted));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
