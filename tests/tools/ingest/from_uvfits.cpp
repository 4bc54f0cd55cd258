// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS files with several frequency setups and sources: every row of the set is of its own window and
// field.
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <tuple>

#include "tests/libcore/formats/ms/set_columns.h"
#include "tests/reference/scratch.h"
#include "tests/support/uvfits_dialect.h"
#include "tools/ingest/uvfits.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(from_uvfits)

namespace {

struct Case {
  Tool tool{"ingest", ""};
  reference::Scratch scratch;
  IngestOptions options;

  explicit Case(const Dialect& dialect) {
    tool.common().threads = 1;
    tool.common().progress = "off";
    tool.common().max_memory_bytes = 1'000'000'000;
    tool.common().output = scratch.path("out.ms");
    options.request.inputs = {scratch.file("in.uvfits", uvfits(dialect))};
  }
};

}  // namespace

// Two setups of two IFs are four windows: those of the second begin after all IFs of the first.
BOOST_AUTO_TEST_CASE(windows_are_those_of_each_setup_and_if) {
  Dialect dialect;
  dialect.two_setups = true;
  Case made(dialect);
  run_uvfits(made.tool, made.options);
  const std::string set = made.tool.common().output;
  const casacore::Table windows(set + "/SPECTRAL_WINDOW");
  BOOST_TEST_REQUIRE(windows.nrow() == 4u);
  const casacore::ArrayColumn<double> channels(windows, "CHAN_FREQ");
  const double first_hz[] = {150e6 - 80e3, 160e6 + 80e3, 170e6 - 80e3, 180e6 + 80e3};
  for (std::size_t window = 0; window < 4; ++window)
    BOOST_TEST(std::abs(channels(window)(casacore::IPosition(1, 0)) - first_hz[window]) < 1e-3);

  const casacore::Table table(set);
  BOOST_TEST_REQUIRE(table.nrow() == 12u);  // six groups of two IFs
  const auto window = scalars<int>(set, "DATA_DESC_ID"), ant1 = scalars<int>(set, "ANTENNA1"),
             ant2 = scalars<int>(set, "ANTENNA2");
  const auto exposure = scalars<double>(set, "EXPOSURE"), interval = scalars<double>(set, "INTERVAL");
  const casacore::ArrayColumn<casacore::Complex> data(table, "DATA");
  std::map<std::pair<std::size_t, int>, int> seen;
  for (std::size_t row = 0; row < 12; ++row) {
    const auto group = static_cast<std::size_t>(std::lround(exposure[row])) - 2;  // INTTIM tells them apart
    BOOST_TEST_REQUIRE(group < 6u);
    const int setup = group < 2 ? 0 : 1, i = window[row] - 2 * setup;
    BOOST_TEST_REQUIRE((i == 0 || i == 1));
    ++seen[{group, i}];
    BOOST_TEST(interval[row] == exposure[row]);
    BOOST_TEST(ant1[row] == std::min(kFirst[group], kSecond[group]) - 1);
    BOOST_TEST(ant2[row] == std::max(kFirst[group], kSecond[group]) - 1);
    const Value expected = value_of(group, static_cast<std::size_t>(i), 1, 0);
    const casacore::Complex found = data(row)(casacore::IPosition(2, 0, 1));
    if (expected.weight > 0 && kFirst[group] < kSecond[group])
      BOOST_TEST(found ==
                 casacore::Complex(static_cast<float>(expected.re), static_cast<float>(expected.im)));
  }
  BOOST_TEST(seen.size() == 12u);
}

BOOST_AUTO_TEST_CASE(fields_are_the_sources_of_the_rows) {
  Dialect dialect;
  dialect.several_sources = true;
  dialect.n_if = 1;
  Case made(dialect);
  run_uvfits(made.tool, made.options);
  const std::string set = made.tool.common().output;
  const auto names = scalars<casacore::String>(set + "/FIELD", "NAME");
  const auto field = scalars<int>(set, "FIELD_ID");
  const auto exposure = scalars<double>(set, "EXPOSURE");
  BOOST_TEST_REQUIRE(field.size() == 6u);
  for (std::size_t row = 0; row < 6; ++row) {
    const long group = std::lround(exposure[row]) - 2;
    BOOST_TEST(names.at(static_cast<std::size_t>(field[row])) == (group < 3 ? "SEVEN" : "FOUR"));
  }
}

BOOST_AUTO_TEST_CASE(a_set_is_a_folder_made_of_one_file) {
  Case made(Dialect{});
  made.options.request.inputs.push_back(made.options.request.inputs[0]);
  BOOST_CHECK_THROW(run_uvfits(made.tool, made.options), UsageError);
  made.options.request.inputs = {"-"};
  BOOST_CHECK_THROW(run_uvfits(made.tool, made.options), UsageError);
  for (const char* output : {"", "-"}) {
    Case unnamed(Dialect{});
    unnamed.tool.common().output = output;
    BOOST_CHECK_THROW(run_uvfits(unnamed.tool, unnamed.options), UsageError);
  }
  Case small(Dialect{});
  small.tool.common().max_memory_bytes = 20'000'000;
  BOOST_CHECK_THROW(run_uvfits(small.tool, small.options), UsageError);
  BOOST_TEST(!small.scratch.exists("out.ms"));
}

BOOST_AUTO_TEST_SUITE_END()
