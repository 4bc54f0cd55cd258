// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "libcore/core/error.h"

namespace apsyn {
namespace {

namespace fs = std::filesystem;

// Never destroyed: the signal watcher may still look at them while the process exits. Recursive, for a thread
// that a library ends (std::terminate) while it holds interrupts.
std::recursive_mutex& parts_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}
std::vector<std::string>& parts() {
  static auto* list = new std::vector<std::string>;
  return *list;
}

std::vector<std::string>& inputs() {
  static auto* list = new std::vector<std::string>;
  return *list;
}

fs::path folder_of(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

void sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) throw FailureError("{}: cannot open to sync: {}", path, std::strerror(errno));
  const bool failed = ::fsync(fd) != 0 && errno != EINVAL;  // some file systems sync no folders
  const int error = errno;
  ::close(fd);
  if (failed) throw FailureError("{}: cannot sync: {}", path, std::strerror(error));
}

std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// Names of devices, and of what a process has open: /dev/stdout is a link to a link to a file when it is
/// redirected.
bool lies_with_devices(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(folder_of(path), error);
  return !error && (folder == "/dev" || folder.string().starts_with("/proc/"));
}

void check_ordinary(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);  // of what a link leads to
  if (fs::is_directory(status) || !fs::exists(status)) return;
  if (!fs::is_regular_file(status) || lies_with_devices(path))
    throw UsageError("{}: no ordinary file, and not to be replaced by one: give --output - and redirect",
                     path);
}

void check_replaceable(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(trimmed(path), error);  // of what a link leads to
  if (fs::is_directory(status)) {
    if (fs::is_empty(path, error) || fs::exists(fs::path(path) / "table.dat", error)) return;
    throw UsageError("{}: a folder that is no Measurement Set: choose another name", path);
  }
}

void check_no_input(const std::string& path) {
  std::error_code error;
  for (const std::string& input : inputs()) {
    const bool standard = input == "-";  // which a shell may have opened from a file
    if (fs::equivalent(path, standard ? "/dev/stdin" : input, error))
      throw UsageError("{}: is the input {}, and would be replaced by the output: choose another name", path,
                       standard ? "on standard input" : input);
  }
}

/// Descriptors that are kept so that folders can be removed when all others are in use: remove_all() opens
/// each level of a Measurement Set.
class SpareDescriptors {
 public:
  void keep() {
    for (int& fd : fds_)
      if (fd < 0) fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  void release() {
    for (int& fd : fds_)
      if (fd >= 0) ::close(std::exchange(fd, -1));
  }

 private:
  int fds_[3] = {-1, -1, -1};
};

/// Guarded by parts_mutex().
SpareDescriptors& spare_descriptors() {
  static auto* spare = new SpareDescriptors;
  return *spare;
}

/// Removes a file or a folder with all that it holds.
void remove_tree(const std::string& path, std::error_code& error) {
  error.clear();
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return;
  fs::remove_all(path, error);
  if (error != std::errc::too_many_files_open) return;
  std::lock_guard lock(parts_mutex());
  spare_descriptors().release();
  fs::remove_all(path, error);
  spare_descriptors().keep();
}

/// Locked by a run that lives. Errors other than that say nothing: some file systems have no locks.
bool lock_now(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

int open_part(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
}

bool same_file(int fd, const std::string& path) {
  struct stat held {
  }, found{};
  return ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &found) == 0 && held.st_dev == found.st_dev &&
         held.st_ino == found.st_ino;
}

/// Open MPI gives every process a terminal of its own, out of which it copies what becomes standard output.
bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) != 0 && std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

}  // namespace

void protect_inputs(std::vector<std::string> paths) {
  inputs() = std::move(paths);
}

void protect_input(const std::string& path) {
  if (std::find(inputs().begin(), inputs().end(), path) == inputs().end()) inputs().push_back(path);
}

