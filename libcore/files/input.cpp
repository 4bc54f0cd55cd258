// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/files/pipes.h"
#include "libcore/system/system_error.h"

namespace apsyn {

ByteSource::ByteSource(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  if (path == "-") {
    fd_ = STDIN_FILENO;
  } else {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    own_ = true;
    if (fd_ < 0) throw FailureError("{}: cannot open: {}", name_, system_error_text(errno));
  }
  struct stat status;
  if (::fstat(fd_, &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      if (own_) ::close(fd_);
      throw FailureError("{}: is a folder: name a file", name_);
    }
    if (S_ISREG(status.st_mode)) {
      // A redirected standard input may stand anywhere in its file.
      const off_t at = std::max<off_t>(0, ::lseek(fd_, 0, SEEK_CUR));
      begin_ = static_cast<std::uint64_t>(at);
      size_ = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - at));
    }
    enlarge_pipe(fd_);  // the writer goes on while the reader works
  }
}

ByteSource::~ByteSource() {
  if (own_ && fd_ >= 0) ::close(fd_);
}

void ByteSource::wait_for_data() const {
  pollfd states[] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  while (::poll(states, 2, -1) < 0)
    if (errno != EINTR) throw FailureError("{}: cannot wait for data: {}", name_, std::strerror(errno));
  if (states[1].revents != 0) throw FailureError("{}: reading was stopped at byte {}", name_, offset_);
}

std::size_t ByteSource::read(void* bytes, std::size_t n_bytes) {
  auto* at = static_cast<char*>(bytes);
  std::size_t n_done = 0;
  while (n_done < n_bytes) {
    if (stop_fd_ >= 0) wait_for_data();
    const ssize_t n = ::read(fd_, at + n_done, n_bytes - n_done);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) {
        wait_until_ready(fd_, POLLIN);
        continue;
      }
      throw FailureError("{}: cannot read at byte {}: {}", name_, offset_ + n_done, std::strerror(errno));
    }
    n_done += static_cast<std::size_t>(n);
  }
  offset_ += n_done;
  return n_done;
}

std::size_t ByteSource::read_at(std::uint64_t at, void* bytes, std::size_t n_bytes) const {
  auto* to = static_cast<char*>(bytes);
  std::size_t n_done = 0;
  while (n_done < n_bytes) {
    const auto from = static_cast<off_t>(begin_ + at + n_done);
    const ssize_t n = ::pread(fd_, to + n_done, n_bytes - n_done, from);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      throw FailureError("{}: cannot read at byte {}: {}", name_, at + n_done, std::strerror(errno));
    }
    n_done += static_cast<std::size_t>(n);
  }
  return n_done;
}

void ByteSource::skip(std::uint64_t n_bytes) {
  if (size_) {
    if (n_bytes > *size_ - std::min(*size_, offset_))
      throw DataError("{}: ends at byte {}, {} more were to be skipped", name_, *size_, n_bytes);
    if (::lseek(fd_, static_cast<off_t>(n_bytes), SEEK_CUR) < 0)
      throw FailureError("{}: cannot seek: {}", name_, std::strerror(errno));
    offset_ += n_bytes;
    return;
  }
  std::vector<char> dropped(std::min<std::uint64_t>(n_bytes, 1u << 20));
  while (n_bytes > 0) {
    const std::size_t n = std::min<std::uint64_t>(n_bytes, dropped.size());
    if (read(dropped.data(), n) != n)
      throw DataError("{}: ends at byte {} inside what was to be skipped", name_, offset_);
    n_bytes -= n;
  }
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  ByteSource source(path);
  std::string text;
  std::vector<char> chunk(1 << 16);
  while (std::size_t n = source.read(chunk.data(), chunk.size())) {
    if (text.size() + n > max_bytes)
      throw DataError("{}: is larger than {} bytes: no text file of ours", path, max_bytes);
    text.append(chunk.data(), n);
    if (n < chunk.size()) break;
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // editors put it before UTF-8
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

}  // namespace apsyn
