// SPDX-License-Identifier: GPL-3.0-or-later
// Voltage streams of every order and depth: values exactly, in blocks of any length, written and read back.
#include "libcore/streams/voltage_stream.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <random>

#include "libcore/base/error.h"
#include "tests/reference/recordings/voltage_encoder.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;
using reference::VoltageFormat;

BOOST_AUTO_TEST_SUITE(voltage_stream)

namespace {

// A value of the range that the format holds, from a hash of the indices.
double test_value(const VoltageFormat& f, std::size_t t, std::size_t c, std::size_t a, std::size_t p,
                  unsigned part) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u * (1 + part + 2 * (p + 3 * (a + 31 * (c + 67 * t))));
  hash ^= hash >> 29;
  hash *= 0xBF58476D1CE4E5B9u;
  hash ^= hash >> 32;
  if (f.encoding == "FLOAT") return static_cast<float>(static_cast<double>(hash >> 40) / 1e3 - 8000);
  // Up to 24 bits, which a float holds exactly.
  const std::uint64_t half = std::uint64_t{1} << (std::min(f.n_bit, 24u) - 1);
  return static_cast<double>(hash % (2 * half)) - static_cast<double>(half);
}

double expected(const VoltageFormat& f, std::size_t t, std::size_t c, std::size_t a, std::size_t p,
                unsigned part) {
  if (part == 1 && f.n_dim == 1) return 0;
  double value = test_value(f, t, c, a, p, part);
  // The encoder negates the imaginary part, which the most negative integer does not survive.
  if (f.conjugated && part == 1 && value == -std::ldexp(1.0, static_cast<int>(f.n_bit) - 1)) value += 1;
  return value;
}

std::string stream_bytes(const VoltageFormat& f, std::size_t n_time, const std::string& extra = "") {
  const auto payload = reference::encode_voltages(
      f, n_time,
      [&](auto t, auto c, auto a, auto p, unsigned part) { return expected(f, t, c, a, p, part); });
  return reference::voltage_header_text(f, "FILE_SIZE " + std::to_string(payload.size()) + "\n" + extra) +
         std::string(payload.begin(), payload.end());
}

int nibble(unsigned both, unsigned part) {
  const unsigned bits = part == 0 ? both >> 4 : both & 15u;
  return bits < 8 ? static_cast<int>(bits) : static_cast<int>(bits) - 16;
}

double component(const VoltageBlock& block, std::size_t t, std::size_t c, std::size_t a, std::size_t p,
                 unsigned part) {
  if (block.four_bit) return nibble(block.samples_i4(t, c, a, p), part);
  return block.integer ? block.samples_i8(t, c, a, p, part) : block.samples_f32(t, c, a, p, part);
}

// What a reader's threads are shown of a block while they fill it: each sample once, with its value.
struct Shown {
  Shown(VoltageReader& reader, const VoltageFormat& f, std::size_t n_time) : times(n_time) {
    reader.watch([this, f](const VoltageBlock& block, std::size_t first, std::size_t n, unsigned) {
      for (std::size_t t = first; t < first + n; ++t) {
        ++times.at(t);
        const auto of_stream = static_cast<std::size_t>(block.first_sample) + t;
        for (std::size_t c = 0; c < f.n_chan; ++c)
          for (unsigned part = 0; part < 2; ++part)
            n_wrong += component(block, t, c, f.n_ant - 1, f.n_pol - 1, part) !=
                       expected(f, of_stream, c, f.n_ant - 1, f.n_pol - 1, part);
      }
    });
  }
  void check(std::size_t n_time) {
    for (std::size_t t = 0; t < times.size(); ++t)
      BOOST_REQUIRE_EQUAL(times[t].exchange(0), t < n_time ? 1 : 0);
    BOOST_REQUIRE_EQUAL(n_wrong, 0);
  }
  std::vector<std::atomic<int>> times;
  std::atomic<int> n_wrong{0};
};

