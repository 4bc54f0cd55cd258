// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace apsyn {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kBlockBytes = std::size_t{2} << 20;  // a huge page
/// Copied and handed over at a time: large enough for few calls, small enough to be in the cache when it is
/// read.
constexpr std::size_t kPieceBytes = 128u << 10;
/// Shorter pieces are written: each takes a slot of the pipe, which has 16 or 256 of them.
constexpr std::size_t kLeastBytes = 32u << 10;
/// Page faults of a piece: one or none in a huge page, 32 in small ones.
constexpr long kMostFaults = 8;

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

long faults_of_this_thread() {
  rusage usage{};
  return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

}  // namespace

void enlarge_pipe(int fd) {
  if (!is_pipe(fd)) return;
  const int now = ::fcntl(fd, F_GETPIPE_SZ);
  for (int bytes = kPipeBytes; now > 0 && bytes > now; bytes /= 2)
    if (::fcntl(fd, F_SETPIPE_SZ, bytes) >= 0) return;
}

void wait_until_ready(int fd, short events) {
  pollfd state{fd, events, 0};
  (void)::poll(&state, 1, -1);
}

PipePages::PipePages(int fd) : fd_(fd), usable_(is_pipe(fd)) {
  enlarge_pipe(fd);
}

PipePages::~PipePages() {
  give_up();
}

void PipePages::give_up() {
  usable_ = false;
  if (mapping_ != nullptr) ::munmap(mapping_, 2 * kBlockBytes);
  mapping_ = block_ = nullptr;
}

bool PipePages::begin_block() {
  if (mapping_ == nullptr) {
    void* const room =
        ::mmap(nullptr, 2 * kBlockBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    mapping_ = static_cast<char*>(room);
  }
  const auto at = (reinterpret_cast<std::uintptr_t>(mapping_) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  // Takes the place of the block before, whose pages are from now on only those of whoever reads them.
  void* const block = ::mmap(reinterpret_cast<void*>(at), kBlockBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (block == MAP_FAILED || ::madvise(block, kBlockBytes, MADV_HUGEPAGE) != 0) return false;
  block_ = static_cast<char*>(block);
  used_ = 0;
  return true;
}

ssize_t PipePages::write(const void* bytes, std::size_t n_bytes) {
  if (!usable_ || n_bytes < kLeastBytes) return ::write(fd_, bytes, n_bytes);
  if ((block_ == nullptr || used_ == kBlockBytes) && !begin_block()) {
    give_up();
    return ::write(fd_, bytes, n_bytes);
  }
  const std::size_t n = std::min({n_bytes, kPieceBytes, kBlockBytes - used_});
  const long faults = faults_of_this_thread();
  std::memcpy(block_ + used_, bytes, n);
  const bool small_pages = faults_of_this_thread() - faults > kMostFaults;
  iovec piece{block_ + used_, n};
  const ssize_t taken = ::vmsplice(fd_, &piece, 1, 0);
  const int error = errno;
  if (taken > 0) used_ += static_cast<std::size_t>(taken);
  const bool refused = taken < 0 && error != EINTR && error != EAGAIN && error != EPIPE;
  if (small_pages || refused) give_up();
  if (refused) return ::write(fd_, bytes, n_bytes);
  errno = error;
  return taken;
}

}  // namespace apsyn
