// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/output_locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <thread>

namespace apsyn {
namespace {

/// By descriptor; never destroyed, like the list of parts.
std::map<std::filesystem::path, int>& shared_folders() {
  static auto* held = new std::map<std::filesystem::path, int>;
  return *held;
}

/// Folders whose lock somebody has kept for longer than a FolderTrial.
std::set<std::filesystem::path>& kept_by_others() {
  static auto* folders = new std::set<std::filesystem::path>;
  return *folders;
}

/// Exclusive locks of a FolderTrial last for a moment, and are waited for.
bool lock_shared(int fd, int max_attempts = 200) {
  for (int attempt = 0; ::flock(fd, LOCK_SH | LOCK_NB) != 0; ++attempt) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || attempt == max_attempts) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

int open_folder(const std::filesystem::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

bool lock_now(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool hold_folder(const std::filesystem::path& folder) {
  if (shared_folders().count(folder) > 0) return true;
  const int fd = open_folder(folder);
  if (fd < 0) return false;
  // Hundreds of outputs do not wait for the same lock each.
  if (!(kept_by_others().count(folder) > 0 ? lock_shared(fd, 0) : lock_shared(fd))) {
    kept_by_others().insert(folder);
    ::close(fd);
    return false;
  }
  shared_folders()[folder] = fd;
  return true;
}

void release_folders() {
  for (const auto& [folder, fd] : shared_folders()) ::close(fd);
  shared_folders().clear();
}

FolderTrial::FolderTrial(const std::filesystem::path& folder) {
  const auto own = shared_folders().find(folder);
  is_own_ = own != shared_folders().end();
  fd_ = is_own_ ? own->second : open_folder(folder);
  // Where not even a shared lock can be had, a script or another trial has the exclusive one, and no run a
  // shared one.
  free_ = fd_ < 0 || lock_now(fd_) || (!is_own_ && ::flock(fd_, LOCK_SH | LOCK_NB) != 0);
}

FolderTrial::~FolderTrial() {
  if (is_own_)
    (void)lock_shared(fd_);
  else if (fd_ >= 0)
    ::close(fd_);
}

}  // namespace apsyn
