// SPDX-License-Identifier: GPL-3.0-or-later
// GUPPI RAW captures, written here byte by byte: samples exactly, losses counted and missing.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

#include "libcore/core/error.h"
#include "libcore/io/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take;

namespace {

struct GuppiFormat {
  std::size_t n_ant = 1, n_chan = 4, n_samples = 512, overlap = 32;
  bool direct = false;
  std::string extra{};
};

std::int8_t guppi_value(std::size_t ant, std::size_t chan, std::size_t t, std::size_t part) {
  const auto value = static_cast<int>((ant * 131 + chan * 31 + t * 7 + part * 3) % 251) - 125;
  return static_cast<std::int8_t>(value == 0 ? 1 : value);
}

std::string guppi_block(const GuppiFormat& f, std::size_t block) {
  std::string cards;
  const auto card = [&](const std::string& key, const std::string& value) {
    std::string text = key;
    text.resize(8, ' ');
    text += "= " + value;
    text.resize(80, ' ');
    cards += text;
  };
  const std::size_t step = f.n_samples - f.overlap, bytes = f.n_ant * f.n_chan * f.n_samples * 4;
  card("TELESCOP", "'GBT     '");
  card("SRC_NAME", "'B0329+54'");
  card("OBSFREQ", "1500.0");
  card("OBSBW", "-12.5");
  card("CHAN_BW", f.extra.empty() ? std::to_string(-12.5 / double(f.n_chan)) : f.extra);
  card("TBIN", std::to_string(double(f.n_chan) / 12.5) + "E-06 / [s]");
  card("OBSNCHAN", std::to_string(f.n_chan * f.n_ant));
  if (f.n_ant > 1) card("NANTS", std::to_string(f.n_ant));
  card("NPOL", "4");
  card("NBITS", "8");
  card("OVERLAP", std::to_string(f.overlap));
  card("BLOCSIZE", std::to_string(bytes));
  card("PKTSIZE", std::to_string(f.n_ant * f.n_chan * 4));  // a packet is one sample
  card("PKTIDX", std::to_string(1000 + block * step));
  card("STT_IMJD", "58132");
  card("STT_SMJD", "51093");
  card("STT_OFFS", "0.25");
  if (f.direct) card("DIRECTIO", "1");
  cards += "END";
  cards.resize((cards.size() + 79) / 80 * 80, ' ');
  if (f.direct) cards.resize((cards.size() + 511) / 512 * 512, '\0');
  for (std::size_t ant = 0; ant < f.n_ant; ++ant)
    for (std::size_t chan = 0; chan < f.n_chan; ++chan)
      for (std::size_t t = 0; t < f.n_samples; ++t)
        for (std::size_t part = 0; part < 4; ++part)
          cards += static_cast<char>(guppi_value(ant, chan, block * step + t, part));
  return cards;
}

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

BOOST_AUTO_TEST_CASE(guppi_blocks) {
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

BOOST_AUTO_TEST_CASE(guppi_contradictions_and_cuts) {
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

BOOST_AUTO_TEST_CASE(guppi_pauses_and_other_recordings) {
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
  std::string other = guppi_block({}, 2);
  other.replace(other.find("51093"), 5, "51094");
  request = support::request("guppi", {a, scratch.file("c", other)});
  BOOST_CHECK_THROW(take(request), DataError);
}
