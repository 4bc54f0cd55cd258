// SPDX-License-Identifier: GPL-3.0-or-later
// Recordings in packets (TBF, TBX, CHIPS, TBN, DRX, BEST-2), written byte by byte: samples exactly; every
// packet that is lost or damaged is counted and missing, and nothing else is.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "tests/reference/scratch.h"
#include "tests/support/packet_captures.h"

using namespace apsyn;
using reference::PacketRecording;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(packets)

BOOST_AUTO_TEST_CASE(intact_recordings_are_taken_whole) {
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

BOOST_AUTO_TEST_CASE(whole_packets_survive_a_cut_anywhere) {
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

BOOST_AUTO_TEST_SUITE_END()
