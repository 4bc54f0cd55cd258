// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/rank_channel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Until `done` says so. Who waits longer than copying a part takes sleeps in between, since other processes
/// may need the core.
template <class Done>
void wait_until(Done done) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (!done())
    if (Clock::now() - begin > std::chrono::milliseconds(2))
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    else
      std::this_thread::yield();
}

}  // namespace

void RankChannel::begin() {
  new (memory_) Counts();
}

RankChannel::Counts& RankChannel::counts() const {
  return *std::launder(reinterpret_cast<Counts*>(memory_));
}

std::byte* RankChannel::part(std::uint64_t number) const {
  return memory_ + sizeof(Counts) + number % kParts * kPartBytes;
}

void RankChannel::copy(const std::byte* from, std::size_t n, std::byte* to) const {
  constexpr std::size_t kPiece = std::size_t{1} << 19;
  parallel_for(n_threads_, (n + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
    const std::size_t first = piece * kPiece;
    std::memcpy(to + first, from + first, std::min(kPiece, n - first));
  });
}

void RankChannel::send(std::span<const std::byte> bytes) const {
  Counts& counts = this->counts();
  for (std::size_t first = 0; first < bytes.size(); first += kPartBytes) {
    const std::uint64_t number = counts.written.load(std::memory_order_relaxed);
    wait_until([&] {
      return std::all_of(counts.read, counts.read + n_receivers_, [&](const Counts::Read& read) {
        return read.parts.load(std::memory_order_acquire) + kParts > number;
      });
    });
    copy(bytes.data() + first, std::min(kPartBytes, bytes.size() - first), part(number));
    counts.written.store(number + 1, std::memory_order_release);
  }
}

void RankChannel::receive(std::size_t receiver, std::size_t n_bytes,
                          const std::function<void(std::size_t, std::span<const std::byte>)>& use) const {
  Counts& counts = this->counts();
  std::atomic<std::uint64_t>& read = counts.read[receiver].parts;
  for (std::size_t first = 0; first < n_bytes; first += kPartBytes) {
    const std::uint64_t number = read.load(std::memory_order_relaxed);
    wait_until([&] { return counts.written.load(std::memory_order_acquire) > number; });
    use(first, {part(number), std::min(kPartBytes, n_bytes - first)});
    read.store(number + 1, std::memory_order_release);
  }
}

void RankChannel::receive(std::size_t receiver, std::span<std::byte> bytes) const {
  receive(receiver, bytes.size(), [&](std::size_t offset, std::span<const std::byte> part) {
    copy(part.data(), part.size(), bytes.data() + offset);
  });
}

}  // namespace apsyn