// Reads all of it in blocks of n_time, comparing every component exactly; returns the number of samples.
std::size_t compare(VoltageReader& reader, const VoltageFormat& f, std::size_t n_time,
                    std::size_t first = 0) {
  VoltageBlock block;
  std::size_t next = first;
  Shown shown(reader, f, n_time);
  while (reader.read(block, n_time)) {
    shown.check(block.n_time);
    BOOST_REQUIRE(block.first_sample == static_cast<std::int64_t>(next));
    BOOST_REQUIRE(block.integer == (f.n_bit <= 8));
    for (std::size_t t = 0; t < block.n_time; ++t)
      for (std::size_t c = 0; c < f.n_chan; ++c)
        for (std::size_t a = 0; a < f.n_ant; ++a) {
          if (!block.is_valid(t, a)) BOOST_FAIL("sample " << next + t << " antenna " << a << " is missing");
          for (std::size_t p = 0; p < f.n_pol; ++p)
            for (unsigned part = 0; part < 2; ++part) {
              const double got = component(block, t, c, a, p, part);
              if (got != expected(f, next + t, c, a, p, part))
                BOOST_FAIL("sample " << next + t << " chan " << c << " ant " << a << " pol " << p << " part "
                                     << part << ": " << got << " for "
                                     << expected(f, next + t, c, a, p, part));
            }
        }
    BOOST_REQUIRE(block.not_finite.size() == 0u);
    next += block.n_time;
  }
  reader.watch({});
  return next;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_order_and_depth_decodes) {
  const Scratch scratch;
  struct Depth {
    unsigned n_bit, n_dim;
    const char* encoding;
  };
  const Depth depths[] = {{4, 2, "TWOSCOMPLEMENT"}, {4, 1, "TWOSCOMPLEMENT"},  {4, 2, "OFFSETBINARY"},
                          {4, 1, "OFFSETBINARY"},   {8, 2, "TWOSCOMPLEMENT"},  {8, 1, "TWOSCOMPLEMENT"},
                          {8, 2, "OFFSETBINARY"},   {8, 1, "OFFSETBINARY"},    {16, 2, "TWOSCOMPLEMENT"},
                          {16, 1, "OFFSETBINARY"},  {32, 2, "TWOSCOMPLEMENT"}, {32, 1, "OFFSETBINARY"},
                          {32, 2, "FLOAT"},         {32, 1, "FLOAT"},          {5, 2, "PACK5X5"}};
  std::string order = "AFPT";
  std::size_t n_formats = 0;
  do {
    for (const Depth& depth : depths)
      for (const std::size_t heap : {1u, 24u})
        for (const char* endian : {"LITTLE", "BIG"}) {
          VoltageFormat f{order, 3, 2, 2, heap, depth.n_bit, depth.n_dim, depth.encoding, endian, false};
          if (heap == 1 && depth.n_bit * depth.n_dim * 12 % 8 != 0) continue;
          f.conjugated = depth.n_dim == 2 && (++n_formats % 3 == 0);
          BOOST_TEST_CONTEXT(order << " " << depth.n_bit << " bit " << depth.encoding << " heap " << heap) {
            VoltageReader reader(scratch.file("a.dada", stream_bytes(f, 192)));
            reader.use_threads(1 + n_formats % 3);
            if (n_formats % 2) reader.keep_4bit();
            BOOST_TEST(reader.keeps_4bit() ==
                       (n_formats % 2 && depth.n_bit == 4 && depth.n_dim == 2 && !f.conjugated));
            BOOST_TEST(reader.n_samples().value() == 192);
            BOOST_TEST(compare(reader, f, n_formats % 2 ? 96 : 128) == 192u);
          }
        }
  } while (std::next_permutation(order.begin(), order.end()));
  BOOST_TEST_MESSAGE(n_formats << " complex formats");
}

