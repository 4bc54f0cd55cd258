// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in packets (TBF, TBX, CHIPS, TBN, DRX, BEST-2), written byte by byte: samples exactly; every
// packet that is lost or damaged is counted and missing, and nothing else is.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <set>

#include "libcore/core/error.h"
#include "libcore/io/capture/capture.h"
#include "tests/reference/packet_recordings.h"
#include "tests/reference/scratch.h"
#include "tests/support/captured.h"

using namespace apsyn;
using reference::PacketRecording;
using support::Taken, support::take;

namespace {

CaptureRequest request_for(const PacketRecording& r, const std::vector<std::string>& inputs) {
  CaptureRequest request;
  request.format = r.format;
  request.inputs = inputs;
  if (!r.tells_start) request.facts.start = parse_utc(r.start);
  if (!r.tells_freq) request.facts.freq_hz = r.freq_hz;
  return request;
}

using Packets = std::vector<std::string>;  ///< [time][lane]

Packets packets_of(const PacketRecording& r, std::size_t n_time) {
  Packets packets;
  for (std::size_t time = 0; time < n_time; ++time)
    for (std::size_t lane = 0; lane < r.n_lanes; ++lane) packets.push_back(r.packet(lane, time));
  return packets;
}

std::string joined(const Packets& packets) {
  std::string bytes;
  for (const std::string& packet : packets) bytes += packet;
  return bytes;
}

using Missing = std::set<std::pair<std::size_t, std::size_t>>;  ///< (lane, time)

std::vector<std::uint8_t> expected_bytes(const PacketRecording& r, std::size_t n_time,
                                         const Missing& missing) {
  std::vector<std::uint8_t> bytes(n_time * r.packet_samples * r.time_bytes);
  for (std::size_t sample = 0; sample < n_time * r.packet_samples; ++sample)
    for (std::size_t byte = 0; byte < r.time_bytes; ++byte)
      bytes[sample * r.time_bytes + byte] = r.output(sample, byte);
  for (const auto& [lane, time] : missing)
    for (std::size_t t = 0; t < r.packet_samples; ++t)
      for (std::size_t byte = 0; byte < r.time_bytes; ++byte)
        if (r.blanked(lane, byte)) bytes[(time * r.packet_samples + t) * r.time_bytes + byte] = 0;
  return bytes;
}

void check_header(const PacketRecording& r, const VoltageHeader& h) {
  const auto tight = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(h.n_ant == r.n_ant);
  BOOST_TEST(h.n_chan == r.n_chan);
  BOOST_TEST(h.n_bit == r.n_bit);
  BOOST_TEST(h.n_pol == r.time_bytes * 8 / (2 * r.n_bit * r.n_chan * r.n_ant));
  BOOST_TEST(h.freq_hz == r.freq_hz, tight);
  BOOST_TEST(h.bandwidth_hz == r.bandwidth_hz, tight);
  BOOST_TEST(h.sample_s == r.sample_s, tight);
  BOOST_TEST(h.missing_samples == r.packet_samples);
  BOOST_TEST((h.start == parse_utc(r.start)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(intact_recordings) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      const std::string bytes = joined(packets_of(r, 10));
      const Taken taken = take(request_for(r, {scratch.file("a", bytes)}));
      check_header(r, taken.header);
      BOOST_TEST((taken.bytes == expected_bytes(r, 10, {})));
      BOOST_TEST(taken.reports[0].intact == 10 * r.n_lanes);
      BOOST_TEST(!taken.reports[0].troubled());
      BOOST_TEST(!taken.reports[0].first_trouble);
      Taken piped;
      reference::with_stdin(bytes, [&] { piped = take(request_for(r, {"-"})); });
      BOOST_TEST((piped.bytes == taken.bytes));
    }
  }
}

BOOST_AUTO_TEST_CASE(every_trouble_is_counted_and_missing) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      constexpr std::size_t n_time = 60;
      Packets packets = packets_of(r, n_time);
      const auto at = [&](std::size_t lane, std::size_t time) -> std::string& {
        return packets[time * r.n_lanes + lane];
      };
      const std::size_t last = r.n_lanes - 1;
      at(0, 12).clear();                             // lost
      std::swap(at(0, 15), at(last, 17));            // late
      at(last, 20) += at(last, 20);                  // twice
      at(0, 25).resize(r.packet_bytes - 7);          // bytes missing
      at(last, 30)[r.time_at] ^= 0x40;               // an impossible time, or that of another packet
      at(0, 35)[r.time_at - 3] ^= 0x10;              // a time far away
      at(0, 40) = std::string(13, 'j') + at(0, 40);  // junk between packets
      if (r.has_sync) at(last, 45)[1] ^= 4;          // damaged sync word
      for (std::size_t lane = 0; lane < r.n_lanes; ++lane) at(lane, 50).clear();  // all of them lost
      const Taken taken = take(request_for(r, {scratch.file("a", joined(packets))}));
      Missing missing{{0, 12}, {0, 25}, {last, 30}, {0, 35}};
      if (r.has_sync) missing.insert({last, 45});
      for (std::size_t lane = 0; lane < r.n_lanes; ++lane) missing.insert({lane, 50});
      BOOST_TEST((taken.bytes == expected_bytes(r, n_time, missing)));
      const StreamReport& report = taken.reports[0];
      BOOST_TEST(report.intact == n_time * r.n_lanes - missing.size());
      BOOST_TEST(report.lost + report.damaged == missing.size());
      BOOST_TEST(report.damaged == 3u);
      BOOST_TEST(report.repeated == 1u);
      BOOST_TEST(report.skipped_bytes == 13 + (r.has_sync ? r.packet_bytes : 0));
      BOOST_TEST(*report.first_trouble_frame == 13 * r.n_lanes - 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(cut_anywhere) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      const std::string whole = joined(packets_of(r, 3));
      std::mt19937 random(3);
      std::set<std::size_t> cuts;
      for (std::size_t i = 0; i <= r.header_bytes; ++i) {
        cuts.insert(i);
        cuts.insert(2 * r.n_lanes * r.packet_bytes + i);
      }
      for (int i = 0; i < 40; ++i) cuts.insert(random() % whole.size());
      for (const std::size_t size : cuts) {
        const CaptureRequest request = request_for(r, {scratch.file("a", whole.substr(0, size))});
        const std::size_t n_whole = size / r.packet_bytes, rest = size % r.packet_bytes;
        try {
          const Taken taken = take(request);
          // TBN tells its rate in a key's second frame only.
          BOOST_TEST(n_whole > 0);
          BOOST_TEST(taken.reports[0].intact == n_whole);
          if (rest > 0) {
            BOOST_TEST(taken.reports[0].damaged + taken.reports[0].skipped_bytes > 0u);
            BOOST_TEST(*taken.reports[0].first_trouble <= n_whole * r.packet_bytes);
          }
        } catch (const DataError& error) {
          BOOST_TEST(n_whole == 0);
          BOOST_TEST(std::string(error.what()).find("byte") != std::string::npos);
        } catch (const UsageError& error) {
          BOOST_TEST(r.format == "tbn");
          BOOST_TEST(n_whole <= r.n_lanes);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_damage_ends_in_data_or_a_message) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      constexpr std::size_t n_time = 6;
      const std::string whole = joined(packets_of(r, n_time));
      std::mt19937 random(4);
      for (int i = 0; i < 60; ++i) {
        std::string bytes = whole;
        for (std::size_t n = 1 + random() % (i < 40 || !r.has_sync ? 5 : 300); n > 0; --n) {
          // Headers above all.
          const std::size_t at = random() % (bytes.size() / r.packet_bytes) * r.packet_bytes +
                                 random() % (random() % 4 == 0 ? r.packet_bytes : r.header_bytes);
          switch (random() % 4) {
            case 0:
              bytes.erase(at, random() % 20);
              break;
            case 1:
              bytes.insert(at, random() % 20, static_cast<char>(random()));
              break;
            default:
              bytes[at] = static_cast<char>(random());
          }
        }
        try {
          const Taken taken = take(request_for(r, {scratch.file("a", bytes)}));
          BOOST_TEST(taken.bytes.size() % taken.header.unit_bytes() == 0u);
        } catch (const Error& error) {
          BOOST_TEST((error.status() == ExitStatus::malformed || error.status() == ExitStatus::usage));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(several_inputs_are_aligned) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      // Lane 0 in an input of its own, which begins five packets late and ends early.
      std::string own, others;
      Missing missing;
      for (std::size_t time = 0; time < 20; ++time) {
        for (std::size_t lane = 1; lane < r.n_lanes; ++lane) others += r.packet(lane, time);
        if (time >= 5 && time < 18)
          own += r.packet(0, time);
        else
          missing.insert({0, time});
      }
      const std::string a = scratch.file("a", own), b = scratch.file("b", others);
      const Taken taken = take(request_for(r, {a, b}));
      check_header(r, taken.header);
      BOOST_TEST((taken.bytes == expected_bytes(r, 20, missing)));
      BOOST_TEST(taken.reports[0].intact == 13u);
      BOOST_TEST(taken.reports[0].lost == 7u);
      BOOST_TEST(!taken.reports[1].troubled());
      BOOST_CHECK_THROW(take(request_for(r, {a, b, a})), UsageError);
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_in_another_order) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    if (r.format == "drx") continue;
    BOOST_TEST_CONTEXT(r.format) {
      const std::size_t sample_bytes = r.n_bit / 4, n_inputs = r.time_bytes / sample_bytes / r.n_chan;
      CaptureRequest request = request_for(r, {scratch.file("a", joined(packets_of(r, 4)))});
      for (std::size_t input = 0; input < n_inputs; ++input)
        request.facts.input_order.push_back(n_inputs - 1 - input);
      const Taken taken = take(request);
      BOOST_REQUIRE(taken.bytes.size() == 4 * r.packet_samples * r.time_bytes);
      bool same = true;
      for (std::size_t i = 0; i < taken.bytes.size(); ++i) {
        const std::size_t byte = i % r.time_bytes, cell = byte / sample_bytes;
        const std::size_t input = n_inputs - 1 - cell % n_inputs;
        const std::size_t from = (cell / n_inputs * n_inputs + input) * sample_bytes + byte % sample_bytes;
        same &= taken.bytes[i] == r.output(i / r.time_bytes, from);
      }
      BOOST_TEST(same);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_recording) {
  const reference::Scratch scratch;
  // Channels of TBX: groups of 5 from 1000 on.
  const PacketRecording tbx = reference::packet_recordings()[1];
  const std::string name = scratch.file("a", joined(packets_of(tbx, 6)));
  CaptureRequest request = request_for(tbx, {name});
  request.facts.first_channel = 1005;
  request.facts.n_chan = 10;
  const Taken taken = take(request);
  BOOST_TEST(taken.header.freq_hz == 1009.5 * 25e3, boost::test_tools::tolerance(1e-12));
  BOOST_REQUIRE(taken.bytes.size() == 6u * 10 * 16);
  for (std::size_t i = 0; i < taken.bytes.size(); ++i)
    BOOST_REQUIRE(taken.bytes[i] == tbx.output(i / 160, 5 * 16 + i % 160));
  BOOST_TEST(taken.reports[0].intact == 12u);
  BOOST_TEST(!taken.reports[0].troubled());
  for (const auto& [first, n] : {std::pair{1001, 5}, {1005, 7}, {1015, 10}, {2000, 5}}) {
    request.facts.first_channel = first;
    request.facts.n_chan = static_cast<std::size_t>(n);
    BOOST_CHECK_THROW(take(request), UsageError);
  }
  // A group that is nowhere leaves a hole: the neighbours must be chosen.
  Packets holed;
  for (std::size_t time = 0; time < 6; ++time)
    for (std::size_t lane : {0, 1, 3}) holed.push_back(tbx.packet(lane, time));
  request = request_for(tbx, {scratch.file("h", joined(holed))});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.n_chan = 10;
  BOOST_TEST(take(request).bytes.size() == 6u * 10 * 16);

  // Two tunings of DRX.
  const PacketRecording drx = reference::packet_recordings()[4];
  std::string both;
  for (std::size_t time = 0; time < 6; ++time)
    for (std::size_t lane = 0; lane < 4; ++lane) {
      std::string second = drx.packet(lane, time + 100);
      second[4] = static_cast<char>((second[4] & ~0x38) | 2 << 3);
      second.replace(16, 8, drx.packet(lane, time).substr(16, 8));
      second[24] = 0x40;  // 2^30 / 2^32 of 196 MHz
      both += drx.packet(lane, time) + second;
    }
  request = request_for(drx, {scratch.file("d", both)});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.tuning = 1;
  BOOST_TEST((take(request).bytes == expected_bytes(drx, 6, {})));
  request.facts.tuning = 2;
  const Taken second = take(request);
  BOOST_TEST(second.header.freq_hz == 49e6);
  BOOST_TEST(second.bytes[0] == drx.output(100 * 4096, 0));
  request.facts.tuning = 3;
  BOOST_CHECK_THROW(take(request), UsageError);

  // TBN's rate: the frames', which options must not contradict.
  const PacketRecording tbn = reference::packet_recordings()[3];
  request = request_for(tbn, {scratch.file("t", joined(packets_of(tbn, 1)))});
  BOOST_CHECK_THROW(take(request), UsageError);
  request.facts.sample_s = 1e-5;
  request.facts.bandwidth_hz = 1e5;
  BOOST_TEST((take(request).bytes == expected_bytes(tbn, 1, {})));
  request.inputs = {scratch.file("t", joined(packets_of(tbn, 2)))};
  BOOST_TEST((take(request).bytes == expected_bytes(tbn, 2, {})));
  request.facts.sample_s = 2e-5;
  BOOST_CHECK_THROW(take(request), UsageError);
}

BOOST_AUTO_TEST_CASE(pauses_are_filled_or_told) {
  const reference::Scratch scratch;
  for (const PacketRecording& r : reference::packet_recordings()) {
    BOOST_TEST_CONTEXT(r.format) {
      // A pause of 50 packets after the sixth.
      const std::string head = joined(packets_of(r, 6));
      std::string bytes = head;
      Missing missing;
      for (std::size_t time = 6; time < 60; ++time)
        for (std::size_t lane = 0; lane < r.n_lanes; ++lane) {
          if (time < 56)
            missing.insert({lane, time});
          else
            bytes += r.packet(lane, time);
        }
      const double packet_s = r.sample_s * static_cast<double>(r.packet_samples);
      CaptureRequest request = request_for(r, {scratch.file("a", bytes)});
      BOOST_TEST((take(request).bytes == expected_bytes(r, 60, missing)));
      request.facts.max_gap_s = 40 * packet_s;
      const std::string at =
          "frame " + std::to_string(6 * r.n_lanes) + " at byte " + std::to_string(head.size());
      BOOST_CHECK_EXCEPTION(take(request), DataError, [&](const DataError& error) {
        const std::string text = error.what();
        return text.find(at) != text.npos && text.find("--max-gap") != text.npos;
      });
      // The clock goes back by a hundred packets.
      std::string later;
      for (std::size_t time = 100; time < 106; ++time)
        for (std::size_t lane = 0; lane < r.n_lanes; ++lane) later += r.packet(lane, time);
      request.inputs = {scratch.file("b", later + head)};
      BOOST_CHECK_EXCEPTION(take(request), DataError, [&](const DataError& error) {
        const std::string text = error.what();
        return text.find("byte") != text.npos;
      });
    }
  }
}
