// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/files/pipes.h"
#include "libcore/files/shared_file.h"

namespace apsyn {

std::string numbered_output(const std::string& option, const std::string& pattern, std::size_t number) {
  const std::size_t percent = std::min(pattern.find('%'), pattern.size());
  std::size_t at = percent + 1, width = 0;
  const bool zeros = at < pattern.size() && pattern[at] == '0';
  for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9' && width < 10; ++at)
    width = width * 10 + static_cast<std::size_t>(pattern[at] - '0');
  if (at >= pattern.size() || pattern[at] != 'd' || width > 9 || (width > 0 && !zeros) ||
      pattern.find('%', at) != std::string::npos)
    throw UsageError("{} {}: a number is written %d or %03d, once", option, pattern);
  return pattern.substr(0, percent) + fmt::format("{:0{}}", number, std::max<std::size_t>(1, width)) +
         pattern.substr(at + 1);
}

void allow_many_outputs() {
  // 16384 beams have two each open, and libraries some; more slows what closes all that there may be.
  constexpr rlim_t kMax = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kMax) return;
  limit.rlim_cur = std::min(limit.rlim_max, kMax);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

OutputFile::OutputFile(const std::string& path, bool overwrite) : path_(path) {
  if (path == "-") {
    check_output(path, overwrite);
    fd_ = STDOUT_FILENO;
    path_ = "standard output";
    pages_ = std::make_unique<PipePages>(fd_);
    return;
  }
  auto pending = std::make_unique<PendingOutput>(path, overwrite);
  fd_ = pending->create_file();
  pending_ = std::move(pending);
}

OutputFile::~OutputFile() {
  if (!pending_) return;
  pending_.reset();  // which holds the part while it removes it
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::write(const void* bytes, std::size_t n_bytes) {
  const auto* at = static_cast<const char*>(bytes);
  while (n_bytes > 0) {
    const ssize_t n = pages_ ? pages_->write(at, n_bytes) : ::write(fd_, at, n_bytes);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        wait_until_ready(fd_, POLLOUT);
        continue;
      }
      if (errno == EPIPE) throw BrokenPipe();
      throw FailureError("{}: cannot write: {}", path_, std::strerror(errno));
    }
    at += n;
    n_bytes -= static_cast<std::size_t>(n);
  }
}

void OutputFile::write_at(std::size_t offset, const void* bytes, std::size_t n_bytes) {
  if (!pending_) throw FailureError("{}: a pipe cannot be rewritten", path_);
  const auto* at = static_cast<const char*>(bytes);
  while (n_bytes > 0) {
    const ssize_t n = ::pwrite(fd_, at, n_bytes, static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      throw FailureError("{}: cannot write: {}", path_, std::strerror(errno));
    }
    at += n;
    offset += static_cast<std::size_t>(n);
    n_bytes -= static_cast<std::size_t>(n);
  }
}

std::unique_ptr<SharedFile> OutputFile::share(std::size_t offset, std::size_t n_bytes) const {
  if (!pending_) throw FailureError("{}: a pipe cannot be rewritten", path_);
  return std::make_unique<SharedFile>(fd_, offset, n_bytes);
}

void OutputFile::write_share(SharedFile& share, std::size_t offset, const void* bytes,
                             std::size_t n_bytes) const {
  if (const int error = share.write(offset, bytes, n_bytes); error != 0)
    throw FailureError("{}: cannot write: {}", path_, std::strerror(error));
}

void OutputFile::commit() {
  if (!pending_) return;  // write() has already handed every byte to the kernel
  pending_->commit();     // with fsync, which tells what close() would
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) throw FailureError("{}: cannot write: {}", path_, std::strerror(errno));
}

}  // namespace apsyn
