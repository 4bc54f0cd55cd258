// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of voltage streams that are missing or not finite.
#include "libcore/streams/voltage_stream.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "libcore/base/error.h"
#include "tests/reference/recordings/voltage_encoder.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;
using reference::VoltageFormat;

BOOST_AUTO_TEST_SUITE(voltage_stream_missing)

BOOST_AUTO_TEST_CASE(aligned_spans_of_zeros_are_missing) {
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

BOOST_AUTO_TEST_CASE(missing_spans_may_have_another_length) {
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

BOOST_AUTO_TEST_CASE(samples_that_are_not_finite_are_cleared_and_told) {
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

BOOST_AUTO_TEST_CASE(spans_of_nothing_but_nan_are_missing) {
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

BOOST_AUTO_TEST_SUITE_END()