BOOST_AUTO_TEST_CASE(short_orders_and_odd_bits_decode) {
  const Scratch scratch;
  for (const VoltageFormat& f : {VoltageFormat{"T", 1, 1, 1},
                                 {"TFP", 5, 1, 2},
                                 {"FTP", 5, 1, 2, 7},
                                 {"AT", 1, 3, 1, 4},
                                 {"TP", 1, 1, 2},
                                 {"FT", 3, 1, 1, 2, 4, 1},
                                 {"TF", 3, 1, 1, 1, 4, 1},
                                 {"TFAP", 9, 1, 1, 1, 4, 1}}) {
    VoltageReader reader(scratch.file("a.dada", stream_bytes(f, 280)));
    BOOST_TEST(compare(reader, f, 128) == 280u);
  }
}

BOOST_AUTO_TEST_CASE(blocks_of_any_length_start_at_any_sample) {
  const Scratch scratch;
  for (const VoltageFormat& f :
       {VoltageFormat{"TFAP", 3, 4, 2, 1, 4}, {"AFTP", 3, 4, 2, 50}, {"FATP", 3, 4, 2, 50, 32, 2, "FLOAT"}}) {
    const std::string bytes = stream_bytes(f, 600);
    scratch.file("a.dada", bytes);
    for (std::size_t n_time : {1u, 7u, 50u, 127u, 128u, 129u, 256u, 599u, 600u, 5000u}) {
      VoltageReader reader(scratch.path("a.dada"));
      BOOST_TEST(compare(reader, f, n_time) == 600u);
    }
    for (std::size_t first : {0u, 1u, 49u, 128u, 300u, 599u, 600u, 601u, 100000u}) {
      VoltageReader reader(scratch.path("a.dada"));
      reader.skip_to(static_cast<std::int64_t>(first));
      BOOST_TEST(compare(reader, f, 100, first) == std::max<std::size_t>(600, first));
      reference::with_stdin(bytes, [&] {
        VoltageReader pipe("-");
        pipe.use_threads(3);
        pipe.skip_to(static_cast<std::int64_t>(first));
        BOOST_TEST(compare(pipe, f, 100, first) == std::max<std::size_t>(600, first));
      });
    }
  }
}

