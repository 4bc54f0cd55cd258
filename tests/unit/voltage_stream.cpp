// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/voltage_stream.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/core/error.h"
#include "libcore/io/stream_payload.h"
#include "tests/reference/scratch.h"
#include "tests/reference/voltage_encoder.h"

using namespace apsyn;
using reference::Scratch;
using reference::VoltageFormat;

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

// Reads all of it in blocks of n_time, comparing every component exactly; returns the number of samples.
std::size_t compare(VoltageReader& reader, const VoltageFormat& f, std::size_t n_time,
                    std::size_t first = 0) {
  VoltageBlock block;
  std::size_t next = first;
  while (reader.read(block, n_time)) {
    BOOST_REQUIRE(block.first_sample == static_cast<std::int64_t>(next));
    BOOST_REQUIRE(block.integer == (f.n_bit <= 8));
    for (std::size_t t = 0; t < block.n_time; ++t)
      for (std::size_t c = 0; c < f.n_chan; ++c)
        for (std::size_t a = 0; a < f.n_ant; ++a) {
          if (!block.is_valid(t, a)) BOOST_FAIL("sample " << next + t << " antenna " << a << " is missing");
          for (std::size_t p = 0; p < f.n_pol; ++p)
            for (unsigned part = 0; part < 2; ++part) {
              const double got =
                  block.integer ? block.samples_i8(t, c, a, p, part) : block.samples_f32(t, c, a, p, part);
              if (got != expected(f, next + t, c, a, p, part))
                BOOST_FAIL("sample " << next + t << " chan " << c << " ant " << a << " pol " << p << " part "
                                     << part << ": " << got << " for "
                                     << expected(f, next + t, c, a, p, part));
            }
        }
    BOOST_REQUIRE(block.not_finite.size() == 0u);
    next += block.n_time;
  }
  return next;
}

bool malformed_at_offset(const Error& error) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == ExitStatus::malformed &&
         std::string(error.what()).find("byte ") != std::string::npos;
}

// Every byte must be seen, or the end must be refused.
void read_all(const std::string& path, std::size_t n_time = 100) {
  VoltageReader reader(path);
  VoltageBlock block;
  while (reader.read(block, n_time)) {
  }
}

void refused(const Scratch& scratch, const std::string& bytes) {
  BOOST_CHECK_EXCEPTION(read_all(scratch.file("bad.dada", bytes)), Error, malformed_at_offset);
  reference::with_stdin(bytes, [] { BOOST_CHECK_EXCEPTION(read_all("-"), Error, malformed_at_offset); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_order_and_depth) {
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
            BOOST_TEST(reader.n_samples().value() == 192);
            BOOST_TEST(compare(reader, f, n_formats % 2 ? 96 : 128) == 192u);
          }
        }
  } while (std::next_permutation(order.begin(), order.end()));
  BOOST_TEST_MESSAGE(n_formats << " complex formats");
}

