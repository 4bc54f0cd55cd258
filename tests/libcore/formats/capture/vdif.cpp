// SPDX-License-Identifier: GPL-3.0-or-later
// VDIF captures, written here byte by byte: samples exactly, losses counted and missing.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using support::Taken, support::take;

BOOST_AUTO_TEST_SUITE(vdif)

namespace {

std::string little(std::uint32_t word) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(word >> (8 * i));
  return bytes;
}

struct VdifFormat {
  unsigned n_bit = 2, log2_chan = 0;
  bool complex = false, legacy = false;
  std::uint32_t payload_bytes = 64, extended = 0;
  std::uint32_t n_samples() const { return payload_bytes * 8 / (n_bit << log2_chan) / (complex ? 2 : 1); }
};

/// The code of component `part` of a sample: anything, but known.
std::uint32_t code_of(std::uint32_t thread, std::uint64_t sample, std::uint32_t part, unsigned n_bit) {
  std::uint64_t hash = (thread * 77 + part + 1) * 0x9E3779B97F4A7C15u + sample * 0xC2B2AE3D27D4EB4Fu;
  hash ^= hash >> 33;
  return static_cast<std::uint32_t>(hash & ((1u << n_bit) - 1));
}

std::string vdif_frame(const VdifFormat& f, std::uint32_t thread, std::uint32_t second, std::uint32_t frame,
                       std::uint32_t per_second, bool invalid = false) {
  const std::uint32_t n_parts = (1u << f.log2_chan) * (f.complex ? 2 : 1), header = f.legacy ? 16 : 32;
  std::string bytes =
      little((invalid ? 1u << 31 : 0) | (f.legacy ? 1u << 30 : 0) | second) + little(28u << 24 | frame) +
      little(f.log2_chan << 24 | (f.payload_bytes + header) / 8) +
      little((f.complex ? 1u << 31 : 0) | (f.n_bit - 1) << 26 | thread << 16 | ('A' | 'p' << 8));
  if (!f.legacy) bytes += little(f.extended) + little(0) + little(0) + little(0);
  std::vector<std::uint32_t> words(f.payload_bytes / 4);
  std::size_t bit = 0;
  for (std::uint32_t t = 0; t < f.n_samples(); ++t)
    for (std::uint32_t part = 0; part < n_parts; ++part, bit += f.n_bit) {
      const std::uint64_t sample = (std::uint64_t{second} * per_second + frame) * f.n_samples() + t;
      words[bit / 32] |= code_of(thread, sample, part, f.n_bit) << bit % 32;
    }
  for (std::uint32_t word : words) bytes += little(word);
  return bytes;
}

int level(std::uint32_t code, unsigned n_bit) {
  if (n_bit == 1) return code == 0 ? -1 : 1;
  if (n_bit == 2) return code == 0 ? -10 : code == 1 ? -3 : code == 2 ? 3 : 10;
  return static_cast<int>(code) - (1 << (n_bit - 1));
}

CaptureRequest vdif_request(const std::vector<std::string>& inputs, const VdifFormat& f,
                            std::uint32_t per_second) {
  CaptureRequest request = support::request("vdif", inputs);
  request.facts.freq_hz = 1e9;
  request.facts.n_pol = 2;
  request.facts.bandwidth_hz = 1e6;
  request.facts.sample_s = 1.0 / (per_second * f.n_samples());
  return request;
}

constexpr std::uint32_t kSecond = 14363767, kPerSecond = 50;

