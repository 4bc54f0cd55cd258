// SPDX-License-Identifier: GPL-3.0-or-later
// Seconds of the MWA's legacy voltage capture, written byte by byte, of several coarse channels, with files
// missing and cut; inputs as the metafits has them.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "libcore/formats/fits/metafits.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take, support::value;

BOOST_AUTO_TEST_SUITE(mwa_vcs)

namespace {

const std::string kMetafits = APSYN_TEST_DATA "/1090008640.metafits";

CaptureRequest vcs_request(const std::vector<std::string>& inputs) {
  CaptureRequest request = support::request("mwa-vcs", inputs);
  request.facts.input_order = {1, 0, 3, 2};
  return request;
}

std::string vcs_bytes(std::int64_t channel, std::int64_t second, std::size_t n_samples) {
  std::string bytes;
  for (std::size_t i = 0; i < n_samples * 128 * 4; ++i) bytes += static_cast<char>(value(channel, second, i));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(legacy_files_are_joined_by_second_and_channel) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  for (std::int64_t second : {0, 2})
    for (std::int64_t channel : {132, 131})
      names.push_back(scratch.file(
          "1090008640_" + std::to_string(1090008648 + second) + "_ch" + std::to_string(channel) + ".dat",
          vcs_bytes(channel, second, 3)));
  std::reverse(names.begin(), names.end());
  const Taken taken = take(vcs_request(names));
  BOOST_REQUIRE(taken.bytes.size() == 20003u * 2 * 128 * 4);
  bool same = true;
  for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
    const std::size_t sample = i / 1024, second = sample / 10000, in_second = sample % 10000;
    const std::size_t chan = i / 4 % 256, input = (i % 4) ^ 1;  // inputs 1 0 3 2
    const std::uint8_t byte =
        value(131 + static_cast<std::int64_t>(chan / 128), static_cast<std::int64_t>(second),
              (in_second * 128 + chan % 128) * 4 + input);
    const bool there = in_second < 3 && second != 1;
    same &= taken.bytes[i] == (there ? static_cast<std::uint8_t>(byte << 4 | byte >> 4) : 0);
  }
  BOOST_TEST(same);
  BOOST_TEST(taken.header.n_ant == 2u);
  BOOST_TEST(taken.header.n_chan == 256u);
  BOOST_TEST(taken.header.n_bit == 4u);
  // Channel 64 of a coarse channel lies on its centre.
  BOOST_TEST(taken.header.channel_freq_hz(64) == 131 * 1.28e6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(taken.header.channel_freq_hz(128 + 64) == 132 * 1.28e6, boost::test_tools::tolerance(1e-12));
  BOOST_TEST((taken.header.start == parse_utc("2014-07-21T20:10:32")));
  BOOST_TEST(taken.reports[0].intact == 6u);
  BOOST_TEST(taken.reports[0].lost == 19997u);
}

BOOST_AUTO_TEST_CASE(a_legacy_pipe_needs_frequency_and_start) {
  const reference::Scratch scratch;
  CaptureRequest request = vcs_request({scratch.file("x", vcs_bytes(1, 1, 5) + "tail")});
  BOOST_CHECK_THROW(take(request), UsageError);  // neither --freq nor --start
  request.facts.freq_hz = 150e6;
  request.facts.start = parse_utc("2014-07-21T20:10:32");
  request.mwa_vcs = {4, 0};
  const Taken taken = take(request);
  BOOST_REQUIRE(taken.bytes.size() == 5u * 128 * 4);
  BOOST_TEST(taken.bytes[0] == value(1, 1, 1));
  BOOST_TEST(taken.reports[0].damaged == 1u);
  request.mwa_vcs = {3, 0};
  BOOST_CHECK_THROW(take(request), UsageError);
  request.mwa_vcs = {};
  request.facts.input_order.clear();
  BOOST_CHECK_THROW(take(request), UsageError);  // no metafits
  request.inputs = {request.inputs[0], request.inputs[0]};
  request.facts.input_order = {0, 1, 2, 3};
  BOOST_CHECK_THROW(take(request), UsageError);  // places unknown
  request.inputs = {APSYN_TEST_DATA "/LWA-tbf-test.dat"};
  BOOST_CHECK_THROW(take(request), DataError);
}

BOOST_AUTO_TEST_CASE(inputs_are_those_of_the_metafits) {
  const std::vector<MwaInput> inputs = read_metafits_inputs(kMetafits);
  const ArrayLayout layout = read_metafits(kMetafits);
  BOOST_REQUIRE(inputs.size() == 256u);
  // Its first rows: Tile104 Y and X, antenna 75, VCSOrder 0 and 4.
  BOOST_TEST(inputs[0].vcs_order == 0u);
  BOOST_TEST(inputs[0].pol == 1u);
  BOOST_TEST(inputs[1].vcs_order == 4u);
  BOOST_TEST(inputs[1].pol == 0u);
  BOOST_TEST(layout.antennas[inputs[0].antenna].name == "Tile104");
  // What the column holds is what the number of the input gives.
  for (std::size_t row = 0; row < 256; ++row)
    BOOST_TEST(inputs[row].vcs_order == ((row & 0xC0) | (row & 0x30) >> 4 | (row & 0x0F) << 2));
}

BOOST_AUTO_TEST_SUITE_END()
