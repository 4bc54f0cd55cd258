// SPDX-License-Identifier: GPL-3.0-or-later
// A recording in several PSRDADA files: one stream, or an error that names the file.
#include <boost/test/unit_test.hpp>

#include <fmt/core.h>

#include <string>
#include <vector>

#include "libcore/core/error.h"
#include "libcore/core/log.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take, support::request;

namespace {

constexpr std::size_t kTimeBytes = 2 * 3 * 2;  // channels, antennas, components

std::string samples_from(std::size_t first, std::size_t n_time) {
  std::string bytes;
  for (std::size_t i = first * kTimeBytes; i < (first + n_time) * kTimeBytes; ++i)
    bytes += static_cast<char>(support::value(0, 0, i));
  return bytes;
}

/// As dada_dbdisk writes it: the time of the observation, and how many bytes of it came before. `line` comes
/// first, so that it holds.
std::string piece(std::size_t first, std::size_t n_time, const std::string& line = "") {
  std::string header =
      line +
      "HDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE Medicina\nINSTRUMENT other\nSOURCE Crab\nFREQ 408\nBW 2\n"
      "TSAMP 1\nNBIT 8\nNDIM 2\nNPOL 1\nNCHAN 2\nNANT 3\nORDER TFAP\nRESOLUTION 12\nNOTE kept\n"
      "UTC_START 2024-01-01-12:00:00\nBYTES_PER_SECOND 12000000\nFILE_SIZE 1200\n" +
      fmt::format("OBS_OFFSET {}\nFILE_NUMBER {}\n", first * kTimeBytes, first / 100);
  header.resize(4096, '\0');
  return header + samples_from(first, n_time);
}

bool names(const std::exception& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pieces_become_one_stream) {
  const reference::Scratch scratch;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < 3; ++i)
    files.push_back(scratch.file(std::string(1, static_cast<char>('a' + i)), piece(700 + 100 * i, 100)));
  const Taken taken = take(request("dada", files));
  const std::string wanted = samples_from(700, 300);
  BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
  BOOST_TEST(taken.reports[0].intact == 300u);
  BOOST_TEST(!taken.reports[0].troubled());
  BOOST_TEST(open_capture(request("dada", files))->expected_samples().value() == 300u);
  BOOST_TEST((taken.header.start == parse_utc("2024-01-01T12:00:00.0007")));
  BOOST_TEST(taken.header.source == "Crab");
  BOOST_TEST(!taken.header.foreign);
  BOOST_TEST(!taken.header.file_size.has_value());
  BOOST_TEST(taken.header.n_ant == 3u);
  BOOST_REQUIRE(taken.header.unknown.size() == 1u);
  BOOST_TEST(taken.header.unknown[0].first == "NOTE");

  // the last file of a recording that was stopped is shorter than its header says, which is told once
  int n_warnings = 0;
  set_log_sink([&](LogLevel level, const std::string&) { n_warnings += level == LogLevel::warning; });
  std::string stopped = piece(900, 50, "FILE_SIZE 1200\nRESOLUTION 120\n");
  const Taken short_one = take(request("dada", {files[0], files[1], scratch.file("stopped", stopped)}));
  set_log_sink({});
  BOOST_TEST(short_one.bytes.size() == 250 * kTimeBytes);
  BOOST_TEST(n_warnings == 1);

  auto completed = request("dada", {files[0]});
  completed.facts.conjugate = true;
  completed.facts.source = "B0531+21";
  completed.facts.missing_samples = 10;
  const VoltageHeader header = open_capture(completed)->header();
  BOOST_TEST(header.sideband_conj);
  BOOST_TEST(header.source == "B0531+21");
  BOOST_TEST(header.missing_samples == 10u);
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_go_on_are_refused) {
  const reference::Scratch scratch;
  const std::string first = scratch.file("first", piece(0, 100)),
                    second = scratch.file("second", piece(100, 100)),
                    third = scratch.file("third", piece(200, 100)),
                    overlapping = scratch.file("overlapping", piece(99, 100)),
                    other = scratch.file("other", piece(100, 100, "FREQ 409\n")),
                    cut = scratch.file("cut", piece(100, 50).substr(0, 4096 + 601));
  BOOST_CHECK_EXCEPTION(take(request("dada", {first, third})), DataError, [&](const DataError& error) {
    return names(error, third) && names(error, "100 us after " + first);
  });
  BOOST_CHECK_EXCEPTION(take(request("dada", {first, overlapping})), DataError, [&](const DataError& error) {
    return names(error, overlapping) && names(error, "1 us before " + first);
  });
  BOOST_CHECK_THROW(take(request("dada", {second, first})), DataError);
  BOOST_CHECK_EXCEPTION(take(request("dada", {first, other})), DataError,
                        [&](const DataError& error) { return names(error, other) && names(error, "FREQ"); });
  BOOST_CHECK_THROW(take(request("dada", {first, cut})), DataError);
  BOOST_CHECK_THROW(take(request("dada", {scratch.file("text", std::string(9000, 'x'))})), DataError);
}
