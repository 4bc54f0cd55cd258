// SPDX-License-Identifier: GPL-3.0-or-later
// Frames of MWA-32T receivers: every intact frame is recovered exactly, every other one is missing and
// counted.
#include <boost/test/unit_test.hpp>

#include <array>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/recordings/mwa32t_frames.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using reference::FrameFate;
using reference::Mwa32tFormat;
using reference::Mwa32tStream;
using support::Taken, support::take;

BOOST_AUTO_TEST_SUITE(mwa32t)

namespace {

constexpr std::size_t kInputs = 16;

CaptureRequest request_for(const std::vector<std::string>& inputs, const Mwa32tFormat& format = {}) {
  CaptureRequest request;
  request.format = "mwa32t";
  request.inputs = inputs;
  request.facts.freq_hz = 150e6;
  request.facts.start = parse_utc("2008-11-20T12:00:00");
  request.mwa32t.marker = format.marker;
  request.mwa32t.word_bits = format.word_bits;
  request.mwa32t.real_bit = static_cast<int>(format.real_bit);
  request.mwa32t.imag_bit = static_cast<int>(format.imag_bit);
  request.mwa32t.byte_order = format.big ? ByteOrder::big : ByteOrder::little;
  return request;
}

/// Noise whose values a hash of stream, frame and input gives; quiet streams have small values and silent
/// inputs.
reference::SmallComplex noise(std::size_t stream, std::size_t frame, std::size_t input, int limit) {
  std::uint64_t hash = (stream * 1000003 + frame) * 1000033 + input * 7919 + 12345;
  hash = (hash ^ hash >> 31) * 0x9E3779B97F4A7C15u;
  hash ^= hash >> 29;
  const auto wide = static_cast<std::uint64_t>(2 * limit);
  return {static_cast<int>(hash % wide) - limit, static_cast<int>((hash >> 20) % wide) - limit};
}

/// What ingest must make of the frames of streams 0 .. n-1: 8 bits, [frame][input][re, im].
std::vector<std::uint8_t> expected_samples(const std::vector<std::vector<FrameFate>>& fates,
                                           std::size_t n_frames, int limit, std::size_t missing_block) {
  const std::size_t time_bytes = fates.size() * kInputs * 2;
  std::vector<std::uint8_t> bytes(n_frames * time_bytes);
  for (std::size_t stream = 0; stream < fates.size(); ++stream)
    for (std::size_t frame = 0; frame < n_frames; ++frame) {
      bool whole = true;
      const std::size_t block = frame / missing_block * missing_block;
      for (std::size_t i = block; i < std::min(block + missing_block, n_frames); ++i)
        whole &= fates[stream][i] == FrameFate::intact;
      if (!whole) continue;
      for (std::size_t input = 0; input < kInputs; ++input) {
        const auto value = noise(stream, frame, input, limit);
        std::uint8_t* at = bytes.data() + frame * time_bytes + (stream * kInputs + input) * 2;
        at[0] = static_cast<std::uint8_t>(value.re);
        at[1] = static_cast<std::uint8_t>(value.im);
      }
    }
  return bytes;
}

reference::InputSample sampler(std::size_t stream, int limit) {
  return [=](std::size_t frame, std::size_t input) { return noise(stream, frame, input, limit); };
}

/// Bytes of each kind of output.
std::vector<std::uint8_t> recoded(const std::vector<std::uint8_t>& eight, unsigned output_bits, bool halve) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < eight.size(); i += 2) {
    const int re = static_cast<std::int8_t>(eight[i]), im = static_cast<std::int8_t>(eight[i + 1]);
    const auto nibble = [&](int value) {
      if (halve) value = std::min(7, static_cast<int>(std::nearbyint(value / 2.0)));
      return value & 0xF;
    };
    if (output_bits == 8) bytes.insert(bytes.end(), {eight[i], eight[i + 1]});
    if (output_bits == 4) bytes.push_back(static_cast<std::uint8_t>(nibble(re) << 4 | nibble(im)));
    if (output_bits == 5) {
      const int word = (re & 31) << 5 | (im & 31);
      bytes.insert(bytes.end(), {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8)});
    }
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_format_of_words_is_unpacked) {
  const reference::Scratch scratch;
  const Mwa32tFormat formats[] = {
      {},
      {.big = true},
      {.marker = "1010cccccccccccc", .real_bit = 0, .imag_bit = 8},
      {.marker = "xxxx101011110011", .real_bit = 11, .imag_bit = 6, .big = true},
      {.marker = "x0ccccccccccccc1"},
      {.marker = "cccccccc", .word_bits = 8, .sample_bits = 4, .real_bit = 4},
      {.marker = "11cccc01", .word_bits = 8, .sample_bits = 4, .real_bit = 0, .imag_bit = 4}};
  for (const Mwa32tFormat& format : formats) {
    const int limit = format.sample_bits == 5 ? 16 : 8;
    constexpr std::size_t n_frames = 3000;
    std::vector<std::string> names;
    std::vector<std::vector<FrameFate>> fates;
    for (std::size_t stream = 0; stream < 4; ++stream) {
      const Mwa32tStream frames(format, 0, n_frames, 65000, sampler(stream, limit),
                                1 + static_cast<unsigned>(stream));
      names.push_back(scratch.file("s" + std::to_string(stream), frames.bytes()));
      fates.push_back(frames.fates());
    }
    const auto expected = expected_samples(fates, n_frames, limit, 1);
    for (unsigned output_bits : {8u, 5u, 4u}) {
      if (output_bits == 5 && format.sample_bits == 4) continue;
      CaptureRequest request = request_for(names, format);
      request.mwa32t.output_bits = output_bits;
      const Taken taken = take(request);
      BOOST_TEST(taken.bytes == recoded(expected, output_bits, format.sample_bits == 5));
      BOOST_TEST(taken.header.n_ant == 32);
      BOOST_TEST(taken.header.n_pol == 2);
      BOOST_TEST(taken.header.n_bit == output_bits);
      BOOST_TEST(taken.header.scale == (output_bits == 4 && format.sample_bits == 5 ? 2 : 1));
      BOOST_TEST(taken.header.sample_s == 1 / 1.28e6);
      for (const StreamReport& report : taken.reports) {
        BOOST_TEST(report.intact == n_frames);
        BOOST_TEST(!report.troubled());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(losses_are_counted_and_missing_and_all_else_is_exact) {
  const reference::Scratch scratch;
  constexpr std::size_t n_frames = 150000;  // the counter turns over twice
  for (const int limit : {16, 2}) {
    std::vector<std::string> names;
    std::vector<std::vector<FrameFate>> fates;
    std::array<std::size_t, 4> n_repeated{};
    for (std::size_t stream = 0; stream < 4; ++stream) {
      // Streams begin and end at different times.
      const std::size_t first = stream * 37, n = n_frames - first - stream * 11;
      Mwa32tStream frames({}, first, n, 64321, sampler(stream, limit), 7);
      std::mt19937 random(static_cast<unsigned>(100 * stream) + static_cast<unsigned>(limit));
      for (std::size_t frame = first + 80 + random() % 100; frame < first + n - 60;
           frame += 20 + random() % 600) {
        const std::size_t run = 1 + random() % (random() % 8 == 0 ? 2000 : 9);
        switch (random() % 6) {
          case 0:
            for (std::size_t i = 0; i < run && frame + 30 < first + n; ++i) frames.drop(frame++);
            break;
          case 1:
            frames.flip_marker(frame, static_cast<unsigned>(random() % 16));
            break;
          case 2:  // two in a row, and a loss behind them; with bit 0 they would count as the lost one
            frames.flip_marker(frame, static_cast<unsigned>(1 + random() % 15));
            frames.flip_marker(++frame, static_cast<unsigned>(1 + random() % 15));
            frames.drop(++frame);
            break;
          case 3: {  // words or bytes lost behind the marker
            const std::size_t at = 2 + random() % 31;
            frames.cut(frame, at, 1 + random() % (34 - at));
            break;
          }
          case 4: {
            std::string junk(1 + random() % 100, '\0');
            for (char& letter : junk) letter = static_cast<char>(random());
            frames.insert(frame, junk);
            break;
          }
          default:
            frames.repeat(frame, 5);
            n_repeated[stream] += 5;
        }
      }
      names.push_back(scratch.file("s" + std::to_string(stream), frames.bytes()));
      fates.emplace_back(first, FrameFate::lost);
      fates[stream].insert(fates[stream].end(), frames.fates().begin(), frames.fates().end());
      fates[stream].resize(n_frames, FrameFate::lost);
    }
    for (const std::size_t missing_block : {1, 16, 128}) {
      CaptureRequest request = request_for(names);
      request.facts.missing_samples = missing_block;
      const Taken taken = take(request);
      BOOST_TEST(taken.header.missing_samples == missing_block);
      BOOST_TEST((taken.bytes == expected_samples(fates, n_frames, limit, missing_block)));
      for (std::size_t stream = 0; stream < 4; ++stream) {
        const StreamReport& report = taken.reports[stream];
        const auto n_of = [&](FrameFate fate) {
          return static_cast<std::uint64_t>(std::count(fates[stream].begin(), fates[stream].end(), fate));
        };
        BOOST_TEST(report.intact == n_of(FrameFate::intact));
        BOOST_TEST(report.damaged == n_of(FrameFate::damaged));
        BOOST_TEST(report.lost == n_of(FrameFate::lost));
        BOOST_TEST(report.repeated == n_repeated[stream]);
        BOOST_TEST((missing_block > 1) == (report.blanked > 0));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_are_put_in_the_order_that_is_asked_for) {
  const reference::Scratch scratch;
  std::vector<std::string> names;
  for (std::size_t stream = 0; stream < 2; ++stream)
    names.push_back(scratch.file("s" + std::to_string(stream),
                                 Mwa32tStream({}, 0, 100, 5, sampler(stream, 16), 1).bytes()));
  CaptureRequest request = request_for(names);
  for (std::size_t input = 0; input < 32; ++input) request.facts.input_order.push_back(input * 5 % 32);
  const Taken taken = take(request);
  BOOST_REQUIRE(taken.bytes.size() == 100 * 64);
  for (std::size_t frame = 0; frame < 100; ++frame)
    for (std::size_t place = 0; place < 32; ++place) {
      const std::size_t input = place * 5 % 32;
      const auto value = noise(input / 16, frame, input % 16, 16);
      BOOST_TEST(static_cast<std::int8_t>(taken.bytes[frame * 64 + 2 * place]) == value.re);
      BOOST_TEST(static_cast<std::int8_t>(taken.bytes[frame * 64 + 2 * place + 1]) == value.im);
    }
  for (const std::vector<std::size_t>& wrong :
       {std::vector<std::size_t>(32, 1), std::vector<std::size_t>{0, 1}}) {
    request.facts.input_order = wrong;
    BOOST_CHECK_THROW(take(request), UsageError);
  }
}

BOOST_AUTO_TEST_CASE(a_pipe_in_pieces_gives_the_same) {
  const reference::Scratch scratch;
  Mwa32tStream frames({}, 0, 50000, 9, sampler(0, 16), 1);
  for (std::size_t frame = 100; frame < 49000; frame += 997)
    frames.cut(frame, 5, 9), frames.drop(frame + 300);
  const Taken from_file = take(request_for({scratch.file("s", frames.bytes())}));
  Taken from_pipe;
  reference::with_stdin(frames.bytes(), [&] { from_pipe = take(request_for({"-"})); });
  BOOST_TEST((from_pipe.bytes == from_file.bytes));
  BOOST_TEST(from_pipe.reports[0].intact == from_file.reports[0].intact);
  BOOST_TEST(from_pipe.reports[0].lost == from_file.reports[0].lost);
}

BOOST_AUTO_TEST_CASE(whole_frames_survive_a_cut_anywhere) {
  const reference::Scratch scratch;
  const std::string whole = Mwa32tStream({}, 0, 400, 3, sampler(0, 16), 1).bytes();
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const std::size_t size = i < 80 ? static_cast<std::size_t>(i) : random() % whole.size();
    const CaptureRequest request = request_for({scratch.file("s", whole.substr(0, size))});
    const std::size_t n_whole = size / 34, rest = size % 34;
    if (n_whole + (rest >= 2) < 2) {  // nothing follows the first marker
      BOOST_CHECK_THROW(take(request), DataError);
      continue;
    }
    const Taken taken = take(request);
    BOOST_TEST(taken.reports[0].intact == n_whole);
    BOOST_TEST(taken.reports[0].damaged == (rest > 0));
    BOOST_TEST(taken.bytes.size() == n_whole * 32);
    if (rest > 0) BOOST_TEST(*taken.reports[0].first_trouble == n_whole * 34);
  }
}

BOOST_AUTO_TEST_CASE(random_damage_ends_in_data_or_a_message) {
  const reference::Scratch scratch;
  const std::string whole = Mwa32tStream({}, 0, 300, 3, sampler(0, 4), 1).bytes();
  std::mt19937 random(6);
  std::size_t n_refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    for (std::size_t n = 1 + random() % (i < 100 ? 10 : 2000); n > 0 && !bytes.empty(); --n) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 20);
          break;
        default:
          bytes.insert(at, random() % 20, static_cast<char>(random()));
      }
    }
    try {
      const Taken taken = take(request_for({scratch.file("s", bytes)}));
      BOOST_TEST(taken.bytes.size() % 32 == 0);
      // A false jump is bounded by half a turn of the counter.
      BOOST_TEST(taken.bytes.size() < 32 * (300 + 40 * 32768));
    } catch (const DataError& error) {
      ++n_refused;
      BOOST_TEST(std::string(error.what()).find("byte") != std::string::npos);
    }
  }
  BOOST_TEST(n_refused < 150);
}

BOOST_AUTO_TEST_CASE(facts_and_options_are_asked_for) {
  const reference::Scratch scratch;
  const std::string name = scratch.file("s", Mwa32tStream({}, 0, 100, 3, sampler(0, 16), 1).bytes());
  const auto complaint = [&](const std::function<void(CaptureRequest&)>& change) {
    CaptureRequest request = request_for({name});
    change(request);
    try {
      open_capture(request);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  };
  BOOST_TEST(complaint([](CaptureRequest&) {}) == "none");
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.facts.freq_hz = NAN; }), "--freq"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.facts.start.reset(); }), "--start"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.marker = "cc"; }), "--marker cc"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.marker = "cccc0000cccc0000"; }), "--marker"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.marker = "xxxxxxxxxxxxxxxx"; }), "--marker"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.real_bit = 3; }), "--real-bit 3"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.real_bit = 12; }), "--real-bit 12"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.mwa32t.byte_order = ByteOrder::big; }), "--endian"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.facts.layout.antennas = "mwa-32t"; }), "32 antennas"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.facts.layout.flag_antennas = "1"; }), "--antennas"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.inputs = {"/nowhere/at/all"}; }), "/nowhere/at/all"));
  BOOST_TEST(has(complaint([](CaptureRequest& r) { r.format = "tape"; }), "mwa32t"));
}

BOOST_AUTO_TEST_SUITE_END()