BOOST_AUTO_TEST_CASE(short_orders_and_odd_bits) {
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

BOOST_AUTO_TEST_CASE(blocks_of_any_length_from_any_sample) {
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
        pipe.skip_to(static_cast<std::int64_t>(first));
        BOOST_TEST(compare(pipe, f, 100, first) == std::max<std::size_t>(600, first));
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_blocks) {
  const Scratch scratch;
  // Antenna 1 is absent in samples 128..255, silent in one polarisation throughout, and zero in the unaligned
  // samples 300..427, which are data. Antenna 2 is absent in the short last span.
  for (const char* encoding : {"TWOSCOMPLEMENT", "OFFSETBINARY", "FLOAT"})
    for (const char* order : {"TFAP", "FATP"}) {
      VoltageFormat f{order, 2, 3, 2, 64, 8, 2, encoding};
      if (f.encoding == "FLOAT") f.n_bit = 32;
      const auto payload =
          reference::encode_voltages(f, 576, [](auto t, auto, auto a, auto p, unsigned part) {
            if (a == 1 && ((t >= 128 && t < 256) || p == 1 || (t >= 300 && t < 428))) return 0.0;
            if (a == 2 && t >= 512) return 0.0;
            // One component of one channel in a span is enough.
            return part == 0 && (a == 0 || t % 128 == 5) ? 1.0 : 0.0;
          });
      scratch.file("a.dada",
                   reference::voltage_header_text(f, "") + std::string(payload.begin(), payload.end()));
      for (std::size_t n_time : {1u, 5u, 100u, 128u, 200u, 256u, 1000u})
        for (std::size_t first : {0u, 130u, 255u}) {
          VoltageReader reader(scratch.path("a.dada"));
          reader.skip_to(static_cast<std::int64_t>(first));
          VoltageBlock block;
          std::size_t n_read = first;
          while (reader.read(block, n_time)) {
            BOOST_REQUIRE(block.valid.extent(0) == (block.first_valid_row_offset + block.n_time + 127) / 128);
            for (std::size_t t = 0; t < block.n_time; ++t)
              for (std::size_t a = 0; a < 3; ++a) {
                const std::size_t row = (n_read + t) / 128;
                // Antenna 1, p 0 has its sample at 5 of each span, but 384+5 lies in the silence.
                const bool valid = !(a == 1 && (row == 1 || row == 3)) && !(a == 2 && row == 4);
                if (block.is_valid(t, a) != valid)
                  BOOST_FAIL(order << " " << encoding << " n_time " << n_time << " first " << first
                                   << " sample " << n_read + t << " antenna " << a);
              }
            n_read += block.n_time;
          }
          BOOST_TEST(n_read == 576u);
        }
    }
}

BOOST_AUTO_TEST_CASE(missing_span_of_another_length) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 1, 1, 1};
  const auto payload = reference::encode_voltages(
      f, 30, [](auto t, auto, auto, auto, unsigned) { return t >= 10 && t < 20 ? 0.0 : 1.0; });
  for (std::size_t span : {1u, 3u, 10u, 20u, 128u}) {
    scratch.file("a.dada", reference::voltage_header_text(f, fmt::format("MISSING_NSAMP {}\n", span)) +
                               std::string(payload.begin(), payload.end()));
    VoltageReader reader(scratch.path("a.dada"));
    VoltageBlock block;
    BOOST_REQUIRE(reader.read(block, 30));
    for (std::size_t t = 0; t < 30; ++t) {
      const std::size_t begin = t / span * span, end = std::min<std::size_t>(30, begin + span);
      BOOST_TEST(block.is_valid(t, 0) == !(begin >= 10 && end <= 20));
    }
  }
}

BOOST_AUTO_TEST_CASE(not_finite_samples) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 2, 2, 2, 1, 32, 2, "FLOAT"};
  const auto payload = reference::encode_voltages(f, 256, [](auto t, auto c, auto a, auto p, unsigned part) {
    if (t == 3 && c == 1 && a == 0 && p == 1 && part == 1) return double(NAN);
    if (t == 200 && c == 0 && a == 1 && p == 0 && part == 0) return -double(INFINITY);
    if (t >= 128 && a == 0) return double(NAN);
    return 2.0;
  });
  scratch.file("a.dada", reference::voltage_header_text(f, "") + std::string(payload.begin(), payload.end()));
  VoltageReader reader(scratch.path("a.dada"));
  VoltageBlock block;
  BOOST_REQUIRE(reader.read(block, 256));
  BOOST_REQUIRE(block.not_finite.size() == 256u * 4);
  for (std::size_t t = 0; t < 256; ++t)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t a = 0; a < 2; ++a) {
        const bool bad =
            (t == 3 && c == 1 && a == 0) || (t == 200 && c == 0 && a == 1) || (t >= 128 && a == 0);
        BOOST_REQUIRE(block.not_finite(t, c, a) == (bad ? 1 : 0));
        for (std::size_t p = 0; p < 2; ++p)
          for (std::size_t part = 0; part < 2; ++part) {
            const bool cleared = (t == 3 && c == 1 && a == 0 && p == 1) ||
                                 (t == 200 && c == 0 && a == 1 && p == 0) || (t >= 128 && a == 0);
            BOOST_REQUIRE(block.samples_f32(t, c, a, p, part) == (cleared ? 0.0f : 2.0f));
          }
      }
  BOOST_TEST(block.is_valid(127, 0));
  BOOST_TEST(!block.is_valid(128, 0));  // nothing but NaN
  BOOST_TEST(block.is_valid(200, 1));
}

