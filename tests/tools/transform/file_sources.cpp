// SPDX-License-Identifier: GPL-3.0-or-later
// Files of other formats as sources of rows: every row is of its window and field, and one pass over a file
// gives what a pass over the set of it gives, whatever is selected, averaged or moved.
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/streams/visibility_stream.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tests/libcore/formats/ms/set_columns.h"
#include "tests/libcore/formats/mwa_fits/observed.h"
#include "tests/support/uvfits_dialect.h"
#include "tools/transform/joined_sets.h"
#include "tools/transform/open_sources.h"
#include "tools/transform/row_sink.h"
#include "tools/transform/set_pass.h"

using namespace apsyn;
using namespace apsyn::support;
using namespace apsyn::transform;
using apsyn::test::ms_description;
using apsyn::test::Observation;
using apsyn::test::Observed;
using apsyn::test::ScratchFolder;

BOOST_AUTO_TEST_SUITE(file_sources)

namespace {

/// A place for files, and a run of the program on them. Returns the rows of the output.
struct Case {
  ScratchFolder folder;

  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }

  std::int64_t run(const Options& options, const std::string& output,
                   std::uint64_t max_memory_bytes = 1'000'000'000, unsigned n_threads = 2) const {
    Tool tool("transform", "");
    tool.common().threads = n_threads;
    tool.common().progress = "off";
    tool.common().quiet = true;
    tool.common().max_memory_bytes = max_memory_bytes;
    JoinedSets joined(options, open_sources(options));
    const bool is_set = output.ends_with(".ms");
    const UvwCheck uvw = options.centre || !is_set ? joined.check_uvw() : UvwCheck{};
    const SetPlan plan = plan_sets(tool, options, joined, uvw);
    const MsDescription set = joined.describe(options);
    const auto sink =
        is_set
            ? make_set_sink(output, set, false, plan.n_rows, joined.paths_of_sets(), options.selection.column)
        : output.ends_with(".uvh5") ? make_uvh5_sink(output, set, false, plan.n_rows, uvw.conjugated)
                                    : make_uvfits_sink(output, set, false, plan.n_rows, uvw.conjugated);
    run_sets(tool, options, joined, plan, uvw, *sink);
    sink->commit();
    return plan.n_rows;
  }
};

Options reads(const std::vector<std::string>& inputs) {
  Options options;
  options.inputs = inputs;
  return options;
}

/// The most that two sets differ in any column, rows compared in the order of window, time and antennas.
struct Difference {
  double data = 0, weight = 0, uvw_m = 0, time_s = 0, exposure_s = 0;
  std::size_t n_rows = 0;
};

std::vector<std::size_t> order_of(const std::string& path) {
  const auto window = scalars<int>(path, "DATA_DESC_ID"), ant1 = scalars<int>(path, "ANTENNA1"),
             ant2 = scalars<int>(path, "ANTENNA2");
  const auto time = scalars<double>(path, "TIME");
  std::vector<std::size_t> order(window.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(window[a], time[a], ant1[a], ant2[a]) <
           std::tuple(window[b], time[b], ant1[b], ant2[b]);
  });
  return order;
}

Difference difference(const std::string& one, const std::string& two) {
  Difference result;
  const std::vector<std::size_t> rows1 = order_of(one), rows2 = order_of(two);
  BOOST_REQUIRE(rows1.size() == rows2.size());
  result.n_rows = rows1.size();
  const auto compare = [&](const auto& a, const auto& b, double& most) {
    BOOST_REQUIRE(a.size() == b.size());
    const std::size_t n = a.size() / rows1.size();
    for (std::size_t row = 0; row < rows1.size(); ++row)
      for (std::size_t i = 0; i < n; ++i)
        most = std::max<double>(most, std::abs(a[rows1[row] * n + i] - b[rows2[row] * n + i]));
  };
  compare(cells<casacore::Complex>(one, "DATA"), cells<casacore::Complex>(two, "DATA"), result.data);
  for (const char* name : {"WEIGHT_SPECTRUM", "WEIGHT"})
    compare(cells<float>(one, name), cells<float>(two, name), result.weight);
  compare(cells<double>(one, "UVW"), cells<double>(two, "UVW"), result.uvw_m);
  compare(scalars<double>(one, "EXPOSURE"), scalars<double>(two, "EXPOSURE"), result.exposure_s);
  for (const char* name : {"TIME", "INTERVAL", "TIME_CENTROID"})
    compare(scalars<double>(one, name), scalars<double>(two, name), result.time_s);
  double other = 0;
  compare(cells<bool>(one, "FLAG"), cells<bool>(two, "FLAG"), other);
  for (const char* name : {"ANTENNA1", "ANTENNA2", "FIELD_ID", "SCAN_NUMBER", "DATA_DESC_ID"})
    compare(scalars<int>(one, name), scalars<int>(two, name), other);
  const std::string window = "/SPECTRAL_WINDOW";
  BOOST_TEST(cells<double>(one + window, "CHAN_FREQ") == cells<double>(two + window, "CHAN_FREQ"),
             boost::test_tools::per_element());
  BOOST_TEST(other == 0);
  return result;
}

