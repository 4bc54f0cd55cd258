// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/open_voltages.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/cli/voltage_options.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(opened_voltages)

namespace {

std::string stream(const Scratch& scratch, const ArrayLayout& layout, std::size_t n_ant) {
  VoltageHeader header;
  header.sample_s = 1e-3;
  header.freq_hz = 150e6;
  header.bandwidth_hz = 2e3;
  header.n_ant = n_ant;
  header.n_pol = 2;
  header.n_chan = 2;
  header.layout = layout;
  VoltageWriter writer(scratch.path("a.dada"), header, true);
  std::vector<std::int8_t> samples(n_ant * 2 * 2 * 2 * 1000);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<std::int8_t>(1 + i / (n_ant * 8) % 100);  // the sample's number
  writer.write(samples.data(), samples.size());
  writer.commit();
  return scratch.path("a.dada");
}

ArrayLayout first_of(const char* name, std::size_t n) {
  ArrayLayout layout = builtin_array(name);
  layout.antennas.resize(n);
  return layout;
}

bool usage(const Error& error) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == ExitStatus::usage;
}

}  // namespace

// 40 samples on either side of a range, as far as there are any.
BOOST_AUTO_TEST_CASE(ranges_come_with_their_margins) {
  const Scratch scratch;
  const std::string path = stream(scratch, first_of("mwa-32t", 2), 2);
  struct Range {
    std::int64_t first, n, begin, end;
  };
  for (const Range& range :
       {Range{200, 300, 160, 540}, {10, 300, 0, 350}, {900, 80, 860, 1000}, {200, -1, 160, 1000}}) {
    VoltageSelection selection;
    selection.first_sample = range.first;
    selection.n_samples = range.n;
    selection.margin = [](const VoltageHeader&, const ArrayLayout&) { return std::int64_t{40}; };
    OpenedVoltages opened = open_voltages(path, selection);
    BOOST_TEST(opened.n_samples == (range.n < 0 ? 1000 - range.first : range.n));
    VoltageBlock block;
    std::int64_t next = range.begin;
    while (opened.read(block, 64)) {
      BOOST_TEST(block.first_sample == next);
      BOOST_TEST(int{block.samples_i8(0, 0, 0, 0, 0)} == 1 + next % 100);
      next += static_cast<std::int64_t>(block.n_time);
    }
    BOOST_TEST(next == range.end);
  }
}

BOOST_AUTO_TEST_CASE(antennas_in_the_header_keep_their_flags) {
  const Scratch scratch;
  ArrayLayout layout = first_of("mwa-32t", 3);
  layout.antennas[2].flagged = true;
  const std::string path = stream(scratch, layout, 3);
  OpenedVoltages plain = open_voltages(path, {});
  BOOST_TEST(plain.has_positions);
  BOOST_TEST(!plain.has_gains);
  BOOST_TEST(plain.layout.antennas[1].name == "Tile02");
  BOOST_TEST(plain.gains.size() == 12u);
  BOOST_TEST(plain.gains(2, 1, 1) == 1.0);
  VoltageSelection selection;
  selection.flag_antennas = "Tile01";
  selection.site = "-26.7,116.5,300";
  OpenedVoltages opened = open_voltages(path, selection);
  BOOST_TEST(opened.layout.antennas[0].flagged);
  BOOST_TEST(!opened.layout.antennas[1].flagged);
  BOOST_TEST(opened.layout.antennas[2].flagged);
  BOOST_TEST(opened.layout.site->height_m == 300);
  BOOST_TEST(opened.layout.antennas[0].enu_m[0] == -37.91);
  selection.flag_antennas = "Tile99";
  BOOST_CHECK_EXCEPTION(open_voltages(path, selection), Error, usage);
}

BOOST_AUTO_TEST_CASE(tables_override_the_antennas_of_the_header) {
  const Scratch scratch;
  ArrayLayout layout = first_of("mwa-32t", 2);
  layout.antennas[0].flagged = true;
  const std::string path = stream(scratch, layout, 2);
  VoltageSelection selection;
  selection.antennas = scratch.file("a.csv", "name,east,north,up\np,1,2,3\nq,4,5,6\n");
  const OpenedVoltages opened = open_voltages(path, selection);
  BOOST_TEST(opened.layout.antennas[1].name == "q");
  BOOST_TEST(opened.layout.antennas[0].flagged);  // the stream's flags survive
  BOOST_TEST(opened.layout.site->height_m == 377);
  selection.antennas = scratch.file("b.csv", "name,east,north,up\np,1,2,3\n");
  BOOST_CHECK_EXCEPTION(open_voltages(path, selection), Error, usage);
  selection.metafits = "x.metafits";
  BOOST_CHECK_EXCEPTION(open_voltages(path, selection), Error, usage);

  const std::string mwa = stream(scratch, {}, 128);
  OpenedVoltages without = open_voltages(mwa, {});
  BOOST_TEST(!without.has_positions);
  BOOST_TEST(without.layout.antennas[127].name == "ant127");
  VoltageSelection metafits;
  metafits.metafits = APSYN_TEST_DATA "/1090008640.metafits";
  BOOST_TEST(open_voltages(mwa, metafits).layout.antennas[75].name == "Tile104");
}

