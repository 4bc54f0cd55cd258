// SPDX-License-Identifier: GPL-3.0-or-later
// PSRFITS of search mode: every number of bits, scales and offsets, missing channels and times, and files of
// other modes.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/psrfits/psrfits.h"
#include "libcore/streams/open_samples.h"
#include "tests/reference/recordings/psrfits_rows.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::PsrfitsRow;
using reference::PsrfitsRows;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(search_mode)

namespace {

/// Three rows of 40 samples that follow each other, channels going down from 400 MHz.
PsrfitsRows some_rows(int n_bit, std::size_t n_pol, bool is_signed = false) {
  PsrfitsRows file;
  file.n_bit = n_bit, file.n_pol = n_pol, file.n_time = 40;
  for (int chan = 0; chan < 8; ++chan) file.freq_mhz.push_back(400 - 0.5 * chan);
  std::mt19937 random(static_cast<unsigned>(n_bit) + 10 * static_cast<unsigned>(n_pol));
  const int bits = std::min(n_bit, 20), low = is_signed ? -(1 << (bits - 1)) : 0;
  std::uniform_int_distribution<int> code(low, low + (1 << bits) - 1);
  std::uniform_real_distribution<float> number(0.5f, 2);
  for (int row = 0; row < 3; ++row) {
    PsrfitsRow& made = file.rows.emplace_back();
    made.offset_s = (row + 0.5) * 40e-3;
    made.weights.assign(8, 1);
    for (std::size_t i = 0; i < 8 * n_pol; ++i) {
      made.scales.push_back(number(random));
      made.offsets.push_back(10 * number(random));
    }
    for (std::size_t i = 0; i < 40 * 8 * n_pol; ++i) made.codes.push_back(code(random));
  }
  return file;
}

std::vector<float> read_all(SampleReader& reader, std::size_t together = 17) {
  std::vector<float> values;
  std::vector<std::uint8_t> bytes;
  while (const std::size_t n = reader.read(together, bytes)) {
    BOOST_REQUIRE(bytes.size() == n * reader.input().bytes_per_sample());
    const std::size_t at = values.size();
    values.resize(at + bytes.size() / sizeof(float));
    std::memcpy(values.data() + at, bytes.data(), bytes.size());
  }
  return values;
}

/// What each value of the file is by the definition, row after row.
std::vector<float> expected(const PsrfitsRows& file, double zero) {
  std::vector<float> values;
  for (const PsrfitsRow& row : file.rows)
    for (std::size_t i = 0; i < row.codes.size(); ++i) {
      const std::size_t which = i % row.scales.size();
      values.push_back(static_cast<float>((row.codes[i] - zero) * static_cast<double>(row.scales[which]) +
                                          static_cast<double>(row.offsets[which])));
    }
  return values;
}

std::string refusal(const PsrfitsRows& file) {
  Scratch scratch;
  try {
    const auto reader = open_samples(scratch.file("x.sf", reference::psrfits_bytes(file)));
    read_all(*reader);
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

#define SAYS(message, what) BOOST_TEST((message).find(what) != std::string::npos, message)

}  // namespace

BOOST_AUTO_TEST_CASE(codes_of_all_sizes_are_scaled) {
  for (int n_bit : {1, 2, 4, 8, 16, 32})
    for (std::size_t n_pol : {1u, 2u, 4u})
      for (bool is_signed : {false, true}) {
        if (is_signed ? n_bit == 1 || n_bit == 32 : n_bit == 16) continue;  // I and J are signed
        PsrfitsRows file = some_rows(n_bit, n_pol, is_signed);
        const double zero = n_bit < 8 && !is_signed ? (1 << n_bit) / 2.0 - 0.5 : 0;
        file.table_cards = {{"ZERO_OFF", std::to_string(zero)}, {"SIGNINT", is_signed ? "1" : "0"}};
        Scratch scratch;
        PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
        BOOST_TEST(reader.input().bits() == static_cast<unsigned>(n_bit));
        BOOST_TEST(reader.header().n_if == n_pol);
        BOOST_TEST(*reader.n_samples() == 120u);
        const std::vector<float> values = read_all(reader);
        BOOST_TEST(reader.samples_read() == 120u);
        BOOST_TEST(values == expected(file, zero), boost::test_tools::per_element());
      }
}

BOOST_AUTO_TEST_CASE(floats_are_scaled_too) {
  PsrfitsRows file = some_rows(32, 1);
  file.floats = true;
  Scratch scratch;
  PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(read_all(reader) == expected(file, 0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(unsigned_words_come_with_a_zero_point) {
  PsrfitsRows file = some_rows(16, 1, true);
  file.table_cards = {{"TZERO7", "32768"}, {"TSCAL7", "1"}};
  Scratch scratch;
  PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(read_all(reader) == expected(file, -32768), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_headers_are_told) {
  PsrfitsRows file = some_rows(8, 2);
  file.pol_type = "AABB";
  // The file begins with row 5 of the observation.
  for (PsrfitsRow& row : file.rows) row.offset_s += 0.2;
  Scratch scratch;
  const auto reader = open_samples(scratch.file("a.sf", reference::psrfits_bytes(file)));
  const FilterbankHeader& header = reader->header();
  BOOST_TEST(header.source == "J0835-4510");
  BOOST_TEST(header.sample_s == 1e-3);
  BOOST_TEST(header.n_chan == 8u);
  BOOST_TEST(header.first_hz == 400e6);
  BOOST_TEST(header.step_hz == -0.5e6);
  BOOST_TEST(header.start.mjd == 59000);
  BOOST_TEST(header.start.picoseconds == 43'200'450'000'000'000);
  BOOST_TEST((reader->input().products == Products::powers));
  BOOST_TEST(reader->input().telescope == "Parkes");
  BOOST_TEST(reader->input().telescope_itrf_m.value()[2] == -3454036.3);
  BOOST_TEST(header.direction.value().ra_rad == (8 + 35 / 60. + 20.6 / 3600) * 15 * kRadPerDeg,
             boost::test_tools::tolerance(1e-12));
  file.pol_type = "IQUV";
  BOOST_TEST((PsrfitsReader(scratch.file("b.sf", reference::psrfits_bytes(file))).input().products ==
              Products::stokes));
}

BOOST_AUTO_TEST_CASE(channels_without_weight_are_missing) {
  PsrfitsRows file = some_rows(8, 2);
  file.rows[1].weights[3] = 0;
  file.rows[1].weights[4] = 0.25f;  // does not scale
  Scratch scratch;
  PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
  const std::vector<float> values = read_all(reader), whole = expected(file, 0);
  BOOST_REQUIRE(values.size() == whole.size());
  std::size_t n_missing = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool missing = i / (40 * 16) == 1 && i % 8 == 3;
    n_missing += std::isnan(values[i]);
    if (missing ? !std::isnan(values[i]) : values[i] != whole[i])
      BOOST_ERROR("value " << i << " is " << values[i]);
  }
  BOOST_TEST(n_missing == 80u);
}

BOOST_AUTO_TEST_CASE(gaps_between_rows_are_missing) {
  PsrfitsRows file = some_rows(4, 1);
  file.rows[1].offset_s += 25e-3 + 0.4e-3;  // the clock's rounding is not a part of the gap
  file.rows[2].offset_s += 25e-3;
  Scratch scratch;
  PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(*reader.n_samples() == 145u);
  const std::vector<float> values = read_all(reader), whole = expected(file, 0);
  BOOST_REQUIRE(values.size() == 145u * 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t t = i / 8, from = t < 40 ? i : i - 25 * 8;
    if (t >= 40 && t < 65 ? !std::isnan(values[i]) : values[i] != whole[from])
      BOOST_ERROR("value " << i << " is " << values[i]);
  }
}

BOOST_AUTO_TEST_CASE(rows_without_times_follow_each_other) {
  PsrfitsRows file = some_rows(8, 1);
  for (PsrfitsRow& row : file.rows) row.offset_s = 0;
  file.table_cards = {{"NSUBOFFS", "10"}};
  Scratch scratch;
  PsrfitsReader reader(scratch.file("a.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(*reader.n_samples() == 120u);
  BOOST_TEST(reader.header().start.picoseconds == 43'200'650'000'000'000);
  BOOST_TEST(read_all(reader) == expected(file, 0), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rising_channels_and_those_of_the_header) {
  PsrfitsRows file = some_rows(8, 1);
  for (std::size_t chan = 0; chan < 8; ++chan) file.freq_mhz[chan] = 1200 + 0.125 * static_cast<double>(chan);
  Scratch scratch;
  const PsrfitsReader rising(scratch.file("a.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(rising.header().first_hz == 1200e6);
  BOOST_TEST(rising.header().step_hz == 0.125e6);
  file.freq_mhz.assign(8, 0);
  file.primary_cards = {{"OBSFREQ", "150"}, {"OBSBW", "-8"}, {"OBSNCHAN", "8"}};
  const PsrfitsReader told(scratch.file("b.sf", reference::psrfits_bytes(file)));
  BOOST_TEST(told.header().first_hz == 153.5e6);
  BOOST_TEST(told.header().step_hz == -1e6);
}

BOOST_AUTO_TEST_CASE(other_modes_say_what_they_are) {
  PsrfitsRows file = some_rows(8, 1);
  file.obs_mode = "PSR";
  SAYS(refusal(file), "OBS_MODE = 'PSR': a PSRFITS file of folded profiles of a pulsar");
  file.obs_mode = "CAL";
  SAYS(refusal(file), "folded profiles of a calibrator's pulses");
  file.obs_mode = "SEARCH";
  file.table_cards = {{"NBIN", "1024"}};
  SAYS(refusal(file), "NBIN = 1024: folded profiles");
  file.table_cards = {{"EXTNAME", "'POLYCO'"}};
  SAYS(refusal(file), "no table SUBINT");
  file.table_cards.clear();
  file.primary_cards = {{"FITSTYPE", "'SDFITS'"}};
  SAYS(refusal(file), "FITSTYPE = 'SDFITS'");
}

BOOST_AUTO_TEST_CASE(headers_that_lie_are_refused) {
  const auto changed = [](const char* key, const char* value) {
    PsrfitsRows file = some_rows(8, 1);
    file.table_cards = {{key, value}};
    return refusal(file);
  };
  SAYS(changed("NBITS", "3"), "NBITS = 3");
  SAYS(changed("NBITS", "4"), "column DATA has 320 bytes a row");
  SAYS(changed("NCHAN", "9"), "column DAT_FREQ has 8 values");
  SAYS(changed("NSBLK", "41"), "column DATA has 320 bytes a row");
  SAYS(changed("NPOL", "2"), "column DAT_SCL has 8 values");
  SAYS(changed("TBIN", "-1"), "TBIN = -1");
  SAYS(changed("TTYPE7", "'DATUM'"), "no column DATA");
  SAYS(changed("NAXIS2", "99"), "promises more data");
  SAYS(changed("TFORM3", "'9D'"), "its columns take");
  PsrfitsRows file = some_rows(8, 1);
  file.rows[2].offset_s = file.rows[1].offset_s;
  SAYS(refusal(file), "begins before the row before it ends");
  file.rows[2].offset_s = 1e9;
  SAYS(refusal(file), "more than 100 times as much is missing");
  file = some_rows(8, 1);
  file.freq_mhz[4] += 0.1;
  SAYS(refusal(file), "channel 4 is at 398.1 MHz, not evenly spaced");
  file = some_rows(1, 1);
  file.freq_mhz.resize(7);
  for (PsrfitsRow& row : file.rows)
    row.weights.resize(7), row.scales.resize(7), row.offsets.resize(7), row.codes.resize(280);
  SAYS(refusal(file), "a sample must fill whole bytes");
  Scratch scratch;
  const std::string bytes = reference::psrfits_bytes(some_rows(8, 1));
  BOOST_CHECK_THROW(open_samples(scratch.file("cut.sf", bytes.substr(0, bytes.size() - 2880))), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