void sync_tree(const std::string& path) {
  if (fs::is_directory(path))
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
      sync_path(entry.path(), entry.is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  sync_path(path, O_RDONLY);
}

void check_output(const std::string& path, bool overwrite) {
  if (path.empty()) throw UsageError("the output has no name: give --output PATH");
  if (path == "-") {
    if (stdout_is_terminal())
      throw UsageError("standard output is a terminal: redirect it, or give --output PATH");
    return;
  }
  check_ordinary(trimmed(path));
  check_no_input(path);
  check_no_input(trimmed(path) + ".part");
  std::error_code error;
  if (fs::exists(fs::symlink_status(trimmed(path), error)) && !overwrite)
    throw UsageError("{}: exists: give --overwrite to replace it", path);
  check_replaceable(path);
  const std::string folder = folder_of(trimmed(path));
  if (!fs::is_directory(folder, error)) throw FailureError("{}: its folder {} does not exist", path, folder);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw FailureError("{}: cannot write in {}: {}", path, folder, std::strerror(errno));
}

PendingOutput::PendingOutput(const std::string& target, bool overwrite)
    : target_(trimmed(target)), part_(target_ + ".part"), overwrite_(overwrite) {
  check_output(target_, overwrite);
  if (const int fd = open_part(part_); fd >= 0) {
    const bool abandoned = lock_now(fd);
    ::close(fd);
    if (!abandoned) refuse_part();
  }
  std::error_code error;
  remove_tree(part_, error);  // what a killed run left behind
  if (error) throw FailureError("{}: cannot remove an older part: {}", part_, error.message());
  std::lock_guard lock(parts_mutex());
  spare_descriptors().keep();
  parts().push_back(part_);
}

PendingOutput::PendingOutput(PendingOutput&& other) noexcept
    : target_(std::move(other.target_)),
      part_(std::move(other.part_)),
      overwrite_(other.overwrite_),
      done_(std::exchange(other.done_, true)),
      part_fd_(std::exchange(other.part_fd_, -1)),
      own_fd_(std::exchange(other.own_fd_, false)) {}

PendingOutput::~PendingOutput() {
  if (!done_) {
    std::lock_guard lock(parts_mutex());
    std::erase(parts(), part_);
    std::error_code ignored;
    remove_tree(part_, ignored);
  }
  if (own_fd_) ::close(part_fd_);
}

std::unique_lock<std::recursive_mutex> PendingOutput::hold_interrupts() const {
  return std::unique_lock(parts_mutex());
}

void PendingOutput::hold_part(int fd) {
  part_fd_ = fd >= 0 ? fd : open_part(part_);
  own_fd_ = fd < 0 && part_fd_ >= 0;
  if (part_fd_ >= 0 && !lock_now(part_fd_)) give_up();
  if (struct stat old{}; part_fd_ >= 0 && overwrite_ && ::stat(target_.c_str(), &old) == 0) {
    // What only some may read stays so. Only root can give a file to its owner.
    (void)!::fchown(part_fd_, old.st_uid, old.st_gid);
    (void)::fchmod(part_fd_, (old.st_mode & 0777) | (S_ISDIR(old.st_mode) ? S_IRWXU : 0));
  }
}

void PendingOutput::give_up() {
  {
    std::lock_guard lock(parts_mutex());
    std::erase(parts(), part_);
    done_ = true;
  }
  refuse_part();
}

void PendingOutput::refuse_part() const {
  throw UsageError("{}: another run is writing it: let that end, or choose another name for the output",
                   part_);
}

void PendingOutput::commit() {
  if (part_fd_ >= 0 && !same_file(part_fd_, part_)) give_up();
  sync_tree(part_);
  {
    // Held over the renames, so that an interrupt either comes first and removes the whole part, or finds
    // nothing pending any more: never removes files from a folder that is just being given its final name.
    std::lock_guard lock(parts_mutex());
    rename_to_target();
    std::erase(parts(), part_);
    done_ = true;
  }
  sync_path(folder_of(target_), O_RDONLY | O_DIRECTORY);
}

void PendingOutput::rename_to_target() {
  std::error_code error;
  const bool part_is_folder = fs::is_directory(part_, error);
  const bool target_exists = fs::exists(fs::symlink_status(target_, error));
  if (target_exists && !overwrite_)
    throw FailureError("{}: appeared meanwhile: nothing was replaced", target_);
  if (target_exists && (part_is_folder || fs::is_directory(target_, error))) {
    // rename() replaces no folder that holds something: swap the two, or where the file system cannot, let
    // the old one step aside first, so that a complete one is always there.
    if (::renameat2(AT_FDCWD, part_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) {
      remove_tree(part_, error);
      return;
    }
    const std::string old = target_ + ".old.part";
    remove_tree(old, error);
    if (::rename(target_.c_str(), old.c_str()) != 0)
      throw FailureError("{}: cannot replace: {}", target_, std::strerror(errno));
    if (::rename(part_.c_str(), target_.c_str()) != 0) {
      const int cause = errno;
      (void)::rename(old.c_str(), target_.c_str());
      throw FailureError("{}: cannot rename {} to it: {}", target_, part_, std::strerror(cause));
    }
    remove_tree(old, error);
  } else if (::rename(part_.c_str(), target_.c_str()) != 0) {
    throw FailureError("{}: cannot rename {} to it: {}", target_, part_, std::strerror(errno));
  }
}

void remove_pending_outputs() {
  parts_mutex().lock();  // for good: other threads stop at their next claim, commit or clean-up
  for (int attempt = 0; attempt < 50; ++attempt) {
    bool any_left = false;
    for (const std::string& part : parts()) {
      std::error_code error;
      remove_tree(part, error);
      any_left = any_left || fs::exists(fs::symlink_status(part, error));
    }
    if (!any_left) return;
    // another thread created a file in a folder while it was being emptied
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace apsyn
