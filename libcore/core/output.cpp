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
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "libcore/core/error.h"
#include "libcore/core/system_error.h"

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
  if (fd < 0) throw FailureError("{}: cannot open to sync: {}", path, system_error_text(errno));
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

/// Where a name leads, whether or not something is there: links in its folder are followed.
fs::path place_of(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(folder_of(path), error), error);
  return (folder / fs::path(path).filename()).lexically_normal();
}

/// Whether `path` is `folder` or lies anywhere in it.
bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

void check_no_input(const std::string& path) {
  std::error_code error;
  const fs::path place = place_of(path), real = fs::canonical(path, error);
  for (const std::string& input : inputs()) {
    const bool standard = input == "-";  // which a shell may have opened from a file
    if (fs::equivalent(path, standard ? "/dev/stdin" : input, error))
      throw UsageError("{}: is the input {}, and would be replaced by the output: choose another name", path,
                       standard ? "on standard input" : input);
    if (standard) continue;
    const fs::path in = fs::canonical(input, error);
    if (error) continue;
    if (fs::is_directory(in, error) && lies_in(place, in))
      throw UsageError("{}: lies in the input {}, which it would change: choose another name", path, input);
    if (!real.empty() && fs::is_directory(real, error) && lies_in(in, real))
      throw UsageError("{}: the input {} lies in it and would be removed with it: choose another name", path,
                       input);
  }
}

