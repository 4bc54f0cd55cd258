// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/rank_channel.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <thread>
#include <vector>

using namespace apsyn;

namespace {

struct Memory {
  std::byte* bytes =
      static_cast<std::byte*>(::operator new (RankChannel::memory_bytes(), std::align_val_t{64}));
  Memory() { std::fill_n(bytes, RankChannel::memory_bytes(), std::byte{0xA5}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::operator delete (bytes, std::align_val_t{64}); }
};

/// Bytes that differ from message to message and from part to part.
std::vector<std::byte> message(std::size_t n, std::uint64_t seed) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    bytes[i] = static_cast<std::byte>(seed >> 56);
  }
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rank_channel)

// Several messages, shorter and longer than a part and than all parts, to receivers of different speed.
BOOST_AUTO_TEST_CASE(every_receiver_gets_every_byte_in_order) {
  const std::size_t part = RankChannel::kPartBytes;
  const std::vector<std::size_t> sizes{1, part - 1, part, 3 * part + 5, RankChannel::kParts * part + 12345};
  for (const std::size_t n_receivers : {1u, 3u}) {
    Memory memory;
    RankChannel sender(memory.bytes, n_receivers, 2);
    sender.begin();
    std::vector<std::vector<std::vector<std::byte>>> got(n_receivers);
    std::vector<std::thread> receivers;
    for (std::size_t receiver = 0; receiver < n_receivers; ++receiver)
      receivers.emplace_back([&, receiver] {
        const RankChannel own(memory.bytes, n_receivers, 1);
        for (const std::size_t n : sizes) {
          std::vector<std::byte>& bytes = got[receiver].emplace_back(n, std::byte{0x5A});
          if (receiver == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          own.receive(receiver, std::span(bytes));
        }
      });
    for (std::size_t i = 0; i < sizes.size(); ++i) sender.send(message(sizes[i], i));
    for (std::thread& receiver : receivers) receiver.join();
    for (std::size_t receiver = 0; receiver < n_receivers; ++receiver)
      for (std::size_t i = 0; i < sizes.size(); ++i)
        BOOST_TEST((got[receiver][i] == message(sizes[i], i)),
                   "message " << i << " to receiver " << receiver);
  }
}

// Values of 4 and 8 bytes are never cut.
BOOST_AUTO_TEST_CASE(parts_are_given_at_their_offsets) {
  Memory memory;
  RankChannel channel(memory.bytes, 1, 1);
  channel.begin();
  const std::size_t n = 2 * RankChannel::kPartBytes + 64;
  std::vector<std::size_t> offsets, sizes;
  std::thread receiver([&] {
    channel.receive(0, n, [&](std::size_t offset, std::span<const std::byte> part) {
      offsets.push_back(offset);
      sizes.push_back(part.size());
    });
  });
  channel.send(message(n, 1));
  receiver.join();
  BOOST_TEST(offsets == (std::vector<std::size_t>{0, RankChannel::kPartBytes, 2 * RankChannel::kPartBytes}),
             boost::test_tools::per_element());
  BOOST_TEST(sizes == (std::vector<std::size_t>{RankChannel::kPartBytes, RankChannel::kPartBytes, 64}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