BOOST_AUTO_TEST_CASE(spans_of_nothing_but_nan) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 1, 2, 1, 1, 32, 2, "FLOAT"};
  const auto payload = reference::encode_voltages(
      f, 300, [](auto t, auto, auto a, auto, unsigned) { return a == 1 && t >= 128 ? double(NAN) : 1.0; });
  scratch.file("a.dada", reference::voltage_header_text(f, "") + std::string(payload.begin(), payload.end()));
  for (std::size_t n_time : {10u, 100u, 128u, 300u}) {
    VoltageReader reader(scratch.path("a.dada"));
    VoltageBlock block;
    std::size_t next = 0;
    for (; reader.read(block, n_time); next += block.n_time)
      for (std::size_t t = 0; t < block.n_time; ++t) {
        BOOST_REQUIRE(block.is_valid(t, 0));
        BOOST_REQUIRE(block.is_valid(t, 1) == (next + t < 128));
      }
    BOOST_TEST(next == 300u);
  }
}

BOOST_AUTO_TEST_CASE(damaged_headers_end_in_order) {
  const Scratch scratch;
  VoltageFormat f{"FTAP", 3, 2, 2, 20, 4};
  const std::string good = stream_bytes(f, 400, "RESOLUTION 24\nMISSING_NSAMP 50\n");
  std::mt19937 random(21);
  std::size_t n_read = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    std::string bytes = good;
    for (int n = 0; n < 2; ++n)
      bytes[random() % 420] = static_cast<char>(turn % 3 ? '0' + random() % 10 : 32 + random() % 95);
    // Without a known length the reader must not believe what the header promises.
    const auto body = [&](const std::string& path) {
      try {
        read_all(path, 64);
        ++n_read;
      } catch (const Error& error) {
        BOOST_REQUIRE((error.status() == ExitStatus::malformed));
      }
    };
    body(scratch.file("damaged.dada", bytes));
    if (turn % 10 == 0) reference::with_stdin(bytes, [&] { body("-"); });
  }
  BOOST_TEST_MESSAGE(n_read << " were still streams");
}

BOOST_AUTO_TEST_CASE(conjugating_the_most_negative_integer) {
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

BOOST_AUTO_TEST_CASE(every_cut_is_refused) {
  const Scratch scratch;
  VoltageHeader header;
  header.sample_s = 1e-6;
  header.n_chan = 2, header.n_ant = 3, header.n_pol = 1;
  std::vector<std::uint8_t> payload(12 * 700, 1);
  const auto write = [&](const std::string& path) {
    VoltageWriter writer(path, header, true);
    writer.write(payload.data(), payload.size());
    writer.commit();
  };
  write(scratch.path("a.dada"));
  reference::with_stdout(scratch.path("s.dada"), [&] { write("-"); });
  const std::string file = scratch.read("a.dada"), stream = scratch.read("s.dada");
  for (std::size_t cut = 0; cut < 4096; ++cut) {
    if (cut % 64 == 0) refused(scratch, file.substr(0, cut));
    BOOST_CHECK_EXCEPTION(read_all(scratch.file("bad.dada", file.substr(0, cut))), Error,
                          malformed_at_offset);
  }
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    refused(scratch, file.substr(0, 4096 + random() % payload.size()));
    refused(scratch, stream.substr(0, 4096 + random() % (stream.size() - 4096)));
  }
  for (std::size_t whole = 0; whole < 700; whole += 50) {  // whole samples are no excuse
    refused(scratch, file.substr(0, 4096 + 12 * whole));
    refused(scratch, stream.substr(0, 4096 + 12 * whole));
  }
  refused(scratch, file + std::string(12, 'x'));
  refused(scratch, stream + std::string(12, 'x'));
}