/// Names of outputs that were checked since the group began.
std::vector<fs::path>& checked_outputs() {
  static auto* list = new std::vector<fs::path>;
  return *list;
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

void check_name(const std::string& path, bool overwrite) {
  if (path.empty()) throw UsageError("the output has no name: give --output PATH");
  if (path == "-") {
    if (stdout_is_terminal())
      throw UsageError("standard output is a terminal: redirect it, or give --output PATH");
    return;
  }
  check_ordinary(trimmed(path));
  check_no_input(trimmed(path));
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

[[noreturn]] void refuse_part(const std::string& part) {
  throw UsageError("{}: another run is writing it: let that end, or choose another name for the output",
                   part);
}

/// Removes what a run that was killed left behind. What others made, or write, is refused.
void remove_abandoned(const std::string& part) {
  struct stat found {};
  if (::lstat(part.c_str(), &found) != 0) return;
  if ((!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) || (found.st_mode & S_ISVTX) == 0)
    throw UsageError(
        "{}: is there, where the output is to be written, and is not the rest of a run that was killed: "
        "remove it, or choose another name for the output",
        part);
  const int fd = open_part(part);
  // Another run may have removed the rest, and begun anew, before this one had the lock.
  const bool abandoned = fd < 0 || (lock_now(fd) && same_file(fd, part));
  std::error_code error;
  if (abandoned) remove_tree(part, error);
  if (fd >= 0) ::close(fd);
  if (!abandoned) refuse_part(part);
  if (error) throw FailureError("{}: cannot remove an older part: {}", part, error.message());
}

/// A set that is changed in place is locked.
void check_unlocked(const std::string& target) {
  const int fd = ::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const bool unlocked = lock_now(fd);
  ::close(fd);
  if (!unlocked)
    throw UsageError("{}: another run is changing it: let that end, or choose another name for the output",
                     target);
}

/// A part that is complete, on its way to its name.
struct Claim {
  std::string target, part;
  bool overwrite = false;
  int fd = -1;             ///< locked, or -1
  std::string old;         ///< where what was replaced is kept; empty when nothing was there
  bool exchanged = false;  ///< part and target have changed places
};

std::vector<Claim>*& group() {
  static std::vector<Claim>* claims = nullptr;
  return claims;
}

/// Gives the part its name and keeps what had the name, so that take_back() can restore it.
void give_name(Claim& claim) {
  if (claim.fd >= 0 && !same_file(claim.fd, claim.part)) refuse_part(claim.part);
  const char *part = claim.part.c_str(), *target = claim.target.c_str();
  const auto fail = [&](int error) {
    throw FailureError("{}: cannot rename {} to it: {}", claim.target, claim.part, std::strerror(error));
  };
  if (!claim.overwrite) {
    if (::renameat2(AT_FDCWD, part, AT_FDCWD, target, RENAME_NOREPLACE) == 0) return;
    if (errno == EEXIST) throw FailureError("{}: appeared meanwhile: nothing was replaced", claim.target);
    std::error_code error;
    if (errno != EINVAL && errno != ENOSYS) fail(errno);
    if (fs::exists(fs::symlink_status(claim.target, error)))
      throw FailureError("{}: appeared meanwhile: nothing was replaced", claim.target);
    if (::rename(part, target) != 0) fail(errno);
    return;
  }
  std::error_code error;
  if (!fs::exists(fs::symlink_status(claim.target, error))) {
    if (::rename(part, target) != 0) fail(errno);
    return;
  }
  if (fs::is_directory(claim.part, error) || fs::is_directory(claim.target, error)) {
    // rename() replaces no folder that holds something: swap the two, or where the file system cannot, let
    // the old one step aside first, so that a complete one is always there.
    check_unlocked(claim.target);
    if (::renameat2(AT_FDCWD, part, AT_FDCWD, target, RENAME_EXCHANGE) == 0) {
      (void)::chmod(part, S_ISVTX | S_IRWXU);  // what a killed run leaves there is not wanted any more
      claim.old = claim.part, claim.exchanged = true;
      return;
    }
    const std::string old = claim.target + ".old.part";
    remove_tree(old, error);
    if (::rename(target, old.c_str()) != 0)
      throw FailureError("{}: cannot replace: {}", claim.target, std::strerror(errno));
    claim.old = old;
    if (::rename(part, target) == 0) return;
    const int cause = errno;
    (void)::rename(old.c_str(), target);
    claim.old.clear();
    fail(cause);
  }
  if (group() != nullptr && group()->size() > 1) {  // a single file needs no way back
    const std::string old = claim.target + ".old.part";
    if (::unlink(old.c_str()) == 0 || errno == ENOENT)
      if (::link(target, old.c_str()) == 0) claim.old = old;
  }
  if (::rename(part, target) == 0) return;
  const int cause = errno;
  if (!claim.old.empty()) ::unlink(claim.old.c_str());
  claim.old.clear();
  fail(cause);
}

/// Undoes give_name().
void take_back(const Claim& claim) {
  if (claim.exchanged) {
    struct stat was {};
    const bool known = ::stat(claim.target.c_str(), &was) == 0;
    (void)::renameat2(AT_FDCWD, claim.part.c_str(), AT_FDCWD, claim.target.c_str(), RENAME_EXCHANGE);
    if (known) (void)::chmod(claim.target.c_str(), was.st_mode & 07777 & ~S_ISVTX);
    return;
  }
  (void)::rename(claim.target.c_str(), claim.part.c_str());
  if (!claim.old.empty()) (void)::rename(claim.old.c_str(), claim.target.c_str());
}

/// Gives all of them their names, or none. parts_mutex() is held, so that an interrupt either comes first and
/// removes the whole parts, or finds nothing pending any more.
void give_names(std::vector<Claim>& claims) {
  std::size_t n_named = 0;
  try {
    for (; n_named < claims.size(); ++n_named) give_name(claims[n_named]);
  } catch (...) {
    while (n_named > 0) take_back(claims[--n_named]);
    throw;
  }
  std::error_code ignored;
  for (const Claim& claim : claims) {
    struct stat done {};
    if (::stat(claim.target.c_str(), &done) == 0)
      (void)::chmod(claim.target.c_str(), done.st_mode & 07777 & ~S_ISVTX);
    if (!claim.old.empty()) remove_tree(claim.old, ignored);
    std::erase(parts(), claim.part);
  }
}

void close_all(std::vector<Claim>& claims) {
  for (Claim& claim : claims)
    if (claim.fd >= 0) ::close(std::exchange(claim.fd, -1));
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
  check_name(path, overwrite);
  if (path == "-" || group() == nullptr) return;
  const fs::path place = place_of(trimmed(path));
  std::vector<fs::path>& others = checked_outputs();
  if (std::find(others.begin(), others.end(), place) != others.end())
    throw UsageError("{}: is the name of two outputs: choose another name for one", path);
  others.push_back(place);
}

PendingOutput::PendingOutput(const std::string& target, bool overwrite)
    : target_(trimmed(target)), part_(target_ + ".part"), overwrite_(overwrite) {
  check_name(target_, overwrite);
  check_unlocked(target_);
  std::lock_guard lock(parts_mutex());
  if (std::any_of(parts().begin(), parts().end(),
                  [&](const std::string& other) { return place_of(other) == place_of(part_); }))
    throw UsageError("{}: is the name of two outputs: choose another name for one", target_);
  remove_abandoned(part_);
}

PendingOutput PendingOutput::in_place(const std::string& table) {
  return PendingOutput(table);
}

PendingOutput::PendingOutput(const std::string& table)
    : target_(table), part_(table + ".part"), overwrite_(true), at_once_(true) {
  std::lock_guard lock(parts_mutex());
  remove_abandoned(part_);
}

PendingOutput::PendingOutput(PendingOutput&& other) noexcept
    : target_(std::move(other.target_)),
      part_(std::move(other.part_)),
      overwrite_(other.overwrite_),
      at_once_(other.at_once_),
      done_(std::exchange(other.done_, true)),
      part_fd_(std::exchange(other.part_fd_, -1)),
      own_fd_(std::exchange(other.own_fd_, false)) {}

PendingOutput::~PendingOutput() {
  if (!done_) {
    std::lock_guard lock(parts_mutex());
    std::erase(parts(), part_);
    std::error_code ignored;
    if (part_fd_ >= 0 && same_file(part_fd_, part_)) remove_tree(part_, ignored);
  }
  if (own_fd_) ::close(part_fd_);
}

void PendingOutput::lock(int fd) {
  spare_descriptors().keep();
  parts().push_back(part_);
  part_fd_ = fd;
  if (!lock_now(fd) || !same_file(fd, part_)) {
    std::erase(parts(), part_);
    done_ = true;
    refuse_part(part_);
  }
  if (struct stat old{}; overwrite_ && ::stat(target_.c_str(), &old) == 0) {
    // What only some may read stays so. Only root can give a file to its owner, and only members of a group
    // to that group; the rights of a group that the file loses are not another group's.
    if (::fchown(fd, old.st_uid, old.st_gid) != 0) (void)!::fchown(fd, static_cast<uid_t>(-1), old.st_gid);
    mode_t mode = old.st_mode & 07777;
    if (struct stat made{}; ::fstat(fd, &made) != 0 || made.st_gid != old.st_gid)
      mode = (mode & ~mode_t{S_ISGID | S_IRWXG}) | (mode & ((mode & S_IRWXO) << 3));
    (void)::fchmod(fd, mode | S_ISVTX | (S_ISDIR(old.st_mode) ? S_IRWXU : 0));
  }
}

int PendingOutput::create_file() {
  // Interrupts wait: a part that appears just after one has looked for it would stay behind.
  std::lock_guard hold(parts_mutex());
  // Nobody else reads the part before it has the mode of the file that it is to replace.
  const mode_t mode = ::access(target_.c_str(), F_OK) == 0 ? 0600 : 0666;
  const int fd = ::open(part_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode | S_ISVTX);
  if (fd < 0 && errno == EEXIST) refuse_part(part_);
  if (fd < 0)
    throw FailureError("{}: cannot create: {}{}", part_, std::strerror(errno),
                       errno == EMFILE ? ": make fewer outputs at once, or raise the limit (ulimit -n)" : "");
  try {
    lock(fd);
  } catch (...) {
    part_fd_ = -1;
    ::close(fd);
    throw;
  }
  return fd;
}

void PendingOutput::create_folder() {
  std::lock_guard hold(parts_mutex());
  const mode_t mode = ::access(target_.c_str(), F_OK) == 0 ? 0700 : 0777;
  if (::mkdir(part_.c_str(), mode | S_ISVTX) != 0) {
    const int error = errno;
    if (error == EEXIST) refuse_part(part_);
    throw FailureError("{}: cannot create: {}", part_, std::strerror(error));
  }
  const int fd = open_part(part_);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT) refuse_part(part_);  // another run took it for abandoned before it was locked
    ::rmdir(part_.c_str());
    throw FailureError("{}: cannot open: {}", part_, std::strerror(error));
  }
  own_fd_ = true;
  lock(fd);
}