/// Changes that can be asked for, with the names of the options.
struct Change {
  const char* name;
  std::function<void(Options&)> make;
};
const Change kChanges[] = {
    {"nothing", [](Options&) {}},
    {"--average-time", [](Options& o) { o.average_time_s = 6; }},
    {"--average-channels", [](Options& o) { o.average_channels = 3; }},
    {"both averages", [](Options& o) { o.average_time_s = 4, o.average_channels = 2; }},
    {"--bda", [](Options& o) { o.bda_loss = 0.01, o.bda_radius_rad = 0.5, o.average_time_s = 20; }},
    {"--antennas", [](Options& o) { o.antennas = "0,2"; }},
    {"--baselines", [](Options& o) { o.baselines = "0:1,1:2"; }},
    {"--no-autos", [](Options& o) { o.no_autos = true; }},
    {"--interval", [](Options& o) { o.selection.first_interval = 1, o.selection.n_intervals = 2; }},
    {"--channel-range", [](Options& o) { o.selection.first_channel = 1, o.selection.n_channels = 2; }},
    {"--min-uvw", [](Options& o) { o.min_uvw_m = 150; }},
    {"--max-uvw and --average-time", [](Options& o) { o.max_uvw_m = 150, o.average_time_s = 6; }},
    {"--field and --spw", [](Options& o) { o.selection.fields = {0}, o.selection.spws = {0}; }},
};

/// One pass over the files and one over the set of them give the same to the last bit.
void check_one_pass(const Case& made, const std::vector<std::string>& files, const Options& plain = {}) {
  static int number = 0;
  Options options = plain;
  options.inputs = files;
  const std::string whole = made.folder / fmt::format("whole{}.ms", ++number);
  made.run(options, whole);
  for (const Change& change : kChanges) {
    Options one = options, two = reads({whole});
    change.make(one);
    change.make(two);
    const std::string a = made.folder / fmt::format("a{}.ms", ++number),
                      b = made.folder / fmt::format("b{}.ms", number);
    BOOST_TEST_CONTEXT(files[0] << ", " << change.name) {
      // One by one and all together: neither blocks nor threads change anything.
      made.run(one, a, number % 2 == 0 ? 1'000'000'000 : 60'000'000, 1 + static_cast<unsigned>(number % 2));
      made.run(two, b);
      const Difference off = difference(a, b);
      BOOST_TEST(off.n_rows > 0u);
      BOOST_TEST(off.data == 0);
      BOOST_TEST(off.weight == 0);
      BOOST_TEST(off.uvw_m == 0);
      BOOST_TEST(off.time_s == 0);
      BOOST_TEST(off.exposure_s == 0);
    }
  }
}

/// A set of an observation with a cell that is flagged and one that is no number.
std::string observed_set(const Case& made, std::size_t n_times = 5) {
  MsDescription set = ms_description();
  set.layout.antennas[1].flagged = false;
  Observation observation(set, n_times);
  observation.weight(1, 1, 2, 3) = 0;
  observation.write(made.folder / "in.ms");
  return made.folder / "in.ms";
}

}  // namespace