/// Two antennas of two polarisations in threads 0, 3, 5, 9; frames 30 .. 89 of which `lost` are missing.
std::vector<std::uint8_t> expected_vdif(const VdifFormat& f,
                                        const std::vector<std::pair<std::size_t, std::uint32_t>>& lost) {
  const std::uint32_t threads[] = {0, 3, 5, 9}, n_parts = (1u << f.log2_chan) * (f.complex ? 2 : 1);
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t frame = 30; frame < 90; ++frame)
    for (std::uint32_t t = 0; t < f.n_samples(); ++t)
      for (std::size_t input = 0; input < 4; ++input)
        for (std::uint32_t part = 0; part < n_parts; ++part) {
          const bool missing = std::any_of(lost.begin(), lost.end(), [&](const auto& one) {
            return one.first / 2 == input / 2 && one.second == frame;
          });
          const std::uint64_t sample = (std::uint64_t{kSecond} * kPerSecond + frame) * f.n_samples() + t;
          const int value = missing ? 0 : level(code_of(threads[input], sample, part, f.n_bit), f.n_bit);
          bytes.push_back(static_cast<std::uint8_t>(value));
          if (f.n_bit == 16) bytes.push_back(static_cast<std::uint8_t>(value >> 8));
        }
  return bytes;
}

std::vector<std::string> vdif_frames(const VdifFormat& f) {
  std::vector<std::string> frames;
  for (std::uint32_t frame = 30; frame < 90; ++frame)
    for (std::uint32_t thread : {5u, 0u, 9u, 3u})
      frames.push_back(vdif_frame(f, thread, kSecond + frame / kPerSecond, frame % kPerSecond, kPerSecond));
  return frames;
}

std::string joined(const std::vector<std::string>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::string());
}

}  // namespace

BOOST_AUTO_TEST_CASE(vdif_of_every_kind_is_unpacked) {
  const reference::Scratch scratch;
  for (const unsigned n_bit : {1u, 2u, 4u, 8u, 16u})
    for (const bool complex : {false, true})
      for (const bool legacy : {false, true})
        for (const unsigned log2_chan : {0u, 2u}) {
          const VdifFormat f{n_bit, log2_chan, complex, legacy};
          const Taken taken = take(vdif_request({scratch.file("v", joined(vdif_frames(f)))}, f, kPerSecond));
          BOOST_TEST((taken.bytes == expected_vdif(f, {})));
          BOOST_TEST(taken.header.n_ant == 2u);
          BOOST_TEST(taken.header.n_chan == 1u << log2_chan);
          BOOST_TEST(taken.header.n_dim == (complex ? 2u : 1u));
          BOOST_TEST(taken.header.telescope == "Ap");
          BOOST_TEST(taken.header.missing_samples == f.n_samples());
          // 2014-01-01 (epoch 28), 166 days 5 h 56 min 7 s later, and 30 frames.
          BOOST_TEST((taken.header.start == parse_utc("2014-06-16T05:56:07.6")));
          BOOST_TEST(taken.reports[0].intact == 240u);
          BOOST_TEST(!taken.reports[0].troubled());
        }
}

BOOST_AUTO_TEST_CASE(vdif_frames_lost_invalid_or_damaged_are_missing) {
  const reference::Scratch scratch;
  const VdifFormat f;
  std::vector<std::string> frames = vdif_frames(f);
  // Frame 40 of thread 5 comes three frames late, 45 of thread 0 is lost, 50 of thread 9 invalid, 60 of
  // thread 3 twice; frame 55 of thread 5 is cut, junk stands before frame 70 of thread 0.
  const auto at = [](std::uint32_t frame, std::size_t place) { return (frame - 30) * 4 + place; };
  frames[at(60, 3)] += frames[at(60, 3)];
  frames[at(55, 0)].resize(50);
  frames[at(70, 1)] = "some junk!!!" + frames[at(70, 1)];
  frames[at(50, 2)] = vdif_frame(f, 9, kSecond + 1, 0, kPerSecond, true);
  frames[at(45, 1)].clear();
  std::swap(frames[at(40, 0)], frames[at(43, 1)]);
  const Taken taken = take(vdif_request({scratch.file("v", joined(frames))}, f, kPerSecond));
  // Inputs 0, 1 are threads 0, 3; inputs 2, 3 threads 5, 9.
  BOOST_TEST((taken.bytes == expected_vdif(f, {{0, 45}, {3, 50}, {2, 55}})));
  const StreamReport& report = taken.reports[0];
  BOOST_TEST(report.intact == 237u);
  BOOST_TEST(report.damaged == 2u);
  BOOST_TEST(report.lost == 1u);
  BOOST_TEST(report.repeated == 1u);
  BOOST_TEST(report.skipped_bytes == 12u);

  // Each thread in a file of its own.
  std::vector<std::string> names;
  for (std::uint32_t thread : {0u, 3u, 5u, 9u}) {
    std::string bytes;
    for (std::uint32_t frame = 30; frame < 90; ++frame)
      bytes += vdif_frame(f, thread, kSecond + frame / kPerSecond, frame % kPerSecond, kPerSecond);
    names.push_back(scratch.file("t" + std::to_string(thread), bytes));
  }
  BOOST_TEST((take(vdif_request(names, f, kPerSecond)).bytes == expected_vdif(f, {})));
}