void PendingOutput::commit() {
  sync_tree(part_);
  Claim claim{target_, part_, overwrite_, part_fd_, {}, false};
  if (group() != nullptr && !at_once_) {
    if (part_fd_ >= 0 && !own_fd_) claim.fd = ::fcntl(part_fd_, F_DUPFD_CLOEXEC, 3);
    std::lock_guard lock(parts_mutex());
    group()->push_back(std::move(claim));
    own_fd_ = false;
    done_ = true;
    return;
  }
  {
    std::lock_guard lock(parts_mutex());
    std::vector<Claim> alone{std::move(claim)};
    give_names(alone);
    done_ = true;
  }
  sync_path(folder_of(target_), O_RDONLY | O_DIRECTORY);
}

OutputGroup::OutputGroup() {
  checked_outputs().clear();
  group() = new std::vector<Claim>;
}

OutputGroup::~OutputGroup() {
  std::lock_guard lock(parts_mutex());
  std::vector<Claim>* claims = std::exchange(group(), nullptr);
  std::error_code ignored;
  for (const Claim& claim : *claims) {
    std::erase(parts(), claim.part);
    remove_tree(claim.part, ignored);
  }
  close_all(*claims);
  delete claims;
}

void publish_outputs() {
  if (group() == nullptr || group()->empty()) return;
  std::set<fs::path> folders;
  {
    std::lock_guard lock(parts_mutex());
    give_names(*group());
    for (const Claim& claim : *group()) folders.insert(folder_of(claim.target));
    close_all(*group());
    group()->clear();
  }
  for (const fs::path& folder : folders) sync_path(folder, O_RDONLY | O_DIRECTORY);
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