// Blocks of many pieces, and of more than a reader of a pipe believes in before it comes (16 MiB).
BOOST_AUTO_TEST_CASE(large_blocks_are_read_by_all_threads) {
  const Scratch scratch;
  for (const VoltageFormat& f : {VoltageFormat{"TFAP", 16, 32, 2},
                                 {"TFAP", 16, 32, 2, 1, 4},
                                 {"AFTP", 16, 32, 2, 50},
                                 {"TFAP", 16, 32, 2, 1, 16, 2, "TWOSCOMPLEMENT", "BIG"}}) {
    const std::size_t n_all = f.n_bit == 8 && f.order == "TFAP" ? 9000 : 1000;
    const std::string bytes = stream_bytes(f, n_all);
    scratch.file("a.dada", bytes);
    for (const auto& [n_threads, n_time] : {std::pair{1u, std::size_t{640}}, {4u, std::size_t{1} << 20}})
      for (const bool keep_4bit : {false, true}) {
        if (keep_4bit && f.n_bit != 4) continue;
        const auto check = [&](const std::string& path) {
          VoltageReader reader(path);
          reader.use_threads(n_threads);
          if (keep_4bit) reader.keep_4bit();
          BOOST_TEST(compare(reader, f, n_time) == n_all);
        };
        check(scratch.path("a.dada"));
        reference::with_stdin(bytes, [&] { check("-"); });
      }
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_a_file_have_its_trailer_s_checksum) {
  const Scratch scratch;
  const VoltageFormat f{"AFTP", 16, 8, 2, 50};
  VoltageHeader header;
  header.sample_s = 1e-6;
  header.start = {60000, 5};
  header.n_chan = 16, header.n_ant = 8, header.n_pol = 2, header.order = "AFTP", header.block_samples = 50;
  const auto payload = reference::encode_voltages(
      f, 5000, [&](auto t, auto c, auto a, auto p, unsigned part) { return expected(f, t, c, a, p, part); });
  reference::with_stdout(scratch.path("a.dada"), [&] {
    VoltageWriter writer("-", header, false);
    writer.write(payload.data(), payload.size());
    writer.commit();
  });
  std::string bytes = scratch.read("a.dada");
  const auto read_all = [&](const std::string& path, std::size_t n_time) {
    VoltageReader reader(path);
    reader.use_threads(3);
    return compare(reader, f, n_time);
  };
  for (const std::size_t n_time : {77u, 128u, 2049u, 100'000u}) {  // blocks end within units
    BOOST_TEST(read_all(scratch.path("a.dada"), n_time) == 5000u);
    reference::with_stdin(bytes, [&] { BOOST_TEST(read_all("-", n_time) == 5000u); });
  }
  char& damaged = bytes[bytes.size() / 2];
  const auto damage = [&] {
    VoltageReader reader(scratch.file("b.dada", bytes));
    reader.use_threads(3);
    VoltageBlock block;
    while (reader.read(block, 700)) {
    }
  };
  damaged = static_cast<char>(damaged ^ 1);
  BOOST_CHECK_THROW(damage(), DataError);
  damaged = static_cast<char>(damaged ^ 1);
  BOOST_CHECK_NO_THROW(damage());
}

// Bytes that are read into their place, and those that are decoded; blocks that end at the stream's end,
// within it and beyond it.
BOOST_AUTO_TEST_CASE(threads_that_sum_a_pipe_s_pieces_see_damage) {
  const Scratch scratch;
  for (const unsigned n_bit : {8u, 4u}) {
    const VoltageFormat f{"TFAP", 16, 32, 2, 1, n_bit};
    constexpr std::size_t kTimes = 3000;
    VoltageHeader header;
    header.sample_s = 1e-6;
    header.start = {60000, 5};
    header.n_chan = 16, header.n_ant = 32, header.n_pol = 2, header.n_bit = n_bit;
    const auto payload = reference::encode_voltages(
        f, kTimes,
        [&](auto t, auto c, auto a, auto p, unsigned part) { return expected(f, t, c, a, p, part); });
    reference::with_stdout(scratch.path("a.dada"), [&] {
      VoltageWriter writer("-", header, false);
      writer.write(payload.data(), payload.size());
      writer.commit();
    });
    std::string bytes = scratch.read("a.dada");
    const auto read_all = [&](unsigned n_threads, std::size_t n_time) {
      std::size_t n_read = 0;
      reference::with_stdin(bytes, [&] {
        VoltageReader reader("-");
        reader.use_threads(n_threads);
        n_read = compare(reader, f, n_time);
      });
      return n_read;
    };
    char& damaged = bytes[bytes.size() - 4096 - payload.size() / 3];
    char& of_trailer = bytes[bytes.size() - 100];
    for (const unsigned n_threads : {1u, 2u, 4u})
      for (const std::size_t n_time : {std::size_t{256}, kTimes, std::size_t{10'000}}) {
        BOOST_TEST(read_all(n_threads, n_time) == kTimes);
        of_trailer = 'x';
        BOOST_CHECK_THROW(read_all(n_threads, n_time), DataError);
        of_trailer = '\0';
        const auto look = [&] {
          reference::with_stdin(bytes, [&] {
            VoltageReader reader("-");
            reader.use_threads(n_threads);
            VoltageBlock block;
            while (reader.read(block, n_time)) {
            }
          });
        };
        damaged = static_cast<char>(damaged ^ 1);
        BOOST_CHECK_THROW(look(), DataError);
        damaged = static_cast<char>(damaged ^ 1);
      }
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_shrinks_is_an_error) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 3, 4, 2};
  const std::string path = scratch.file("a.dada", stream_bytes(f, 600));
  VoltageReader reader(path);
  reader.use_threads(2);
  VoltageBlock block;
  BOOST_TEST(reader.read(block, 128));
  std::filesystem::resize_file(path, 4096 + 24 * 2 * 300);
  BOOST_CHECK_THROW(while (reader.read(block, 128)){}, FailureError);
}

BOOST_AUTO_TEST_CASE(conjugating_the_most_negative_integer_saturates) {
  const Scratch scratch;
  VoltageFormat f{"TFAP", 1, 1, 1};
  std::string bytes = reference::voltage_header_text(f, "SIDEBAND_CONJ 1\n");
  bytes.replace(bytes.find("SIDEBAND_CONJ 0"), 15, "SIDEBAND_CONJ 1");
  bytes += std::string("\x80\x80\x01\x7f", 4);
  VoltageReader reader(scratch.file("a.dada", bytes));
  VoltageBlock block;
  BOOST_REQUIRE(reader.read(block, 2));
  BOOST_TEST(int(block.samples_i8(0, 0, 0, 0, 0)) == -128);
  BOOST_TEST(int(block.samples_i8(0, 0, 0, 0, 1)) == 127);
  BOOST_TEST(int(block.samples_i8(1, 0, 0, 0, 1)) == -127);
}

BOOST_AUTO_TEST_CASE(written_files_and_pipes_read_back) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 3, 2, 2, 1, 4};
  const auto payload = reference::encode_voltages(
      f, 1000, [&](auto t, auto c, auto a, auto p, unsigned part) { return expected(f, t, c, a, p, part); });
  VoltageHeader header;
  header.sample_s = 1e-6;
  header.start = {60000, 5};
  header.n_chan = 3, header.n_ant = 2, header.n_pol = 2, header.n_bit = 4;
  const auto write = [&](const std::string& path, bool commit) {
    VoltageWriter writer(path, header, false);
    std::mt19937 random(1);
    for (std::size_t at = 0; at < payload.size();) {
      const std::size_t n = std::min<std::size_t>(payload.size() - at, 1 + random() % 1000);
      writer.write(payload.data() + at, n);
      at += n;
    }
    if (commit) writer.commit();
  };
  write(scratch.path("dropped.dada"), false);
  BOOST_TEST(!scratch.exists("dropped.dada"));
  BOOST_TEST(!scratch.exists("dropped.dada.part"));
  write(scratch.path("a.dada"), true);
  BOOST_CHECK_THROW(write(scratch.path("a.dada"), true), UsageError);
  VoltageReader file(scratch.path("a.dada"));
  BOOST_TEST(file.header().file_size.value() == payload.size());
  BOOST_TEST(!file.header().trailer);
  BOOST_TEST(!file.header().foreign);
  BOOST_TEST(file.n_samples().value() == 1000);
  BOOST_TEST(compare(file, f, 128) == 1000u);

  reference::with_stdout(scratch.path("stream.dada"), [&] { write("-", true); });
  const std::string stream = scratch.read("stream.dada");
  BOOST_TEST(stream.size() == 4096 + payload.size() + 4096);
  VoltageReader with_trailer(scratch.path("stream.dada"));
  BOOST_TEST(with_trailer.header().trailer);
  BOOST_TEST(!with_trailer.header().file_size.has_value());
  BOOST_TEST(with_trailer.n_samples().value() == 1000);
  BOOST_TEST(compare(with_trailer, f, 77) == 1000u);
  for (std::size_t n_time : {1u, 77u, 128u, 1000u, 4000u})
    reference::with_stdin(stream, [&] {
      VoltageReader pipe("-");
      BOOST_TEST(!pipe.n_samples().has_value());
      BOOST_TEST(compare(pipe, f, n_time) == 1000u);
      VoltageBlock block;
      BOOST_TEST(!pipe.read(block, n_time));  // and stays at the end
    });
  // A file sent through a pipe has its FILE_SIZE still.
  reference::with_stdin(scratch.read("a.dada"), [&] {
    VoltageReader pipe("-");
    BOOST_TEST(pipe.n_samples().value() == 1000);
    BOOST_TEST(compare(pipe, f, 128) == 1000u);
  });
  // Skipping in a file with a trailer.
  VoltageReader skipped(scratch.path("stream.dada"));
  skipped.skip_to(333);
  BOOST_TEST(compare(skipped, f, 128, 333) == 1000u);
  VoltageWriter partial(scratch.path("b.dada"), header, false);
  partial.write(payload.data(), 13);
  BOOST_CHECK_THROW(partial.commit(), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
