// SPDX-License-Identifier: GPL-3.0-or-later
// Flags of whole sets and streams: which rows are at the beginning of their scan, what loses its weight, what
// is kept and given back.
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/streams/visibility_stream.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tests/reference/scratch.h"
#include "tools/flag/set_flagging.h"
#include "tools/flag/stream_flagging.h"

using namespace apsyn;
using namespace apsyn::flag;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(applied)

namespace {

/// Rows of 2 s of the baselines of three antennas, autocorrelations included: their times in the order in
/// which they are stored, with a scan and a field each.
struct Stored {
  double time_s;  ///< of the middle
  int scan, field = 0;
};

void write_set(const std::string& path, const std::vector<Stored>& stored) {
  MsDescription set = ms_description();
  set.more_fields = {{"other", {1, -0.4}}};
  const Observation made(set, stored.size());
  MeasurementSetWriter writer(path, set, false);
  for (std::size_t t = 0; t < stored.size(); ++t) {
    MsWriteRows rows{
        5.1e9 + stored[t].time_s, 2.0, 2.0, made.uvw_m.view()[t], &made.baselines, made.data.view()[t],
        made.weight.view()[t]};
    const std::size_t n = made.baselines.size();
    rows.row_scan.assign(n, stored[t].scan);
    rows.row_field.assign(n, stored[t].field);
    writer.write(rows);
  }
  writer.commit();
}

struct Case {
  Tool tool{"flag", ""};
  ScratchFolder folder;
  Options options;
  std::string json;

  Case() {
    tool.common().threads = 1;
    tool.common().quiet = true;
    tool.common().progress = "off";
    tool.common().max_memory_bytes = 1'000'000'000;
  }
  /// [time] whether all cells of its six rows are flagged, some (2), or none.
  std::vector<int> flagged(const std::string& path) const {
    const casacore::Table table(path);
    const casacore::ArrayColumn<bool> column(table, "FLAG");
    std::vector<int> all;
    for (casacore::rownr_t row = 0; row < table.nrow(); row += 6) {
      std::size_t n = 0, n_true = 0;
      for (casacore::rownr_t i = row; i < row + 6; ++i)
        for (const bool flag : column(i)) ++n, n_true += flag;
      all.push_back(n_true == 0 ? 0 : n_true == n ? 1 : 2);
    }
    return all;
  }
};

}  // namespace

