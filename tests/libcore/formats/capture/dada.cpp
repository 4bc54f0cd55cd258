// SPDX-License-Identifier: GPL-3.0-or-later
// A recording in several PSRDADA files: one stream, or an error that names the file.
#include <boost/test/unit_test.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take, support::request;

BOOST_AUTO_TEST_SUITE(dada)

namespace {

constexpr std::size_t kTimeBytes = 2 * 3 * 2;  // channels, antennas, components

std::string samples_from(std::size_t first, std::size_t n_time) {
  std::string bytes;
  for (std::size_t i = first * kTimeBytes; i < (first + n_time) * kTimeBytes; ++i)
    bytes += static_cast<char>(support::value(0, 0, i));
  return bytes;
}

/// A file as dada_dbdisk writes it, with the time of the observation and how many bytes of it came before.
/// `line` comes first, so that it holds.
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
  CaptureRequest paused = request("dada", {first, third});
  paused.facts.max_gap_s = 99e-6;
  BOOST_CHECK_EXCEPTION(take(paused), DataError, [&](const DataError& error) {
    return names(error, third) && names(error, "100 us after " + first) && names(error, "--max-gap 9.9e-05s");
  });
  // By default no disk is filled: 2000 s later.
  BOOST_CHECK_THROW(take(request("dada", {first, scratch.file("late", piece(2'000'000'000, 100))})),
                    DataError);
  BOOST_CHECK_EXCEPTION(take(request("dada", {first, overlapping})), DataError, [&](const DataError& error) {
    return names(error, overlapping) && names(error, "1 us before " + first);
  });
  BOOST_CHECK_THROW(take(request("dada", {second, first})), DataError);
  // OBS_OVERLAP says how much of a piece the one before it has; more is no overlap.
  const std::string wanted = samples_from(0, 180);
  for (const std::size_t at : {80, 100}) {
    const std::string repeating =
        scratch.file("repeating", piece(at, 180 - at, "OBS_OVERLAP 240\nFILE_SIZE 0\n"));
    const Taken taken = take(request("dada", {first, repeating}));
    BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
    BOOST_TEST(taken.reports[0].intact == 180u);
    BOOST_TEST(!taken.reports[0].troubled());
    BOOST_TEST(open_capture(request("dada", {first, repeating}))->expected_samples().value() == 180u);
  }
  BOOST_CHECK_THROW(take(request("dada", {first, scratch.file("more", piece(79, 100, "OBS_OVERLAP 240\n"))})),
                    DataError);
  const Taken alone = take(request("dada", {scratch.file("alone", piece(80, 100, "OBS_OVERLAP 240\n"))}));
  BOOST_REQUIRE(alone.header.unknown.size() == 1u);  // NOTE
  BOOST_CHECK_EXCEPTION(take(request("dada", {first, other})), DataError,
                        [&](const DataError& error) { return names(error, other) && names(error, "FREQ"); });
  for (const auto& [line, key] : {std::pair{"BW -2\n", "BW"},
                                  {"ORDER TAFP\n", "ORDER"},
                                  {"ENCODING OFFSETBINARY\n", "ENCODING"},
                                  {"SCALE 2\n", "SCALE"},
                                  {"SIDEBAND_CONJ 1\n", "SIDEBAND_CONJ"},
                                  {"POL_BASIS RL\n", "POL_BASIS"}}) {
    const std::string unlike = scratch.file("unlike", piece(100, 100, line));
    BOOST_CHECK_EXCEPTION(take(request("dada", {first, unlike})), DataError, [&](const DataError& error) {
      return names(error, unlike + ": " + key + " is another");
    });
  }
  BOOST_CHECK_THROW(take(request("dada", {first, cut})), DataError);
  BOOST_CHECK_THROW(take(request("dada", {scratch.file("text", std::string(9000, 'x'))})), DataError);
}

namespace {

/// Samples 0 .. n_time - 1 of which those of some files are there, and no span that holds a missing one.
std::string with_pauses(const std::vector<std::pair<std::size_t, std::size_t>>& files, std::size_t n_time,
                        std::size_t span, char zero) {
  std::vector<bool> there(n_time, false);
  for (const auto& [first, n] : files) std::fill_n(there.begin() + static_cast<long>(first), n, true);
  std::string bytes = samples_from(0, n_time);
  for (std::size_t t = 0; t < n_time; ++t) {
    const auto from = there.begin() + static_cast<long>(t / span * span),
               to = there.begin() + static_cast<long>(std::min(n_time, t / span * span + span));
    if (std::find(from, to, false) != to)
      std::fill_n(bytes.begin() + static_cast<long>(t * kTimeBytes), kTimeBytes, zero);
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pauses_are_missing_data) {
  const reference::Scratch scratch;
  const std::vector<std::pair<std::size_t, std::size_t>> parts{{0, 100}, {200, 100}, {437, 63}};
  int n_warnings = 0;
  set_log_sink([&](LogLevel level, const std::string& text) {
    n_warnings += level == LogLevel::warning && text.find("samples are missing") != text.npos;
  });
  for (const auto& [line, zero] : {std::pair{"", '\0'}, {"ENCODING OFFSETBINARY\n", '\x80'}}) {
    std::vector<std::string> files;
    for (const auto& [first, n] : parts)
      files.push_back(scratch.file(
          std::to_string(first),
          piece(first, n, std::string(line) + "RESOLUTION 12\n" + fmt::format("FILE_SIZE {}\n", n * 12))));
    CaptureRequest asked = request("dada", files);
    asked.facts.missing_samples = 16;
    const Taken taken = take(asked);
    const std::string wanted = with_pauses(parts, 500, 16, zero);
    BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
    BOOST_TEST(taken.reports[0].intact == 263u);
    BOOST_TEST(taken.reports[0].lost == 100u + 137u);
    BOOST_TEST(taken.reports[0].blanked == 4u + 8u + 12u + 11u);
    BOOST_TEST(open_capture(asked)->expected_samples().value() == 500u);
    // One span ends at the third pause's end: what follows is not touched.
    asked.facts.missing_samples = 1;
    const std::string all = with_pauses(parts, 500, 1, zero);
    BOOST_TEST((take(asked).bytes == std::vector<std::uint8_t>(all.begin(), all.end())));
  }
  set_log_sink({});
  BOOST_TEST(n_warnings == 2 * 3 * 2);  // two pauses, each time that the capture was opened

  // A pause of several blocks of what is read at once.
  const std::vector<std::pair<std::size_t, std::size_t>> far{{0, 100}, {1'000'007, 100}};
  CaptureRequest asked =
      request("dada", {scratch.file("a", piece(0, 100)), scratch.file("b", piece(1'000'007, 100))});
  const Taken taken = take(asked);
  const std::string wanted = with_pauses(far, 1'000'107, 128, '\0');
  BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
  BOOST_TEST(taken.reports[0].lost == 999'907u);
  // Of spans that are filled piece by piece no part of a sample is forgotten.
  asked.facts.missing_samples = 400'000;
  BOOST_TEST(take(asked).reports[0].lost == 999'907u);
}

// What is missing is zero in every encoding: the middle of offset binary, whatever the bits and their order.
BOOST_AUTO_TEST_CASE(pauses_are_zero_in_every_encoding) {
  const reference::Scratch scratch;
  set_log_sink([](LogLevel, const std::string&) {});
  for (const auto& [n_bit, endian, zero] : {std::tuple{4u, "LITTLE", std::string("\x88")},
                                            {8u, "LITTLE", std::string("\x80")},
                                            {16u, "LITTLE", std::string("\0\x80", 2)},
                                            {16u, "BIG", std::string("\x80\0", 2)},
                                            {32u, "LITTLE", std::string("\0\0\0\x80", 4)},
                                            {32u, "BIG", std::string("\x80\0\0\0", 4)}}) {
    const std::size_t time_bytes = kTimeBytes * n_bit / 8;
    const auto file = [&](std::size_t first) {
      const std::string lines = fmt::format(
          "NBIT {}\nENCODING OFFSETBINARY\nENDIAN {}\nRESOLUTION {}\nFILE_SIZE {}\nBYTES_PER_SECOND "
          "{}\nOBS_OFFSET {}\n",
          n_bit, endian, time_bytes, 10 * time_bytes, time_bytes * 1'000'000, first * time_bytes);
      return scratch.file(std::to_string(first), piece(first, 0, lines) + std::string(10 * time_bytes, 'x'));
    };
    CaptureRequest asked = request("dada", {file(0), file(15)});
    asked.facts.missing_samples = 1;
    std::string wanted(10 * time_bytes, 'x');
    while (wanted.size() < 15 * time_bytes) wanted += zero;
    wanted += std::string(10 * time_bytes, 'x');
    const Taken taken = take(asked);
    BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())),
               n_bit << " bits, " << endian);
  }
  set_log_sink({});
}

BOOST_AUTO_TEST_CASE(pauses_between_heaps_are_zero_and_missing) {
  // Heaps of 50 samples [channel][antenna][time]; the first and the last of four are there.
  const reference::Scratch scratch;
  const std::string heaps = "ORDER FAT\nNSBLK 50\nRESOLUTION 600\nFILE_SIZE 600\n";
  const std::string a = scratch.file("a", piece(0, 50, heaps)), b = scratch.file("b", piece(150, 50, heaps)),
                    odd = scratch.file("odd", piece(151, 50, heaps));
  const auto asked = [&](const std::string& second, std::size_t missing) {
    CaptureRequest request = support::request("dada", {a, second});
    request.facts.missing_samples = missing;
    return request;
  };
  const std::string wanted = samples_from(0, 50) + std::string(1200, '\0') + samples_from(150, 50);
  const Taken taken = take(asked(b, 25));
  BOOST_TEST((taken.bytes == std::vector<std::uint8_t>(wanted.begin(), wanted.end())));
  BOOST_TEST(taken.reports[0].lost == 100u);
  // Spans of 20 fit into no heap: two heaps are missing together, and with the pause all four.
  BOOST_TEST((take(asked(b, 20)).bytes == std::vector<std::uint8_t>(2400, 0)));
  BOOST_CHECK_THROW(take(asked(odd, 25)), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
