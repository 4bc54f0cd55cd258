// SPDX-License-Identifier: GPL-3.0-or-later
// Pipes between programs: more room in them, waiting for them, and writing without the kernel's copy.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace apsyn {

/// Gives the pipe `fd` room for 1 MiB, or as much of that as the system allows; more would leave the cache
/// before it is read. Leaves what is no pipe, or has as much already, as it is.
void enlarge_pipe(int fd);

/// Waits until a descriptor that somebody has made non-blocking can be read or written (POLLIN, POLLOUT).
/// Returns at once on errors, which the next call tells.
void wait_until_ready(int fd, short events);

/// Writes to a pipe by handing over pages (vmsplice): writer and reader copy at the same time, where write()
/// lets one wait for the other, and the kernel allocates no pages of its own.
///
/// Whoever reads may keep references to the pages as long as he likes: tee and splice hand them on to further
/// pipes and sockets, and nothing tells the writer when the last one has gone. So each byte of a page is
/// written once, before it is handed over, and never again: bytes are copied into fresh huge pages, which are
/// unmapped when they are full and freed by the kernel with the last reference. Without huge pages fresh
/// memory costs more than write() does, which then takes over, as it does for short pieces and where the
/// system knows no vmsplice.
class PipePages {
 public:
  /// `fd` stays the caller's. What is no pipe is written by write().
  explicit PipePages(int fd);
  ~PipePages();
  PipePages(const PipePages&) = delete;
  PipePages& operator=(const PipePages&) = delete;

  /// As write(): the number of bytes taken, fewer than n_bytes perhaps, or -1 and errno. One thread at a
  /// time.
  ssize_t write(const void* bytes, std::size_t n_bytes);
  /// Whether pages have been handed over, and still are.
  bool hands_over() const { return block_ != nullptr; }

 private:
  bool begin_block();
  void give_up();

  int fd_;
  bool usable_ = false;
  char* mapping_ = nullptr;  // room for a block wherever it begins
  char* block_ = nullptr;    // the huge page at work
  std::size_t used_ = 0;     // of it, handed over
};

}  // namespace apsyn