BOOST_AUTO_TEST_CASE(uvfits_of_several_setups_and_sources_keeps_windows_and_fields) {
  Dialect dialect;
  dialect.two_setups = dialect.several_sources = true;
  const Case made;
  const std::string output = made.folder / "out.ms";
  BOOST_TEST(made.run(reads({made.file("a.uvfits", uvfits(dialect))}), output) == 12);
  const auto window = scalars<int>(output, "DATA_DESC_ID"), field = scalars<int>(output, "FIELD_ID"),
             ant1 = scalars<int>(output, "ANTENNA1"), ant2 = scalars<int>(output, "ANTENNA2");
  const auto exposure = scalars<double>(output, "EXPOSURE"), interval = scalars<double>(output, "INTERVAL"),
             time = scalars<double>(output, "TIME");
  const auto names = scalars<casacore::String>(output + "/FIELD", "NAME");
  BOOST_TEST(casacore::Table(output + "/SPECTRAL_WINDOW").nrow() == 4u);
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
  // One source, and one window of the second setup.
  Options some = reads({made.folder / "a.uvfits"});
  some.selection.field_names = {"FOUR"};
  some.selection.spws = {3};
  BOOST_TEST(made.run(some, made.folder / "some.ms") == 3);
  for (const double seconds : scalars<double>(made.folder / "some.ms", "EXPOSURE")) BOOST_TEST(seconds >= 5);
  BOOST_TEST(casacore::Table(made.folder / "some.ms/SPECTRAL_WINDOW").nrow() == 1u);
}

// A set that goes to UVH5 and back has the same visibilities and times.
BOOST_AUTO_TEST_CASE(uvh5_leads_back_to_the_set_it_was_made_of) {
  const Case made;
  const std::string set = observed_set(made);
  made.run(reads({set}), made.folder / "a.uvh5");
  made.run(reads({made.folder / "a.uvh5"}), made.folder / "out.ms");
  const Difference off = difference(set, made.folder / "out.ms");
  BOOST_TEST(off.data == 0);
  BOOST_TEST(off.weight == 0);
  BOOST_TEST(off.uvw_m == 0);
  BOOST_TEST(off.time_s < 4e-5);  // of a Julian date
}

BOOST_AUTO_TEST_CASE(one_pass_over_uvfits_and_uvh5_is_as_good_as_two) {
  const Case made;
  const std::string set = observed_set(made);
  for (const char* name : {"a.uvfits", "a.uvh5"}) {
    made.run(reads({set}), made.folder / name);
    check_one_pass(made, {made.folder / name});
  }
}

BOOST_AUTO_TEST_CASE(one_pass_over_several_windows_and_setups_is_as_good_as_two) {
  const Case made;
  Dialect dialect;
  check_one_pass(made, {made.file("plain.uvfits", uvfits(dialect))});
}

BOOST_AUTO_TEST_CASE(one_pass_over_files_of_correlators_is_as_good_as_two) {
  Observed mwax(5, {127, 128});
  check_one_pass({}, {mwax.write_metafits(), mwax.write_mwax(127, apsyn::test::kBegin_ms, 4),
                      mwax.write_mwax(128, apsyn::test::kBegin_ms, 4)});
  // Two windows, the second of which lacks integrations.
  Observed apart(5, {120, 128});
  check_one_pass({}, {apart.write_metafits(), apart.write_mwax(120, apsyn::test::kBegin_ms, 4),
                      apart.write_mwax(128, apsyn::test::kBegin_ms, 2)});
}

BOOST_AUTO_TEST_CASE(another_phase_centre_in_one_pass_agrees_with_two) {
  const Case made;
  const std::string set = observed_set(made);
  made.run(reads({set}), made.folder / "a.uvh5");
  Options one = reads({made.folder / "a.uvh5"}), two = reads({set});
  one.centre = two.centre = SkyDirection{6.0, -0.45};
  one.average_channels = two.average_channels = 2;
  made.run(one, made.folder / "one.ms");
  made.run(two, made.folder / "two.ms");
  const Difference off = difference(made.folder / "one.ms", made.folder / "two.ms");
  BOOST_TEST_MESSAGE("data differ by " << off.data << ", UVW by " << off.uvw_m << " m");
  BOOST_TEST(off.data < 1e-5);   // times of UVH5 are rounded to 4e-5 s
  BOOST_TEST(off.uvw_m < 1e-6);  // 3e-9 rad of the Earth's turn
}

BOOST_AUTO_TEST_CASE(what_a_correlator_has_tracked_is_moved) {
  Observed tracked(5, {127});
  tracked.cables = tracked.geometry = false;
  tracked.metafits.cards = {{"CABLEDEL", "1"}, {"GEODEL", "3"}};
  const std::vector<std::string> files{tracked.write_metafits(), tracked.write_mwax(127)};
  const Case made;
  made.run(reads(files), made.folder / "there.ms");
  Options one = reads(files), two = reads({made.folder / "there.ms"});
  one.centre = two.centre = SkyDirection{50 * kRadPerDeg, -36 * kRadPerDeg};
  made.run(one, made.folder / "one.ms");
  made.run(two, made.folder / "two.ms");
  const Difference off = difference(made.folder / "one.ms", made.folder / "two.ms");
  const auto data = cells<casacore::Complex>(made.folder / "one.ms", "DATA");
  double largest = 0;
  for (const auto& value : data) largest = std::max<double>(largest, std::abs(value));
  BOOST_TEST(off.data < 2e-7 * largest);
  BOOST_TEST(off.uvw_m < 1e-8);
  BOOST_TEST(difference(made.folder / "one.ms", made.folder / "there.ms").data > 0.1 * largest);
}

