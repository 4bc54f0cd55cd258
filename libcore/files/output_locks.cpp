// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/output_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "libcore/base/error.h"
#include "libcore/system/system_error.h"

namespace apsyn {
namespace {

/// By descriptor; never destroyed, like the list of parts.
std::map<std::filesystem::path, int>& held_folders() {
  static auto* held = new std::map<std::filesystem::path, int>;
  return *held;
}

/// Exclusive locks of folders last for a moment.
void lock_shared(int fd) {
  while (::flock(fd, LOCK_SH) != 0 && errno == EINTR) {
  }
}

int open_folder(const std::filesystem::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

bool lock_now(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void hold_folder(const std::filesystem::path& folder) {
  if (held_folders().count(folder) > 0) return;
  const int fd = open_folder(folder);
  if (fd < 0) throw FailureError("{}: cannot open to lock it: {}", folder.string(), system_error_text(errno));
  lock_shared(fd);
  held_folders()[folder] = fd;
}

void release_folders() {
  for (const auto& [folder, fd] : held_folders()) ::close(fd);
  held_folders().clear();
}

FolderTrial::FolderTrial(const std::filesystem::path& folder) {
  const auto own = held_folders().find(folder);
  is_own_ = own != held_folders().end();
  fd_ = is_own_ ? own->second : open_folder(folder);
  free_ = fd_ < 0 || lock_now(fd_);
}

FolderTrial::~FolderTrial() {
  if (is_own_)
    lock_shared(fd_);
  else if (fd_ >= 0)
    ::close(fd_);
}

}  // namespace apsyn