BOOST_AUTO_TEST_CASE(gains_follow_the_layout) {
  const Scratch scratch;
  VoltageSelection selection;
  selection.gains = scratch.file("g.csv", "antenna,pol,gain_amplitude,phase_rad\nTile02,1,2,0\n");
  const std::string path = stream(scratch, first_of("mwa-32t", 2), 2);
  const OpenedVoltages opened = open_voltages(path, selection);
  BOOST_TEST(opened.has_gains);
  BOOST_TEST(opened.gains(1, 1, 0) == 2.0);
  BOOST_TEST(opened.gains(1, 0, 0) == 1.0);
}

BOOST_AUTO_TEST_CASE(sample_ranges_are_read_and_no_more) {
  const Scratch scratch;
  const std::string path = stream(scratch, {}, 1);
  const auto count = [&](std::int64_t first, std::int64_t n) {
    VoltageSelection selection;
    selection.first_sample = first;
    selection.n_samples = n;
    OpenedVoltages opened = open_voltages(path, selection);
    VoltageBlock block;
    std::int64_t next = first;
    while (opened.read(block, 128)) {
      BOOST_TEST(block.first_sample == next);
      BOOST_TEST(int(block.samples_i8(0, 0, 0, 0, 0)) == 1 + next % 100);
      next += static_cast<std::int64_t>(block.n_time);
    }
    return next - first;
  };
  BOOST_TEST(count(0, -1) == 1000);
  BOOST_TEST(count(0, 300) == 300);
  BOOST_TEST(count(777, 100) == 100);
  BOOST_TEST(count(777, 1000) == 223);
  BOOST_TEST(count(999, -1) == 1);
  BOOST_CHECK_EXCEPTION(count(1000, -1), Error, usage);

  const auto parsed = [](const std::string& text) {
    VoltageOptions options;
    options.samples = text;
    parse_sample_range(options);
    return std::pair{options.first_sample, options.n_samples};
  };
  BOOST_TEST((parsed("10:20") == std::pair<std::int64_t, std::int64_t>{10, 20}));
  BOOST_TEST((parsed("10:") == std::pair<std::int64_t, std::int64_t>{10, -1}));
  BOOST_TEST((parsed(":20") == std::pair<std::int64_t, std::int64_t>{0, 20}));
  BOOST_TEST((parsed("") == std::pair<std::int64_t, std::int64_t>{0, -1}));
  for (const char* text :
       {":", "10", "-1:5", "1:0", "1:-5", "1:2:3", "a:b", "1.5:2", "99999999999999999999:1"})
    BOOST_CHECK_EXCEPTION(parsed(text), Error, usage);
}

BOOST_AUTO_TEST_CASE(options_of_a_tool_arrive_or_are_refused) {
  const auto parse = [](std::vector<std::string> words, VoltageOptions& options) {
    Tool tool("test-tool", "a tool");
    add_voltage_options(tool, options);
    words.insert(words.begin(), "test-tool");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    bool ran = false;
    const int status = tool.run(static_cast<int>(argv.size()), argv.data(), [&] { ran = true; });
    return ran ? status : (status == 0 ? -1 : status);
  };
  VoltageOptions options;
  BOOST_TEST(parse({"--antennas", "a.csv", "--site", "-26.7,116.5,300", "--flag-antennas", "1,Tile02",
                    "--gains=g.csv", "--samples", "100:50"},
                   options) == 0);
  BOOST_TEST(options.antennas == "a.csv");
  BOOST_TEST(options.site == "-26.7,116.5,300");
  BOOST_TEST(options.flag_antennas == "1,Tile02");
  BOOST_TEST(options.gains == "g.csv");
  BOOST_TEST(options.first_sample == 100);
  BOOST_TEST(options.n_samples == 50);
  VoltageOptions wrong;
  BOOST_TEST(parse({"--samples", "x"}, wrong) == 2);
  BOOST_TEST(parse({"--antennas", "a", "--metafits", "b"}, wrong) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
