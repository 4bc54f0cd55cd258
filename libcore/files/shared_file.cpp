// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/shared_file.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "libcore/system/device.h"

namespace apsyn {
namespace {

/// Shorter windows ask the system more often; longer ones leave the cache.
constexpr std::uint64_t kWindowBytes = 2 << 20;

constexpr std::uint64_t kWorthMappingBytes = 4 * kWindowBytes;

/// Of stat::st_blocks.
constexpr std::uint64_t kStatBlockBytes = 512;

/// Fewer threads write sooner than they fill mapped pages.
constexpr unsigned kWorthMappingThreads = 4;

/// Fewer bytes are not worth bringing pages into memory for.
constexpr std::size_t kWorthFillingBytes = 128 << 10;

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulate = MADV_POPULATE_WRITE;
#else
constexpr int kPopulate = 23;  // since Linux 5.14; older systems refuse it
#endif
constexpr long kXfsMagic = 0x58465342;

/// What a thread has in memory of a file: the window that it fills, and the one before it, which others may
/// be filling still.
struct Windows {
  std::uint64_t owner = 0;  ///< SharedFile::id_; 0 = none
  std::optional<std::uint64_t> first_byte{}, former{};
};
/// A thread fills several files in turn, the columns of a set for example.
constexpr std::size_t kFilesAtOnce = 4;
thread_local std::array<Windows, kFilesAtOnce> files_in_memory;
thread_local std::size_t replaced_next = 0;

/// The windows of a file; nullptr where the thread has none of it.
Windows* find_windows(std::uint64_t owner) {
  const auto at = std::find_if(files_in_memory.begin(), files_in_memory.end(),
                               [&](const Windows& windows) { return windows.owner == owner; });
  return at == files_in_memory.end() ? nullptr : &*at;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// Of bytes [first_byte, end) of a file, which ends there at the earliest. Pages set aside by fallocate() are
/// there.
SharedFile::InMemory fitting(const struct stat& file, std::uint64_t first_byte, std::uint64_t end) {
  using enum SharedFile::InMemory;
  if (available_threads() < kWorthMappingThreads) return written;
  const std::uint64_t there = static_cast<std::uint64_t>(file.st_blocks) * kStatBlockBytes;
  return there + (end - first_byte) / 2 < end ? both : mapped;
}

}  // namespace

SharedFile::SharedFile(int fd, InMemory in_memory) : SharedFile(fd, 0, 0, in_memory) {}

SharedFile::SharedFile(int fd, std::uint64_t first_byte, std::uint64_t n, InMemory in_memory)
    : fd_(fd), id_(next_id()) {
  struct statfs system {};
  struct stat file {};
  if (::fstatfs(fd, &system) != 0 || ::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return;
  const long kind = static_cast<long>(system.f_type);
  takes_turns_ = kind == TMPFS_MAGIC || kind == EXT4_SUPER_MAGIC || kind == kXfsMagic;
  const auto bytes = static_cast<std::uint64_t>(file.st_size), end = n == 0 ? bytes : first_byte + n;
  if (kind != TMPFS_MAGIC || end - first_byte < kWorthMappingBytes) return;
  if (in_memory == InMemory::as_fits) in_memory = fitting(file, first_byte, end);
  if (in_memory == InMemory::written) return;
  if (end > bytes && ::ftruncate(fd, static_cast<off_t>(end)) != 0) return;
  is_new_ = in_memory == InMemory::both;
  map(first_byte - first_byte % kWindowBytes, end);
}

void SharedFile::map(std::uint64_t first_byte, std::uint64_t end) {
  void* at = ::mmap(nullptr, end - first_byte, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                    static_cast<off_t>(first_byte));
  if (at == MAP_FAILED) return;
  mapping_ = static_cast<std::byte*>(at);
  mapped_from_ = first_byte;
  mapped_end_ = end;
  maps_ = true;
}

SharedFile::~SharedFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_end_ - mapped_from_);
}

int SharedFile::write(std::uint64_t offset, const void* bytes, std::size_t n) {
  const auto* from = static_cast<const std::byte*>(bytes);
  if (n == 0) return 0;
  if (!maps_.load(std::memory_order_relaxed)) return write_in_turn(offset, from, n);
  if (!is_new_) {
    const std::size_t filled = fill_windows(offset, from, n);
    return filled == n ? 0 : write_in_turn(offset + filled, from + filled, n - filled);
  }
  std::unique_lock lock(writes_, std::try_to_lock);
  if (!lock) {
    if (n >= kWorthFillingBytes && fill_new(offset, from, n)) return 0;
    lock.lock();
  }
  return write_all(offset, from, n);
}

int SharedFile::write_in_turn(std::uint64_t offset, const std::byte* bytes, std::size_t n) {
  if (takes_turns_) turns_.acquire();
  const int error = write_all(offset, bytes, n);
  if (takes_turns_) turns_.release();
  return error;
}

int SharedFile::write_all(std::uint64_t offset, const std::byte* bytes, std::size_t n) {
  while (n > 0) {
    const ssize_t put = ::pwrite(fd_, bytes, n, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return put < 0 ? errno : ENOSPC;
    bytes += put, offset += static_cast<std::uint64_t>(put), n -= static_cast<std::size_t>(put);
  }
  return 0;
}

/// Returns how many of the bytes, from the first one on, are in the file now.
std::size_t SharedFile::fill_windows(std::uint64_t offset, const std::byte* bytes, std::size_t n) {
  std::size_t done = 0;
  while (done < n && offset >= mapped_from_ && offset < mapped_end_) {
    const std::uint64_t in_window = kWindowBytes - offset % kWindowBytes;
    const std::size_t part =
        std::min({static_cast<std::uint64_t>(n - done), in_window, mapped_end_ - offset});
    if (!maps_.load(std::memory_order_relaxed) || !fill_window(offset, bytes + done, part)) break;
    done += part, offset += part;
  }
  return done;
}

/// Of bytes of one window; false when it is not worth it, or the system does not give its pages.
bool SharedFile::fill_window(std::uint64_t offset, const std::byte* bytes, std::size_t n) {
  const std::uint64_t first_byte = offset - offset % kWindowBytes;
  const Windows* const windows = find_windows(id_);
  const bool is_there = windows != nullptr && windows->first_byte == first_byte;
  if (!is_there && (n < kWorthFillingBytes || !populate(first_byte))) return false;
  std::memcpy(address(offset), bytes, n);
  return true;
}

/// Brings the pages of these bytes into memory, and no others: threads that wanted the same new page would
/// each take one for it, and all but one give it back. Lets go of them afterwards. False when the bytes are
/// not all mapped, or the system does not give a page, which would end the program later.
bool SharedFile::fill_new(std::uint64_t offset, const std::byte* bytes, std::size_t n) {
  if (offset < mapped_from_ || offset + n > mapped_end_) return false;
  static const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t first_byte = offset - offset % page_bytes, n_bytes = offset + n - first_byte;
  if (::madvise(address(first_byte), n_bytes, kPopulate) != 0) {
    maps_ = false;
    return false;
  }
  std::memcpy(address(offset), bytes, n);
  ::madvise(address(first_byte), n_bytes, MADV_DONTNEED);
  return true;
}

/// Brings the pages of a window into memory, all at once, and lets go of the one that the thread filled
/// before the last, which stays in the file. A page that the system cannot provide is an error here, and
/// would end the program later.
bool SharedFile::populate(std::uint64_t first_byte) {
  const auto bytes_of = [&](std::uint64_t first) { return std::min(kWindowBytes, mapped_end_ - first); };
  Windows* windows = find_windows(id_);
  if (windows == nullptr) {
    windows = &files_in_memory[replaced_next++ % kFilesAtOnce];
    *windows = {id_};
  }
  if (windows->former) ::madvise(address(*windows->former), bytes_of(*windows->former), MADV_DONTNEED);
  windows->former = std::exchange(windows->first_byte, std::nullopt);
  if (::madvise(address(first_byte), bytes_of(first_byte), kPopulate) != 0) {
    maps_ = false;
    return false;
  }
  windows->first_byte = first_byte;
  return true;
}

}  // namespace apsyn
