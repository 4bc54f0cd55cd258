// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/temporary_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "libcore/core/error.h"

namespace apsyn {
namespace {

[[noreturn]] void fail(const char* what) {
  throw FailureError("temporary file: {}: {}: set TMPDIR to a folder with space", what, std::strerror(errno));
}

}  // namespace

TemporaryFile::TemporaryFile() {
  std::error_code error;
  std::string name = std::filesystem::temp_directory_path(error) / "apsyn.XXXXXX";
  fd_ = ::mkstemp(name.data());
  if (fd_ < 0) fail("cannot create");
  ::unlink(name.c_str());
}
TemporaryFile::~TemporaryFile() {
  ::close(fd_);
}

void TemporaryFile::write(const void* bytes, std::size_t n_bytes) {
  for (const auto* at = static_cast<const char*>(bytes); n_bytes > 0;) {
    const ssize_t n = ::write(fd_, at, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("cannot write");
    at += n;
    n_bytes -= static_cast<std::size_t>(n);
  }
}

void TemporaryFile::read(void* bytes, std::size_t n_bytes) {
  for (auto* at = static_cast<char*>(bytes); n_bytes > 0;) {
    const ssize_t n = ::read(fd_, at, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("cannot read back");
    at += n;
    n_bytes -= static_cast<std::size_t>(n);
  }
}

void TemporaryFile::seek(std::uint64_t offset) {
  if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) fail("cannot rewind");
}

}  // namespace apsyn
