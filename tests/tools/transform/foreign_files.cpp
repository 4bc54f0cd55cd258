// SPDX-License-Identifier: GPL-3.0-or-later
// Files of other formats become sets as they are: every row is of its window and field; what would change
// them is refused.
#include "tools/transform/foreign.h"

#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tests/support/uvfits_dialect.h"
#include "tools/transform/joined_sets.h"
#include "tools/transform/row_sink.h"
#include "tools/transform/set_pass.h"

using namespace apsyn;
using namespace apsyn::support;
using namespace apsyn::transform;
using apsyn::test::ms_description;
using apsyn::test::Observation;
using apsyn::test::ScratchFolder;

BOOST_AUTO_TEST_SUITE(foreign_files)

namespace {

template <class T>
std::vector<T> scalars(const std::string& path, const std::string& name) {
  return casacore::ScalarColumn<T>(casacore::Table(path), name).getColumn().tovector();
}
template <class T>
std::vector<T> cells(const std::string& path, const std::string& name) {
  const casacore::Table table(path);
  const casacore::ArrayColumn<T> column(table, name);
  std::vector<T> all;
  for (casacore::rownr_t row = 0; row < table.nrow(); ++row) {
    const casacore::Array<T> cell = column(row);
    all.insert(all.end(), cell.begin(), cell.end());
  }
  return all;
}

struct Case {
  Tool tool{"transform", ""};
  ScratchFolder folder;
  Options options;
  std::string output = folder / "out.ms";

