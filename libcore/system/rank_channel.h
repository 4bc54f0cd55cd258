// SPDX-License-Identifier: GPL-3.0-or-later
// Memory through which a process of a machine hands bytes to others: all of its threads copy them in, part by
// part, while those of the others copy the parts before out. A message of MPI is copied by one thread: images
// of a gigabyte took longer to add up than to make. For ranks.cpp, which has the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace apsyn {

class RankChannel {
 public:
  static constexpr std::size_t kMaxReceivers = 64;
  /// A whole number of values of any kind. Few and small parts, since the first touch of a page costs a
  /// virtual machine more than copying it: 1.2 GB/s through new memory, 7 to 9 through the same again.
  static constexpr std::size_t kPartBytes = std::size_t{8} << 20;
  static constexpr std::size_t kParts = 3;

  /// Of a channel. Parts that are never used take no memory.
  static std::size_t memory_bytes() { return sizeof(Counts) + kParts * kPartBytes; }

  /// `memory`, which all of them see, is aligned to 64 bytes. One of them calls begin() before any other
  /// uses the channel.
  RankChannel(std::byte* memory, std::size_t n_receivers, unsigned n_threads)
      : memory_(memory), n_receivers_(n_receivers), n_threads_(n_threads) {}
  void begin();

  /// To all receivers, each of which calls receive() for as many bytes. Returns when all have been copied in.
  void send(std::span<const std::byte> bytes) const;
  /// As receiver 0, 1, ...: calls use(offset, part) for the parts of n_bytes, in their order.
  void receive(std::size_t receiver, std::size_t n_bytes,
               const std::function<void(std::size_t offset, std::span<const std::byte> part)>& use) const;
  /// The same into memory.
  void receive(std::size_t receiver, std::span<std::byte> bytes) const;
  unsigned n_threads() const { return n_threads_; }

 private:
  /// Numbers of parts since the beginning.
  struct Counts {
    alignas(64) std::atomic<std::uint64_t> written;
    struct alignas(64) Read {
      std::atomic<std::uint64_t> parts;
    } read[kMaxReceivers];
  };
  Counts& counts() const;
  std::byte* part(std::uint64_t number) const;
  void copy(const std::byte* from, std::size_t n, std::byte* to) const;

  std::byte* memory_;
  std::size_t n_receivers_;
  unsigned n_threads_;
};

}  // namespace apsyn