// Files and sets are joined in the order of their beginnings.
BOOST_AUTO_TEST_CASE(files_are_joined_with_each_other_and_with_sets) {
  const Case made;
  const std::string set = observed_set(made, 6);
  const auto part = [&](std::int64_t first, std::int64_t n, const std::string& name) {
    Options options = reads({set});
    options.selection.first_interval = first;
    options.selection.n_intervals = n;
    made.run(options, made.folder / name);
    return made.folder / name;
  };
  const std::string first = part(0, 2, "first.uvh5"), second = part(2, 2, "second.uvh5"),
                    third = part(4, 2, "third.ms");
  made.run(reads({third, second, first}), made.folder / "joined.ms");
  const Difference off = difference(set, made.folder / "joined.ms");
  BOOST_TEST(off.data == 0);
  BOOST_TEST(off.weight == 0);
  BOOST_TEST(off.time_s < 4e-5);
  const auto time = scalars<double>(made.folder / "joined.ms", "TIME");
  BOOST_TEST(std::is_sorted(time.begin(), time.end()));
}

BOOST_AUTO_TEST_CASE(rows_without_coordinates_are_flagged) {
  const Case made;
  Dialect dialect;
  const std::string good = uvfits(dialect);
  std::string bytes = good;
  // UU of the first group is its first parameter.
  const std::size_t header = bytes.find("END     ");
  const std::size_t data = (header / 2880 + 1) * 2880;
  std::memcpy(bytes.data() + data, "\x7f\xc0\x00\x00", 4);
  made.run(reads({made.file("a.uvfits", bytes)}), made.folder / "out.ms");
  const auto uvw = cells<double>(made.folder / "out.ms", "UVW");
  const auto weight = cells<float>(made.folder / "out.ms", "WEIGHT_SPECTRUM");
  std::size_t n_without = 0;
  for (std::size_t row = 0; row < uvw.size() / 3; ++row) {
    const bool without = uvw[3 * row] == 0 && uvw[3 * row + 1] == 0 && uvw[3 * row + 2] == 0;
    const std::size_t n = weight.size() / (uvw.size() / 3);
    if (without && std::all_of(weight.begin() + long(row * n), weight.begin() + long((row + 1) * n),
                               [](float w) { return w == 0; }))
      ++n_without;
  }
  BOOST_TEST(n_without == 2u);  // of both IFs
}

BOOST_AUTO_TEST_CASE(what_a_file_lacks_is_refused) {
  const Case made;
  const Options plain = reads({made.file("a.uvfits", uvfits(Dialect{}))});
  const auto refused = [&](const auto& change) {
    Options options = plain;
    change(options);
    BOOST_CHECK_THROW(made.run(options, made.folder / "out.ms"), UsageError);
  };
  refused([](Options& o) { o.selection.fields = {1}; });
  refused([](Options& o) { o.selection.field_names = {"nobody"}; });
  refused([](Options& o) { o.selection.spws = {2}; });
  refused([](Options& o) { o.selection.first_interval = 100; });
  refused([](Options& o) { o.selection.n_channels = 4; });
  refused([](Options& o) { o.selection.first_channel = 3; });
  refused([](Options& o) { o.column_given = true; });
  refused([](Options& o) { o.antennas = "0,9"; });
  refused([](Options& o) { o.baselines = "0:9"; });
  refused([](Options& o) { o.min_uvw_m = 1e12; });
  refused([](Options& o) { o.max_time_mjd_s = 4e9; });
  refused([](Options& o) { o.mwa.phase_centre = SkyDirection{1, 0}; });
  BOOST_CHECK_THROW(made.run(plain, made.folder / "out.ms", 1'000'000), UsageError);
  BOOST_TEST(!std::filesystem::exists(made.folder / "out.ms"));
  BOOST_CHECK_THROW(open_sources(reads({made.file("a.txt", "text")})), DataError);
  BOOST_CHECK_THROW(open_sources(reads({plain.inputs[0], made.folder / "absent.ms"})), Error);
}

BOOST_AUTO_TEST_SUITE_END()