BOOST_AUTO_TEST_CASE(a_damaged_stream_is_refused) {
  const Scratch scratch;
  VoltageHeader header;
  header.sample_s = 1e-6;
  std::vector<std::uint8_t> payload(5000, 3);
  reference::with_stdout(scratch.path("s.dada"), [&] {
    VoltageWriter writer("-", header, true);
    writer.write(payload.data(), payload.size());
    writer.commit();
  });
  const std::string stream = scratch.read("s.dada");
  read_all(scratch.path("s.dada"));
  std::string flipped = stream;
  flipped[5000] ^= 1;
  BOOST_CHECK_EXCEPTION(read_all(scratch.file("flipped.dada", flipped)), Error, [](const Error& e) {
    return malformed_at_offset(e) && std::string(e.what()).find("checksum") != std::string::npos;
  });
  std::mt19937 random(12);
  for (int i = 0; i < 200; ++i) {
    std::string damaged = stream;
    damaged[4096 + random() % (stream.size() - 4096)] ^= static_cast<char>(1u << random() % 8);
    refused(scratch, damaged);
  }
}

BOOST_AUTO_TEST_CASE(streams_of_other_software) {
  const Scratch scratch;
  const VoltageFormat f{"TFAP", 1, 1, 2};
  const std::string data(4 * 1000, 'x');
  const auto accepted = [&](const std::string& keys, std::size_t n_bytes) {
    const std::string bytes = reference::voltage_header_text(f, keys) + data.substr(0, n_bytes);
    read_all(scratch.file("good.dada", bytes));
    reference::with_stdin(bytes, [] { read_all("-"); });
  };
  const auto rejected = [&](const std::string& keys, std::size_t n_bytes) {
    refused(scratch, reference::voltage_header_text(f, keys) + data.substr(0, n_bytes));
  };
  accepted("", 4000);  // no sizes at all: any whole sample
  rejected("", 3999);
  accepted("RESOLUTION 1\n", 3996);
  rejected("RESOLUTION 1\n", 3998);
  accepted("RESOLUTION 400\n", 400);
  rejected("RESOLUTION 400\n", 404);
  rejected("RESOLUTION 6\n", 18);  // a whole RESOLUTION that cuts a sample
  accepted("FILE_SIZE 4000\n", 4000);
  rejected("FILE_SIZE 4000\n", 3996);
  rejected("FILE_SIZE 3996\n", 4000);
  accepted("FILE_SIZE 8096\n", 4000);  // counts the header
  accepted("FILE_SIZE 100000\nRESOLUTION 400\n", 4000);
  rejected("FILE_SIZE 100000\nRESOLUTION 400\n", 3996);
  rejected("FILE_SIZE 100000\nRESOLUTION 4\n", 4000);
  rejected("FILE_SIZE 100000\nRESOLUTION 400\nTRAILER 0\n", 4000);
  rejected("TRAILER 1\n", 4000);
}

BOOST_AUTO_TEST_CASE(inputs_that_cannot_be_opened) {
  const Scratch scratch;
  BOOST_CHECK_THROW(VoltageReader(scratch.path("absent")), FailureError);
  BOOST_CHECK_THROW(VoltageReader(scratch.path("")), FailureError);
  refused(scratch, std::string(10000, 'x'));
  refused(scratch, std::string(10000, '\0'));
}