// Scans 1 and 2, and times that are not stored in their order: the first 3 s of each are one integration,
// from its begin on.
BOOST_AUTO_TEST_CASE(the_beginning_of_a_scan_is_its_earliest_row_wherever_that_is_stored) {
  Case made;
  const std::string set = made.folder / "a.ms";
  write_set(set, {{3, 1}, {1, 1}, {5, 1}, {23, 2}, {25, 2}, {21, 2}});
  made.options.quack_s = 3;
  flag_set(made.tool, made.options, set, made.json);
  // The middles of integrations are 1, 3 and 5 s after the begin of their scan.
  BOOST_TEST(made.flagged(set) == std::vector<int>({0, 1, 0, 0, 0, 1}), boost::test_tools::per_element());
  made.options.quack_s = 4;
  flag_set(made.tool, made.options, set, made.json);
  BOOST_TEST(made.flagged(set) == std::vector<int>({1, 1, 0, 1, 0, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(flags_add_to_those_that_are_there_and_are_given_back) {
  Case made;
  const std::string set = made.folder / "a.ms", kept = made.folder / "flags.h5";
  write_set(set, {{1, 1}, {3, 1}, {5, 1}});
  made.options.quack_s = 2;
  flag_set(made.tool, made.options, set, made.json);
  made.options.quack_s = 0;
  made.options.edges = 1;
  made.options.save = kept;
  const double n_vis = flag_set(made.tool, made.options, set, made.json);
  BOOST_TEST(n_vis == 3 * 6 * 16);
  BOOST_TEST(made.flagged(set) == std::vector<int>({1, 2, 2}), boost::test_tools::per_element());
  const auto json = nlohmann::json::parse(made.json);
  BOOST_TEST(std::abs(json["percent_before"].get<double>() - 100.0 / 3) < 1e-9);
  BOOST_TEST(std::abs(json["percent"].get<double>() - 200.0 / 3) < 1e-9);  // and half of 2 / 3
  Options undo;
  undo.inputs = {set};
  undo.undo = kept;
  BOOST_TEST(undo_flags(made.tool, undo) == 3 * 6 * 16);
  BOOST_TEST(made.flagged(set) == std::vector<int>({1, 0, 0}), boost::test_tools::per_element());
  made.options.save.clear();
  made.options.no_write = true;
  made.options.edges = 2;
  flag_set(made.tool, made.options, set, made.json);
  BOOST_TEST(nlohmann::json::parse(made.json)["percent"] == 100);
  BOOST_TEST(made.flagged(set) == std::vector<int>({1, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_what_is_selected_is_flagged) {
  Case made;
  const std::vector<Stored> stored{{1, 1}, {3, 1, 1}, {5, 2}, {7, 2, 1}};
  int number = 0;
  const auto flagged = [&](const auto& select) {
    const std::string set = made.folder / fmt::format("{}.ms", number++);
    write_set(set, stored);
    made.options = {};
    made.options.edges = 4;  // all of the four channels
    select(made.options.selection);
    flag_set(made.tool, made.options, set, made.json);
    return made.flagged(set);
  };
  using Flagged = std::vector<int>;
  const auto each = boost::test_tools::per_element();
  BOOST_TEST(flagged([](ImagingOptions&) {}) == Flagged({1, 1, 1, 1}), each);
  BOOST_TEST(flagged([](ImagingOptions& o) { o.first_interval = 2; }) == Flagged({0, 0, 1, 1}), each);
  BOOST_TEST(
      flagged([](ImagingOptions& o) { o.first_interval = 1, o.n_intervals = 2; }) == Flagged({0, 1, 1, 0}),
      each);
  BOOST_TEST(flagged([](ImagingOptions& o) { o.fields = {1}; }) == Flagged({0, 1, 0, 1}), each);
  BOOST_TEST(flagged([](ImagingOptions& o) { o.field_names = {"3C 48"}; }) == Flagged({1, 0, 1, 0}), each);
  BOOST_TEST(
      flagged([](ImagingOptions& o) { o.first_channel = 1, o.n_channels = 2; }) == Flagged({2, 2, 2, 2}),
      each);
  BOOST_CHECK_THROW(flagged([](ImagingOptions& o) { o.first_interval = 4; }), UsageError);
  BOOST_CHECK_THROW(flagged([](ImagingOptions& o) { o.spws = {1}; }), UsageError);
}

// What a strategy sees at once: runs of one field, and no more than --chunk-size times of it.
BOOST_AUTO_TEST_CASE(sequences_end_with_their_field_and_after_so_many_times) {
  Case made;
  const reference::Scratch scratch;
  const std::string set = made.folder / "a.ms";
  write_set(set, {{1, 1}, {3, 1}, {5, 1}, {7, 1}, {9, 2, 1}, {11, 2, 1}, {13, 3}});
  made.tool.common().dry_run = true;
  made.options.edges = 1;
  const auto n_sequences = [&](std::size_t chunk) {
    made.options.chunk = chunk;
    reference::with_stdout(scratch.path("plan"), [&] {
      flag_set(made.tool, made.options, set, made.json);
      Tool::flush();
    });
    const std::string plan = scratch.read("plan");
    const std::size_t end = plan.find(" sequences"), begin = plan.rfind(' ', end - 1);
    return std::stoi(plan.substr(begin, end - begin));
  };
  BOOST_TEST(n_sequences(0) == 3);  // of 4, 2 and 1 times
  BOOST_TEST(n_sequences(4) == 3);
  BOOST_TEST(n_sequences(3) == 4);
  BOOST_TEST(n_sequences(2) == 4);
  BOOST_TEST(n_sequences(1) == 7);
}

// Integrations of 2 s, the first of which begins with the stream: the middles of three lie in its first 6 s,
// of two in its first 5 s.
BOOST_AUTO_TEST_CASE(streams_lose_the_weights_of_what_is_flagged) {
  Case made;
  const reference::Scratch scratch;
  VisibilityHeader header;
  header.start = from_mjd_seconds(5.1e9);
  header.integration_s = 2;
  header.channel_hz = {150e6, 151e6, 152e6};
  header.channel_width_hz = 1e6;
  header.products = {Product::XX, Product::YY};
  header.baselines = {{0, 0}, {0, 1}, {1, 1}};
  header.layout = ms_description().layout;
  header.layout.antennas.resize(2);
  header.layout.antennas[1].flagged = false;
  {
    VisibilityStreamWriter writer(scratch.path("in.vis"), header, false);
    for (int t = 0; t < 5; ++t) {
      VisibilityRecord record;
      record.index = t;
      record.data.resize({3, 3, 2});
      record.weight.resize({3, 3, 2});
      for (std::size_t i = 0; i < 18; ++i) {
        record.data.data()[i] = {static_cast<float>(i), static_cast<float>(t)};
        record.weight.data()[i] = 0.5f;
      }
      record.weight(0, 0, 0) = 0;
      writer.write(record);
    }
    writer.commit();
  }
  int number = 0;
  const auto flagged = [&] {
    made.tool.common().output = scratch.path(fmt::format("out{}.vis", number++));
    BOOST_TEST(flag_stream(made.tool, made.options, scratch.path("in.vis"), made.json) == 5 * 18);
    VisibilityStreamReader reader(made.tool.common().output);
    std::vector<int> n_flagged;
    VisibilityRecord record;
    while (reader.read(record)) {
      n_flagged.push_back(static_cast<int>(std::count(record.weight.begin(), record.weight.end(), 0.0f)));
      for (std::size_t i = 0; i < 18; ++i)
        if (record.weight.data()[i] > 0) BOOST_TEST(record.data.data()[i].real() == static_cast<float>(i));
    }
    return n_flagged;
  };
  made.options.quack_s = 5;
  BOOST_TEST(flagged() == std::vector<int>({18, 18, 1, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(std::abs(nlohmann::json::parse(made.json)["percent"].get<double>() - 100 * 39 / 90.0) < 1e-9);
  made.options.quack_s = 6;
  BOOST_TEST(flagged() == std::vector<int>({18, 18, 18, 1, 1}), boost::test_tools::per_element());
  made.options.quack_s = 0;
  made.options.autos = true;
  made.options.edges = 1;  // two of three channels of the one cross-correlation, and all of the others
  BOOST_TEST(flagged() == std::vector<int>({16, 16, 16, 16, 16}), boost::test_tools::per_element());
  made.options.autos = false;
  made.options.edges = 0;
  made.options.elevation_rad = 0.5;  // of a stream that is phased to the zenith
  made.tool.common().output = scratch.path("x.vis");
  BOOST_CHECK_THROW(flag_stream(made.tool, made.options, scratch.path("in.vis"), made.json), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
