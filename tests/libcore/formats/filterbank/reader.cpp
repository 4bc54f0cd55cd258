// SPDX-License-Identifier: GPL-3.0-or-later
// SIGPROC filterbank files: what is written is read back, every sample format, and headers that lie.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/filterbank/channels.h"
#include "libcore/formats/filterbank/reader.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(reader)

namespace {

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
std::string text(const std::string& value) {
  return raw(static_cast<std::int32_t>(value.size())) + value;
}
template <class T>
std::string key(const std::string& name, T value) {
  return text(name) + raw(value);
}

struct Made {
  std::string values = key("nchans", std::int32_t{4}) + key("nbits", std::int32_t{8}) + key("tsamp", 1e-3) +
                       key("fch1", 400.0) + key("foff", -0.5);
  std::string bytes() const { return text("HEADER_START") + values + text("HEADER_END"); }
};

/// The message of the DataError that opening these bytes gives.
std::string refusal(const std::string& bytes) {
  Scratch scratch;
  try {
    FilterbankReader reader(scratch.file("x.fil", bytes));
    Buffer<float, 3> samples;
    while (reader.read(5, samples) > 0) {
    }
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}
bool says(const std::string& message, const std::string& what) {
  return message.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  Scratch scratch;
  FilterbankHeader header;
  header.source = "B0329+54", header.raw_file = "obs.dada", header.sample_s = 64e-6;
  header.start = {59000, 43'200'123'456'000'000}, header.first_hz = 408e6, header.step_hz = -20e6 / 1024;
  header.n_chan = 6, header.n_if = 2, header.beam = 4, header.n_beam = 9;
  header.direction = SkyDirection{0.93, -0.4};
  header.azimuth_rad = 1.25 * kRadPerDeg, header.zenith_angle_rad = 33.5 * kRadPerDeg;
  const std::string path = scratch.path("a.fil");
  std::vector<float> values(7 * 12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
  {
    FilterbankWriter writer(path, header, false);
    writer.write(values.data(), values.size() * 4);
    writer.commit();
  }
  FilterbankReader reader(path);
  const FilterbankHeader& got = reader.header();
  BOOST_TEST(got.source == header.source);
  BOOST_TEST(got.raw_file == header.raw_file);
  BOOST_TEST(got.sample_s == header.sample_s);
  BOOST_TEST(got.n_chan == 6u);
  BOOST_TEST(got.n_if == 2u);
  BOOST_TEST(got.beam == 4u);
  BOOST_TEST(got.n_beam == 9u);
  BOOST_TEST(std::abs(seconds_between(header.start, got.start)) < 1e-6);  // a double of days resolves 0.6 us
  BOOST_TEST(std::abs(reader.input().channel_hz(5) - (408e6 - 5 * 20e6 / 1024)) < 1e-6);
  BOOST_TEST(std::abs(got.direction->ra_rad - 0.93) < 1e-10);
  BOOST_TEST(std::abs(got.direction->dec_rad + 0.4) < 1e-10);
  // in degrees, and the zenith angle, no elevation
  const std::string bytes = format_filterbank_header(header);
  const auto written = [&](const std::string& name) {
    double value = NAN;
    const std::size_t at = bytes.find(text(name));
    BOOST_REQUIRE(at != bytes.npos);
    std::memcpy(&value, bytes.data() + at + 4 + name.size(), sizeof value);
    return value;
  };
  BOOST_TEST(std::abs(written("az_start") - 1.25) < 1e-12);
  BOOST_TEST(std::abs(written("za_start") - 33.5) < 1e-12);
  BOOST_TEST(std::abs(got.azimuth_rad - header.azimuth_rad) < 1e-15);
  BOOST_TEST(std::abs(got.zenith_angle_rad - header.zenith_angle_rad) < 1e-15);
  BOOST_TEST(*reader.n_samples() == 7u);
  Buffer<float, 3> samples;
  BOOST_TEST(reader.read(3, samples) == 3u);
  BOOST_TEST(samples(2, 1, 5) == values[2 * 12 + 11]);
  reader.skip(2);
  BOOST_TEST(reader.read(3, samples) == 2u);
  BOOST_TEST(samples(0, 0, 0) == values[5 * 12]);
  BOOST_TEST(reader.read(3, samples) == 0u);
  BOOST_TEST(reader.samples_read() == 7u);
}

BOOST_AUTO_TEST_CASE(every_sample_format_decodes) {
  const std::uint8_t bytes[] = {0xe4, 0x81, 0x7f, 0x00};
  const auto decode = [&](unsigned n_bit, bool is_signed) {
    FilterbankInput input;
    input.header.n_bit = n_bit, input.is_signed = is_signed;
    std::vector<float> out(32 / n_bit, -99.f);
    decode_filterbank(input, bytes, out);
    return out;
  };
  const auto starts = [](const std::vector<float>& got, const std::vector<float>& wanted) {
    return std::equal(wanted.begin(), wanted.end(), got.begin());
  };
  // least significant bits first
  BOOST_TEST(starts(decode(1, false), {0, 0, 1, 0, 0, 1, 1, 1, 1, 0}));
  BOOST_TEST(starts(decode(2, false), {0, 1, 2, 3, 1, 0, 0, 2}));
  BOOST_TEST(starts(decode(2, true), {0, 1, -2, -1, 1, 0, 0, -2}));
  BOOST_TEST(starts(decode(4, false), {4, 14, 1, 8, 15, 7, 0, 0}));
  BOOST_TEST(starts(decode(4, true), {4, -2, 1, -8, -1, 7, 0, 0}));
  BOOST_TEST(starts(decode(8, false), {228, 129, 127, 0}));
  BOOST_TEST(starts(decode(8, true), {-28, -127, 127, 0}));
  BOOST_TEST(starts(decode(16, false), {0x81e4, 0x7f}));
  BOOST_TEST(starts(decode(16, true), {0x81e4 - 65536, 0x7f}));
  float value;
  std::memcpy(&value, bytes, 4);
  BOOST_TEST(decode(32, false)[0] == value);
  FilterbankInput input;
  std::vector<float> out(3);
  BOOST_CHECK_THROW(decode_filterbank(input, bytes, out), std::length_error);
}

// By channel the same values come out, of any channels and IFs, and of more than fit into a square of the
// turn.
BOOST_AUTO_TEST_CASE(channels_are_turned_as_they_are_read) {
  constexpr std::size_t n_chan = 80, n_if = 2, n_time = 70, first = 8, n_out = 67;
  std::mt19937 random(9);
  for (const unsigned n_bit : {1u, 2u, 4u, 8u, 16u, 32u})
    for (const bool is_signed : {false, true}) {
      FilterbankInput input;
      input.header.n_bit = n_bit, input.is_signed = is_signed;
      input.header.n_chan = n_chan, input.header.n_if = n_if;
      std::vector<std::uint8_t> bytes(n_time * input.bytes_per_sample());
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      for (std::size_t i = 0; n_bit == 32 && i < bytes.size() / 4; ++i) {
        const auto value = static_cast<float>(random() % 1000) / 8;
        std::memcpy(&bytes[4 * i], &value, 4);
      }
      std::vector<float> all(n_time * n_if * n_chan);
      decode_filterbank(input, bytes, all);
      for (const IntensityKind kind : {IntensityKind::first, IntensityKind::sum}) {
        Buffer<float, 2> out({n_out, n_time + 3});
        decode_filterbank_channels(input, bytes, kind, first, out);
        std::size_t n_wrong = 0;
        for (std::size_t chan = 0; chan < n_out; ++chan)
          for (std::size_t t = 0; t < n_time; ++t) {
            const float* row = &all[t * n_if * n_chan];
            float wanted = row[first + chan];
            if (kind == IntensityKind::sum) wanted += row[n_chan + first + chan];
            n_wrong += out(chan, t) != wanted;
          }
        BOOST_TEST(n_wrong == 0u, n_bit << " bits");
      }
    }
}

BOOST_AUTO_TEST_CASE(a_pipe_reads_as_a_file) {
  std::string data(4 * 1000, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7);
  reference::with_stdin(Made().bytes() + data, [&] {
    FilterbankReader reader("-");
    BOOST_TEST(!reader.n_samples());
    Buffer<float, 3> samples;
    std::size_t n_all = 0;
    while (const std::size_t n = reader.read(64, samples)) {
      for (std::size_t i = 0; i < samples.size(); ++i)
        if (samples.data()[i] != static_cast<float>(static_cast<std::uint8_t>((n_all * 4 + i) * 7)))
          BOOST_FAIL("value " << i << " is wrong");
      n_all += n;
    }
    BOOST_TEST(n_all == 1000u);
  });
}

BOOST_AUTO_TEST_CASE(headers_of_other_programs_are_read) {
  Scratch scratch;
  Made made;
  made.values += key("signed", std::uint8_t{1}) + key("ibeam", std::int32_t{0}) +
                 key("nsamples", std::int32_t{0}) + text("source_name") + text("") + text("rawdatafile") +
                 text(std::string("a\nb\0c", 5)) + key("src_raj", 53431.97) + key("src_dej", -3054.5);
  const FilterbankReader reader(scratch.file("a.fil", made.bytes() + "abcdefgh"));
  BOOST_TEST(reader.input().is_signed);
  BOOST_TEST(*reader.n_samples() == 2u);
  BOOST_TEST(reader.header().raw_file == "a?b");
  BOOST_TEST(std::abs(reader.header().direction->ra_rad - (5 + 34 / 60.0 + 31.97 / 3600) * 15 * kRadPerDeg) <
             1e-12);
  BOOST_TEST(std::abs(reader.header().direction->dec_rad + (30 / 60.0 + 54.5 / 3600) * kRadPerDeg) < 1e-12);

  Made table;
  table.values = key("nchans", std::int32_t{3}) + key("nbits", std::int32_t{32}) + key("tsamp", 1e-3) +
                 text("FREQUENCY_START") + key("fchannel", 100.0) + key("fchannel", 101.0) +
                 key("fchannel", 102.0) + text("FREQUENCY_END");
  const FilterbankReader uneven(scratch.file("b.fil", table.bytes()));
  BOOST_TEST(uneven.header().first_hz == 100e6);
  BOOST_TEST(uneven.header().step_hz == 1e6);
}

BOOST_AUTO_TEST_CASE(headers_that_lie_are_refused) {
  const Made good;
  BOOST_TEST(refusal(good.bytes() + "abcd") == "");
  BOOST_TEST(says(refusal(""), "empty"));
  BOOST_TEST(says(refusal("SIMPLE  =                    T"), "no SIGPROC filterbank"));
  BOOST_TEST(says(refusal(std::string("\0\0\0\x0cHEADER_START", 16)), "big-endian"));
  BOOST_TEST(says(refusal(good.bytes() + "abcdef"), "2 bytes inside sample 1"));
  const auto with = [&](const std::string& more) {
    Made made;
    made.values += more;
    return refusal(made.bytes());
  };
  BOOST_TEST(says(with(key("nchans", std::int32_t{-1})), "nchans = -1"));
  BOOST_TEST(says(with(key("nchans", std::int32_t{1 << 30})), "nchans = 1073741824"));
  BOOST_TEST(
      says(with(key("foff", 1e-6) + key("nchans", std::int32_t{1 << 20}) + key("nifs", std::int32_t{4096})),
           "nifs"));
  BOOST_TEST(says(with(key("nbits", std::int32_t{7})), "nbits = 7"));
  BOOST_TEST(says(with(key("nbits", std::int32_t{1})), "whole bytes"));
  BOOST_TEST(says(with(key("tsamp", 0.0)), "tsamp = 0"));
  BOOST_TEST(says(with(key("tsamp", std::nan(""))), "tsamp = nan"));
  BOOST_TEST(says(with(key("tstart", 1e300)), "tstart"));
  BOOST_TEST(says(with(key("foff", 0.0)), "foff"));
  BOOST_TEST(says(with(key("foff", -200.0)), "foff"));
  BOOST_TEST(says(with(key("fch1", -1.0)), "fch1 = -1"));
  BOOST_TEST(says(with(key("data_type", std::int32_t{2})), "data_type = 2"));
  BOOST_TEST(says(with(key("mystery", 1.0)), "'mystery'"));
  BOOST_TEST(says(with(raw(std::int32_t{-5})), "the length of a key is -5"));
  BOOST_TEST(says(with(text("source_name") + raw(std::int32_t{1 << 30})), "the length of a text"));
  BOOST_TEST(says(with(text("FREQUENCY_START") + key("fchannel", 100.0) + text("FREQUENCY_END")), "nchans"));
  BOOST_TEST(says(with(text("FREQUENCY_START") + text("FREQUENCY_END")), "empty"));
  BOOST_TEST(says(with(text("FREQUENCY_START") + key("tsamp", 1.0)), "fchannel"));
  BOOST_TEST(says(with(text("FREQUENCY_START") + key("fchannel", 100.0) + key("fchannel", 101.0) +
                       key("fchannel", 103.0) + text("FREQUENCY_END")),
                  "evenly"));
  Made bare;
  bare.values.clear();
  BOOST_TEST(says(refusal(bare.bytes()), "nchans"));
}

BOOST_AUTO_TEST_CASE(every_cut_and_random_damage_is_survived) {
  const std::string whole = Made().bytes();
  for (std::size_t n = 0; n < whole.size(); ++n)
    BOOST_TEST(says(refusal(whole.substr(0, n)), "byte"), "cut at byte " << n << " is not noticed");
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = whole + "abcdefgh";
    for (unsigned k = 1 + random() % 4; k > 0; --k) bad[random() % bad.size()] = static_cast<char>(random());
    refusal(bad);  // any DataError will do; anything else fails the test
  }
}

BOOST_AUTO_TEST_SUITE_END()
