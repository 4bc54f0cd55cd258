// SPDX-License-Identifier: GPL-3.0-or-later
// Streams that other software recorded; the expected values were read off the files with od.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/streams/voltage_stream.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(recorded_voltages)

namespace {

const std::string kData = APSYN_TEST_DATA;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Compares all samples of a file of interleaved int8 with its bytes.
std::size_t compare_int8(VoltageReader& reader, const std::string& bytes) {
  const VoltageHeader& h = reader.header();
  VoltageBlock block;
  std::size_t at = 4096, n = 0;
  while (reader.read(block, 1000)) {
    BOOST_REQUIRE(block.integer);
    n += block.n_time;
    for (std::size_t t = 0; t < block.n_time; ++t)
      for (std::size_t c = 0; c < h.n_chan; ++c)
        for (std::size_t p = 0; p < h.n_pol; ++p) {
          BOOST_REQUIRE(block.samples_i8(t, c, 0, p, 0) == static_cast<std::int8_t>(bytes[at++]));
          const std::int8_t im = h.n_dim == 2 ? static_cast<std::int8_t>(bytes[at++]) : 0;
          BOOST_REQUIRE(block.samples_i8(t, c, 0, p, 1) == im);
        }
  }
  BOOST_TEST(at == bytes.size());
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_recording_of_effelsberg_starts_in_time) {
  VoltageReader reader(kData + "/baseband-effelsberg.dada");
  const VoltageHeader& h = reader.header();
  BOOST_TEST(h.telescope == "Effelsberg");
  BOOST_TEST(h.source == "2016+28");
  BOOST_TEST(h.freq_hz == 320e6);
  BOOST_TEST(h.sample_s == 62.5e-9);
  // OBS_OFFSET 6400000000 bytes at 4 bytes every 62.5 ns: 100 s after 01:37:40.
  BOOST_TEST((h.start == parse_utc("2013-07-02T01:39:20")));
  BOOST_TEST(reader.n_samples().value() == 16000);
  BOOST_TEST(compare_int8(reader, bytes_of(kData + "/baseband-effelsberg.dada")) == 16000u);
}

BOOST_AUTO_TEST_CASE(the_direct_digitiser_of_effelsberg_has_real_samples) {
  VoltageReader reader(kData + "/baseband-edd.dada");
  const VoltageHeader& h = reader.header();
  BOOST_TEST(h.n_dim == 1u);
  BOOST_TEST(h.order == "FTP");
  BOOST_TEST(h.freq_hz == 1.4e9);
  BOOST_TEST(h.channel_freq_hz(0) == 1.4e9);
  // OBS_OFFSET 4276224000000 at 1.6e9 B/s is 2672.64 s.
  BOOST_TEST((h.start == parse_utc("2022-01-17T07:02:23.638315")));
  BOOST_TEST(reader.n_samples().value() == 14336);
  BOOST_TEST(compare_int8(reader, bytes_of(kData + "/baseband-edd.dada")) == 14336u);
}

BOOST_AUTO_TEST_CASE(a_header_of_the_meerkat_beamformer_is_understood) {
  const std::string header = bytes_of(kData + "/baseband-meerkat-header.dada");
  const VoltageHeader h = parse_voltage_header(header, "mkbf");
  BOOST_TEST(h.telescope == "MeerKAT");
  BOOST_TEST(h.instrument == "MKBF");
  BOOST_TEST(h.n_chan == 1024u);
  BOOST_TEST(h.bandwidth_hz == 544e6);
  BOOST_TEST(h.resolution_bytes == 1048576u);
  // 418222440448 bytes at 2176000000 B/s is 192.197812705882... s.
  BOOST_TEST((h.start == add_picoseconds(parse_utc("2023-07-19T15:27:16"), 197812705882 + 107083414)));
  bool has_beam = false;
  for (const auto& [key, value] : h.unknown) has_beam |= key == "STREAM_BEAM_ID" && value == "0";
  BOOST_TEST(has_beam);
  // One RESOLUTION of a recording that FILE_SIZE says was to have 22 GB ends where it may; less does not.
  const reference::Scratch scratch;
  VoltageReader whole(scratch.file("a.dada", header + std::string(1048576, '\1')));
  VoltageBlock block;
  BOOST_TEST(whole.n_samples().value() == 256);
  BOOST_TEST(whole.read(block, 1000));
  BOOST_TEST(block.n_time == 256u);
  BOOST_TEST(!whole.read(block, 1000));
  BOOST_CHECK_THROW(VoltageReader(scratch.file("b.dada", header + std::string(1048572, '\1'))), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
