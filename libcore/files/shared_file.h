// SPDX-License-Identifier: GPL-3.0-or-later
// Writing into one file from many threads, faster than one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <string>

namespace apsyn {

/// write() and pwrite() let one thread at a time into a file, and those that wait turn in circles: 16 threads
/// together write what one writes, in 13 times its processor time. So files in memory (tmpfs), whose pages
/// all threads may fill at the same time, are mapped, unless fewer than four processors write: a mapped page
/// takes twice the processor time of a written one, which need not be cleared first. Of a new file, whose
/// pages are not there, one thread writes at any time, and whoever finds it writing fills mapped pages
/// meanwhile. Other file systems make pages writable under a lock of their own, so that nothing would be
/// gained: there two threads write, and the others sleep until it is their turn (README.md has the figures).
class SharedFile {
 public:
  /// How a file in memory is written: through mappings, by pwrite(), by one thread so while the others fill
  /// mappings, or as fits its pages and the number of processors that the process may use.
  enum class InMemory { as_fits, mapped, written, both };
  /// Of a descriptor that stays the caller's, open for reading and writing, of a file that keeps its size.
  explicit SharedFile(int fd, InMemory in_memory = InMemory::as_fits);
  /// Of bytes [first_byte, first_byte + n) of a file, which ends behind them if it ended before.
  SharedFile(int fd, std::uint64_t first_byte, std::uint64_t n, InMemory in_memory = InMemory::as_fits);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  /// Writes n bytes at `offset`; 0, or the errno of what failed. Any thread; each its own bytes.
  int write(std::uint64_t offset, const void* bytes, std::size_t n);

 private:
  void map(std::uint64_t first_byte, std::uint64_t end);
  std::size_t fill_windows(std::uint64_t offset, const std::byte* bytes, std::size_t n);
  bool fill_window(std::uint64_t offset, const std::byte* bytes, std::size_t n);
  bool fill_new(std::uint64_t offset, const std::byte* bytes, std::size_t n);
  int write_in_turn(std::uint64_t offset, const std::byte* bytes, std::size_t n);
  int write_all(std::uint64_t offset, const std::byte* bytes, std::size_t n);
  bool populate(std::uint64_t first_byte);
  std::byte* address(std::uint64_t offset) const { return mapping_ + (offset - mapped_from_); }

  int fd_;
  std::uint64_t id_;                                ///< of this object, and never of another one
  std::byte* mapping_ = nullptr;                    ///< threads keep a window of it each in memory
  std::uint64_t mapped_from_ = 0, mapped_end_ = 0;  ///< of the file; equal: nothing is mapped
  std::atomic<bool> maps_{false};                   ///< until the system refuses a page
  bool is_new_ = false;                             ///< mapped pages are missing: one thread writes
  std::mutex writes_;                               ///< of that thread
  bool takes_turns_ = false;
  std::counting_semaphore<> turns_{2};
};

}  // namespace apsyn