  Case() {
    tool.common().threads = 1;
    tool.common().progress = "off";
    tool.common().max_memory_bytes = 1'000'000'000;
    tool.common().output = output;
  }
  void take(const std::string& name, const std::string& bytes) {
    options.inputs = {folder / name};
    std::ofstream(options.inputs[0], std::ios::binary) << bytes;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(uvfits_of_several_setups_and_sources_keeps_windows_and_fields) {
  Dialect dialect;
  dialect.two_setups = dialect.several_sources = true;
  Case made;
  made.take("a.uvfits", uvfits(dialect));
  BOOST_TEST(is_foreign(made.options));
  BOOST_TEST(convert_foreign(made.tool, made.options) == 6 * 2 * 3 * 4);
  const auto window = scalars<int>(made.output, "DATA_DESC_ID"),
             field = scalars<int>(made.output, "FIELD_ID"), ant1 = scalars<int>(made.output, "ANTENNA1"),
             ant2 = scalars<int>(made.output, "ANTENNA2");
  const auto exposure = scalars<double>(made.output, "EXPOSURE"),
             interval = scalars<double>(made.output, "INTERVAL"), time = scalars<double>(made.output, "TIME");
  const auto names = scalars<casacore::String>(made.output + "/FIELD", "NAME");
  BOOST_TEST(casacore::Table(made.output + "/SPECTRAL_WINDOW").nrow() == 4u);
  BOOST_TEST_REQUIRE(window.size() == 12u);
  std::vector<int> seen(24, 0);
  for (std::size_t row = 0; row < 12; ++row) {
    const auto group = static_cast<std::size_t>(std::lround(exposure[row])) - 2;
    BOOST_TEST_REQUIRE(group < 6u);
    BOOST_TEST(window[row] / 2 == (group < 2 ? 0 : 1));
    ++seen[group * 4 + static_cast<std::size_t>(window[row])];
    BOOST_TEST(names[static_cast<std::size_t>(field[row])] == (group < 3 ? "SEVEN" : "FOUR"));
    BOOST_TEST(ant1[row] == std::min(kFirst[group], kSecond[group]) - 1);
    BOOST_TEST(ant2[row] == std::max(kFirst[group], kSecond[group]) - 1);
    BOOST_TEST(interval[row] == exposure[row]);
    const double mjd = 2457000.5 + 0.25 + double(group / 2) / 1024 - 2400000.5;
    BOOST_TEST(std::abs(time[row] - mjd * 86400) < 1e-4);
  }
  for (const int n : seen) BOOST_TEST(n <= 1);
}

// A set that goes to UVH5 and back has the same visibilities and times.
BOOST_AUTO_TEST_CASE(uvh5_leads_back_to_the_set_it_was_made_of) {
  Case made;
  MsDescription set = ms_description();
  set.layout.antennas[1].flagged = false;
  Observation(set, 3).write(made.folder / "in.ms");
  Options there;
  there.inputs = {made.folder / "in.ms"};
  {
    JoinedSets joined(there);
    const SetPlan plan = plan_sets(made.tool, there, joined, {});
    const auto sink =
        make_uvh5_sink(made.folder / "a.uvh5", joined.describe(there), false, plan.n_rows, false);
    run_sets(made.tool, there, joined, plan, {}, *sink);
    sink->commit();
  }
  made.options.inputs = {made.folder / "a.uvh5"};
  BOOST_TEST(is_foreign(made.options));
  BOOST_TEST(convert_foreign(made.tool, made.options) == 3 * 6 * 16);
  const auto before = cells<casacore::Complex>(made.folder / "in.ms", "DATA"),
             after = cells<casacore::Complex>(made.output, "DATA");
  BOOST_TEST_REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) BOOST_TEST(std::abs(before[i] - after[i]) < 1e-6f);
  for (const char* name : {"TIME", "INTERVAL"}) {
    const auto a = scalars<double>(made.folder / "in.ms", name), b = scalars<double>(made.output, name);
    for (std::size_t row = 0; row < a.size(); ++row) BOOST_TEST(std::abs(a[row] - b[row]) < 1e-4, name);
  }
  const auto uvw = cells<double>(made.folder / "in.ms", "UVW"), again = cells<double>(made.output, "UVW");
  for (std::size_t i = 0; i < uvw.size(); ++i) BOOST_TEST(std::abs(uvw[i] - again[i]) < 1e-6);
  BOOST_TEST(scalars<int>(made.output, "ANTENNA2") == scalars<int>(made.folder / "in.ms", "ANTENNA2"),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_would_change_such_files_is_refused) {
  Case made;
  made.take("a.uvfits", uvfits(Dialect{}));
  const Options plain = made.options;
  const auto refused = [&](const auto& change) {
    made.options = plain;
    change(made.options);
    BOOST_CHECK_THROW(convert_foreign(made.tool, made.options), UsageError);
  };
  refused([](Options& o) { o.selection.fields = {1}; });
  refused([](Options& o) { o.selection.field_names = {"a"}; });
  refused([](Options& o) { o.selection.spws = {0}; });
  refused([](Options& o) { o.selection.first_interval = 1; });
  refused([](Options& o) { o.selection.n_intervals = 1; });
  refused([](Options& o) { o.selection.n_channels = 1; });
  refused([](Options& o) { o.selection.first_channel = 1; });
  refused([](Options& o) { o.column_given = true; });
  refused([](Options& o) { o.antennas = "0,1"; });
  refused([](Options& o) { o.baselines = "0:1"; });
  refused([](Options& o) { o.no_autos = true; });
  refused([](Options& o) { o.min_uvw_m = 1; });
  refused([](Options& o) { o.max_uvw_m = 1e9; });
  refused([](Options& o) { o.min_time_mjd_s = 5e9; });
  refused([](Options& o) { o.max_time_mjd_s = 5e9; });
  refused([](Options& o) { o.average_time_s = 10; });
  refused([](Options& o) { o.average_channels = 2; });
  refused([](Options& o) { o.centre = SkyDirection{1, 0}; });
  refused([](Options& o) { o.inputs.push_back(o.inputs[0]); });
  made.options = plain;
  made.tool.common().output = made.folder / "out.vis";
  BOOST_CHECK_THROW(convert_foreign(made.tool, made.options), UsageError);
  made.tool.common().output = made.output;
  made.tool.common().max_memory_bytes = 1'000'000;
  BOOST_CHECK_THROW(convert_foreign(made.tool, made.options), UsageError);
  made.options.mwa.phase_centre = SkyDirection{1, 0};
  BOOST_CHECK_THROW(check_mwa_options(made.options), UsageError);
  BOOST_CHECK_NO_THROW(check_mwa_options(plain));
  made.take("a.txt", "text");
  BOOST_TEST(!is_foreign(made.options));
  made.options.inputs = {"-"};
  BOOST_TEST(!is_foreign(made.options));
}

BOOST_AUTO_TEST_SUITE_END()
