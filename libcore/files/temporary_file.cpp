// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "libcore/base/error.h"

namespace apsyn {

TemporaryFile::TemporaryFile(const std::string& folder) : folder_(folder) {
  std::error_code error;
  const std::filesystem::path place =
      folder.empty() ? std::filesystem::temp_directory_path(error) : std::filesystem::path(folder);
#ifdef O_TMPFILE
  fd_ = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
#endif
  // Not every file system has files that never had a name.
  std::string name = place / ".apsyn.XXXXXX";
  fd_ = ::mkstemp(name.data());
  if (fd_ < 0) fail("cannot create");
  ::unlink(name.c_str());
}

void TemporaryFile::fail(const char* what) const {
  const char* reason = std::strerror(errno);
  if (folder_.empty())
    throw FailureError("temporary file: {}: {}: set TMPDIR to a folder with space", what, reason);
  throw FailureError("temporary file in {}: {}: {}: it needs space there", folder_, what, reason);
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