BOOST_AUTO_TEST_CASE(vdif_counts_leap_seconds) {
  // 514629935 s after 2000 there had been four: 2016-04-22 08:45:31, not 35. The fourth began 489024003 s
  // after 2000.
  const reference::Scratch scratch;
  const VdifFormat f;
  for (const auto& [second, utc] : {std::pair{514629935u, "2016-04-22T08:45:31"},
                                    {489024002u, "2015-06-30T23:59:59"},
                                    {489024004u, "2015-07-01T00:00:00"}}) {
    std::string bytes;
    for (std::uint32_t frame = 0; frame < 4; ++frame) bytes += vdif_frame(f, 0, second, frame, kPerSecond);
    for (std::size_t at = 7; at < bytes.size(); at += bytes.size() / 4) bytes[at] = 0;  // reference epoch 0
    CaptureRequest request = vdif_request({scratch.file("v", bytes)}, f, kPerSecond);
    request.facts.n_pol = 1;
    BOOST_TEST((take(request).header.start == parse_utc(utc)));
  }
}

BOOST_AUTO_TEST_CASE(vdif_asks_for_what_it_lacks) {
  const reference::Scratch scratch;
  VdifFormat f;
  // Extended data 3 tell a bandwidth, in kHz or, with bit 23, in MHz: 256 real samples in a frame.
  CaptureRequest request;
  for (const auto& [rate, bandwidth_hz, per_second] :
       {std::tuple{1u << 23 | 6, 6e6, 46875u}, {6400u, 6.4e6, 50000u}}) {
    f.extended = 3u << 24 | rate;
    std::string bytes;
    for (std::uint32_t frame = 0; frame < 20; ++frame) bytes += vdif_frame(f, 1, kSecond, frame, per_second);
    request = vdif_request({scratch.file("v", bytes)}, f, per_second);
    request.facts.n_pol = 0;  // one thread is one polarisation
    request.facts.sample_s = request.facts.bandwidth_hz = NAN;
    const Taken taken = take(request);
    BOOST_TEST(taken.header.bandwidth_hz == bandwidth_hz);
    BOOST_TEST(1 / taken.header.sample_s == 2 * bandwidth_hz, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(taken.header.n_pol == 1u);
  }
  request.facts.freq_hz = NAN;
  BOOST_CHECK_THROW(take(request), UsageError);
  const std::string many = scratch.file("m", joined(vdif_frames({})));
  request = vdif_request({many}, {}, kPerSecond);
  request.facts.n_pol = 0;
  BOOST_CHECK_THROW(take(request), UsageError);
  request = vdif_request({many}, {}, kPerSecond);
  request.facts.sample_s *= 1.01;
  BOOST_CHECK_THROW(take(request), UsageError);
  for (const std::string& wrong : {std::string(), std::string(20, 'x'), std::string(1000, '\0')})
    BOOST_CHECK_THROW(take(vdif_request({scratch.file("w", wrong)}, {}, kPerSecond)), DataError);
}

BOOST_AUTO_TEST_CASE(vdif_times_far_away_are_damage_or_long_pauses) {
  const reference::Scratch scratch;
  const VdifFormat f;
  const std::vector<std::string> frames = vdif_frames(f);
  // One frame with a damaged time is damaged.
  std::vector<std::string> damaged = frames;
  damaged[80][2] = static_cast<char>(damaged[80][2] ^ 0x40);
  const Taken taken = take(vdif_request({scratch.file("v", joined(damaged))}, f, kPerSecond));
  BOOST_TEST((taken.bytes == expected_vdif(f, {{2, 50}})));
  BOOST_TEST(taken.reports[0].damaged == 1u);
  BOOST_TEST(*taken.reports[0].first_trouble_frame == 80u);
  // A recording that goes on after 1000 s: told, or filled when asked for.
  std::string paused = joined(frames);
  for (std::uint32_t frame = 0; frame < 10; ++frame)
    for (std::uint32_t thread : {5u, 0u, 9u, 3u})
      paused += vdif_frame(f, thread, kSecond + 1001, frame, kPerSecond);
  CaptureRequest request = vdif_request({scratch.file("p", paused)}, f, kPerSecond);
  BOOST_CHECK_EXCEPTION(take(request), DataError, [&](const DataError& error) {
    return std::string(error.what()).find("frame 240 at byte 23040") != std::string::npos;
  });
  request.facts.max_gap_s = 1100;
  BOOST_TEST(take(request).reports[0].intact == 280u);
  BOOST_TEST(take(request).bytes.size() == (1001 * 50 + 10 - 30) * 4u * f.n_samples());
  // Invalid frames may tell any time: three that agree are damage, and no pause.
  std::vector<std::string> invalid = frames;
  for (std::size_t i : {80, 81, 82}) invalid[i] = vdif_frame(f, 9, kSecond + 5000, 0, kPerSecond, true);
  const Taken marked = take(vdif_request({scratch.file("i", joined(invalid))}, f, kPerSecond));
  BOOST_TEST(marked.reports[0].damaged == 3u);
  BOOST_TEST(marked.reports[0].intact == 237u);
  // Junk before the first frame.
  const Taken late =
      take(vdif_request({scratch.file("j", std::string(1234, 'j') + joined(frames))}, f, kPerSecond));
  BOOST_TEST((late.bytes == expected_vdif(f, {})));
  BOOST_TEST(late.reports[0].skipped_bytes == 1234u);
  // Junk that tells of long frames, and has another header where the first would end.
  VdifFormat longer;
  longer.payload_bytes = 2u << 20;
  longer.legacy = true;
  const std::string tells = vdif_frame(longer, 0, kSecond, 0, kPerSecond).substr(0, 16);
  std::string between = joined(frames);
  between.resize(longer.payload_bytes, 'j');
  const Taken found =
      take(vdif_request({scratch.file("l", "j" + tells + between + tells + between)}, f, kPerSecond));
  BOOST_TEST((found.bytes == expected_vdif(f, {})));
}

BOOST_AUTO_TEST_CASE(vdif_inputs_are_aligned) {
  const reference::Scratch scratch;
  const VdifFormat f;
  std::vector<std::string> names;
  std::vector<std::pair<std::size_t, std::uint32_t>> lost;
  // Thread 3 begins five frames late, thread 9 ends two early.
  for (std::uint32_t thread : {0u, 3u, 5u, 9u}) {
    std::string bytes;
    for (std::uint32_t frame = 30; frame < 90; ++frame) {
      if ((thread == 3 && frame < 35) || (thread == 9 && frame >= 88))
        lost.emplace_back(thread == 3 ? 1 : 3, frame);
      else
        bytes += vdif_frame(f, thread, kSecond + frame / kPerSecond, frame % kPerSecond, kPerSecond);
    }
    names.push_back(scratch.file("t" + std::to_string(thread), bytes));
  }
  const Taken taken = take(vdif_request(names, f, kPerSecond));
  BOOST_TEST((taken.bytes == expected_vdif(f, lost)));
  BOOST_TEST((taken.header.start == parse_utc("2014-06-16T05:56:07.6")));
  BOOST_TEST(taken.reports[1].lost == 5u);
  BOOST_TEST(taken.reports[3].lost == 2u);
  BOOST_TEST(!taken.reports[2].troubled());
}

BOOST_AUTO_TEST_SUITE_END()
