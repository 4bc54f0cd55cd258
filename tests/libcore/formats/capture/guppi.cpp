// SPDX-License-Identifier: GPL-3.0-or-later
// GUPPI RAW captures, written here byte by byte: samples exactly, losses counted and missing.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"
#include "tests/support/guppi_blocks.h"

using namespace apsyn;
using support::GuppiFormat, support::guppi_block, support::guppi_code, support::guppi_value;
using support::Taken, support::take;

BOOST_AUTO_TEST_SUITE(guppi)

namespace {

std::vector<std::uint8_t> expected_guppi(const GuppiFormat& f, std::size_t n_blocks,
                                         const std::vector<std::size_t>& lost) {
  std::vector<std::uint8_t> bytes;
  const std::size_t step = f.n_samples - f.overlap;
  // Samples that are missing are so in whole spans of 128.
  std::vector<bool> missing(n_blocks * step + 127);
  for (std::size_t block : lost) std::fill_n(missing.begin() + static_cast<long>(block * step), step, true);
  for (std::size_t first = 0; first < n_blocks * step; first += 128) {
    const auto from = missing.begin() + static_cast<long>(first),
               to = from + static_cast<long>(std::min<std::size_t>(128, n_blocks * step - first));
    if (std::find(from, to, true) != to) std::fill(from, to, true);
  }
  for (std::size_t t = 0; t < n_blocks * step; ++t)
    for (std::size_t chan = 0; chan < f.n_chan; ++chan)
      for (std::size_t ant = 0; ant < f.n_ant; ++ant)
        for (std::size_t part = 0; part < 4; ++part)
          bytes.push_back(missing[t] ? 0 : static_cast<std::uint8_t>(guppi_value(ant, chan, t, part)));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(guppi_blocks_become_a_stream_without_overlaps) {
  const reference::Scratch scratch;
  for (const bool direct : {false, true})
    for (const std::size_t n_ant : {1, 3})
      for (const std::size_t overlap : {0, 32}) {
        const GuppiFormat f{.n_ant = n_ant, .overlap = overlap, .direct = direct};
        const std::string one = scratch.file("a", guppi_block(f, 0) + guppi_block(f, 1));
        const std::string two = scratch.file("b", guppi_block(f, 2) + guppi_block(f, 5));
        const Taken taken = take(support::request("guppi", {one, two}));
        BOOST_TEST((taken.bytes == expected_guppi(f, 6, {3, 4})));
        BOOST_TEST(taken.header.n_ant == n_ant);
        BOOST_TEST(taken.header.telescope == "GBT");
        BOOST_TEST(taken.header.source == "B0329+54");
        BOOST_TEST(taken.header.freq_hz == 1500e6);
        BOOST_TEST(taken.header.bandwidth_hz == -12.5e6);
        BOOST_TEST(taken.header.sideband_conj);
        BOOST_TEST(taken.header.sample_s == 0.32e-6, boost::test_tools::tolerance(1e-12));
        // PKTIDX starts at 1000 packets of one sample: 320 us.
        BOOST_TEST((taken.header.start == parse_utc("2018-01-14T14:11:33.25032")));
        const std::size_t step = 512 - overlap;
        BOOST_TEST(taken.reports[0].intact == 4 * step);
        BOOST_TEST(taken.reports[0].lost == 2 * step);
      }
}

// FD_POLN tells the basis, as recorders write it: CIRC or CIR, LIN or nothing.
BOOST_AUTO_TEST_CASE(guppi_tells_the_basis) {
  const reference::Scratch scratch;
  for (const auto& [value, basis] :
       {std::pair{"'CIRC    '", "RL"}, {"'CIR'", "RL"}, {"'LIN     '", "XY"}, {"''", "XY"}}) {
    std::string block = guppi_block({}, 0);
    std::string card = std::string("FD_POLN = ") + value;
    card.resize(80, ' ');
    block.insert(0, card);
    BOOST_TEST(take(support::request("guppi", {scratch.file("a", block)})).header.pol_basis == basis, value);
  }
  BOOST_TEST(take(support::request("guppi", {scratch.file("a", guppi_block({}, 0))})).header.pol_basis ==
             "XY");
}

BOOST_AUTO_TEST_CASE(guppi_contradictions_and_cuts_are_told) {
  const reference::Scratch scratch;
  GuppiFormat odd;
  odd.extra = "-6.25";
  CaptureRequest request = support::request("guppi", {scratch.file("a", guppi_block(odd, 0))});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.bandwidth_hz = -12.5e6;
  request.facts.sample_s = 0.32e-6;
  BOOST_TEST((take(request).bytes == expected_guppi(odd, 1, {})));
  BOOST_TEST(take(request).header.sideband_conj);
  request.facts.no_conjugate = true;
  BOOST_TEST(!take(request).header.sideband_conj);
  request.facts.no_conjugate = false;
  request.facts.bandwidth_hz = 12.5e6;
  BOOST_TEST(!take(request).header.sideband_conj);
  const std::string whole = guppi_block({}, 0) + guppi_block({}, 1);
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const std::size_t size = random() % whole.size();
    request = support::request("guppi", {scratch.file("a", whole.substr(0, size))});
    if (size < guppi_block({}, 0).size() - 512 * 16) {
      BOOST_CHECK_THROW(take(request), DataError);
      continue;
    }
    const Taken taken = take(request);
    BOOST_TEST(taken.reports[0].intact == (size < whole.size() / 2 ? 0u : 480u));
  }
}

BOOST_AUTO_TEST_CASE(guppi_pauses_are_missing_and_other_recordings_refused) {
  const reference::Scratch scratch;
  // A block is 480 new samples of 0.32 us; the 20th stands 2.6 ms behind the second.
  const std::string a = scratch.file("a", guppi_block({}, 0) + guppi_block({}, 1)),
                    b = scratch.file("b", guppi_block({}, 19));
  CaptureRequest request = support::request("guppi", {a, b});
  BOOST_TEST(take(request).reports[0].lost == 17 * 480u);
  request.facts.max_gap_s = 1e-3;
  BOOST_CHECK_EXCEPTION(take(request), DataError, [&](const DataError& error) {
    return std::string(error.what()).find("b: block at byte 0") != std::string::npos;
  });
  // baseband writes whole numbers as real ones
  std::string real = guppi_block({}, 2);
  real.replace(real.find("51093 "), 8, "51093.0 ");
  BOOST_TEST((take(support::request("guppi", {scratch.file("r", real)})).header.start ==
              parse_utc("2018-01-14T14:11:33.2506272")));
  real.replace(real.find("51093.0 "), 8, "51093.5 ");
  BOOST_CHECK_THROW(take(support::request("guppi", {scratch.file("r", real)})), DataError);
  std::string other = guppi_block({}, 2);
  other.replace(other.find("51093"), 5, "51094");
  request = support::request("guppi", {a, scratch.file("c", other)});
  BOOST_CHECK_THROW(take(request), DataError);
}

namespace {

/// Breakthrough Listen's "RAW File Format": 00 = 3.3358750, 01 = 1, 10 = -1, 11 = -3.3358750; two's
/// complement.
double guppi_level(unsigned code, unsigned n_bit, bool offset_binary) {
  constexpr double kLevels[] = {3.3358750, 1, -1, -3.3358750};
  if (n_bit == 2) return offset_binary ? kLevels[3 - code] : kLevels[code];
  return offset_binary ? code - 8.0 : code < 8 ? code : code - 16.0;
}

void check_few_bits(const GuppiFormat& f, bool offset_binary, const Taken& taken, std::size_t n_blocks) {
  const std::size_t n_time = n_blocks * (f.n_samples - f.overlap),
                    per_time = f.n_ant * f.n_chan * f.n_parts();
  const bool nibbles = f.n_bit == 4 && f.n_dim == 2;
  BOOST_TEST(taken.header.n_bit == (nibbles ? 4u : 8u));
  BOOST_REQUIRE(taken.bytes.size() == n_time * per_time / (nibbles ? 2 : 1));
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t chan = 0; chan < f.n_chan; ++chan)
      for (std::size_t ant = 0; ant < f.n_ant; ++ant)
        for (std::size_t part = 0; part < f.n_parts(); ++part, ++at) {
          const int nibble = taken.bytes[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15;
          const int value =
              nibbles ? (nibble < 8 ? nibble : nibble - 16) : static_cast<std::int8_t>(taken.bytes[at]);
          const double wanted = guppi_level(guppi_code(f, ant, chan, t, part), f.n_bit, offset_binary);
          worst = std::max(worst, std::abs(value * taken.header.scale / wanted - 1));
          if (wanted == 0) worst = std::max(worst, std::abs(double(value)));
        }
  BOOST_TEST(worst <= (f.n_bit == 2 ? 8e-4 : 0.0));  // 10/3 for 3.3358750
}

}  // namespace

BOOST_AUTO_TEST_CASE(guppi_of_few_bits_is_unpacked) {
  const reference::Scratch scratch;
  for (const unsigned n_bit : {2u, 4u})
    for (const std::size_t n_pol : {1, 2})
      for (const bool low_first : {false, true})
        for (const bool offset_binary : {false, true})
          for (const bool simple : {false, true}) {
            GuppiFormat f{.n_ant = 3, .n_samples = 256, .overlap = 16, .n_bit = n_bit, .n_pol = n_pol};
            f.low_first = low_first;
            f.simple = simple;
            CaptureRequest request =
                support::request("guppi", {scratch.file("a", guppi_block(f, 0) + guppi_block(f, 1))});
            if (low_first) request.guppi.endian = ByteOrder::little;
            if (offset_binary) request.facts.encoding = "OFFSETBINARY";
            const Taken taken = take(request);
            check_few_bits(f, offset_binary, taken, 2);
            BOOST_TEST(taken.reports[0].intact == 480u);
            BOOST_TEST(!taken.reports[0].troubled());
            BOOST_TEST((taken.header.start == parse_utc("2018-01-14T14:11:33.25032")));
          }
  GuppiFormat f{.n_bit = 2};
  CaptureRequest request = support::request("guppi", {scratch.file("a", guppi_block(f, 0))});
  request.facts.encoding = "TWOSCOMPLEMENT";
  BOOST_CHECK_THROW(take(request), UsageError);
  request = support::request("guppi", {scratch.file("b", guppi_block({}, 0))});
  request.guppi.endian = ByteOrder::little;
  BOOST_CHECK_THROW(take(request), UsageError);
  f.n_bit = 5;
  BOOST_CHECK_THROW(take(support::request("guppi", {scratch.file("c", guppi_block(f, 0))})), DataError);
}

BOOST_AUTO_TEST_CASE(guppi_counts_packets_of_more_bits) {
  // Made of 8 bits after the packets had been counted: PKTSIZE is still theirs.
  const reference::Scratch scratch;
  for (const unsigned n_bit : {2u, 4u}) {
    const GuppiFormat f{.n_bit = n_bit, .packet_bits = 8};
    const std::string lossy = guppi_block(f, 0) + guppi_block(f, 1) + guppi_block(f, 3);
    const Taken taken = take(support::request("guppi", {scratch.file("a", lossy)}));
    BOOST_TEST(taken.reports[0].intact == 3 * 480u);
    BOOST_TEST(taken.reports[0].lost == 480u);
    BOOST_TEST((taken.header.start == parse_utc("2018-01-14T14:11:33.25032")));
  }
}

BOOST_AUTO_TEST_CASE(guppi_packets_count_from_the_synchronisation) {
  // Block 0 is 1000 packets of one sample after SYNCTIME, 2018-01-14T14:10:00; STT_* are its own time.
  const reference::Scratch scratch;
  const GuppiFormat f;
  std::string bytes = guppi_block(f, 0) + guppi_block(f, 1);
  const auto replace_cards = [&](const std::string& old_card, std::string card) {
    card.resize(80, ' ');
    for (std::size_t at = bytes.find(old_card); at != bytes.npos; at = bytes.find(old_card, at + 80))
      bytes.replace(at, 80, card);
  };
  replace_cards("PKTSIZE ", "PIPERBLK= 480");
  replace_cards("SRC_NAME", "SYNCTIME= 1515939000");
  replace_cards("STT_SMJD", "STT_SMJD= 51000");
  replace_cards("STT_OFFS", "STT_OFFS= 0.00032");
  const Taken taken = take(support::request("guppi", {scratch.file("a", bytes)}));
  BOOST_TEST((taken.bytes == expected_guppi(f, 2, {})));
  BOOST_TEST((taken.header.start == parse_utc("2018-01-14T14:10:00.00032")));
  // Counted from there the blocks would be older than the observation: they were counted from its start.
  replace_cards("SYNCTIME", "SYNCTIME= 1515900000");
  BOOST_TEST((take(support::request("guppi", {scratch.file("a", bytes)})).header.start ==
              parse_utc("2018-01-14T14:10:00.00064")));
}

BOOST_AUTO_TEST_CASE(guppi_of_real_samples_is_taken) {
  // One channel of 12.5 MHz whose samples are 40 ns apart.
  const reference::Scratch scratch;
  for (const unsigned n_bit : {2u, 4u, 8u}) {
    const GuppiFormat f{.n_chan = 1, .n_bit = n_bit, .n_dim = 1, .packet_samples = 8};
    std::string bytes = guppi_block(f, 0) + guppi_block(f, 1);
    for (std::size_t at = bytes.find("0.080000E"); at != bytes.npos; at = bytes.find("0.080000E"))
      bytes.replace(at, 8, "0.040000");
    const Taken taken = take(support::request("guppi", {scratch.file("a", bytes)}));
    BOOST_TEST(taken.header.n_dim == 1u);
    BOOST_TEST(taken.header.n_pol == 2u);
    BOOST_TEST(taken.header.bandwidth_hz == -12.5e6);
    BOOST_TEST(taken.header.sample_s == 40e-9, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(!taken.header.sideband_conj);
    if (n_bit < 8) {
      check_few_bits(f, false, taken, 2);
      continue;
    }
    BOOST_REQUIRE(taken.bytes.size() == 960 * 2u);
    for (std::size_t i = 0; i < taken.bytes.size(); ++i)
      BOOST_REQUIRE(static_cast<std::int8_t>(taken.bytes[i]) == guppi_value(0, 0, i / 2, i % 2));
  }
}

BOOST_AUTO_TEST_SUITE_END()
