// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/output.h"

#include <fcntl.h>
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
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/files/output_locks.h"
#include "libcore/system/system_error.h"

namespace apsyn {
namespace {

namespace fs = std::filesystem;

// Never destroyed: the signal watcher may still look at them while the process exits. Recursive, for a thread
// that a library ends (std::terminate) while it holds interrupts.
std::recursive_mutex& parts_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}
/// A part that is pending, and its place_of(), which takes a look at every folder above: hundreds of outputs
/// are compared with each other.
struct Part {
  std::string path;
  fs::path place;
};
std::vector<Part>& parts() {
  static auto* list = new std::vector<Part>;
  return *list;
}
void forget_part(const std::string& path) {
  std::erase_if(parts(), [&](const Part& part) { return part.path == path; });
}

// Read when the process starts, before there are threads.
const mode_t kUmask = [] {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}();

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

/// Any other file in a Measurement Set, or in the place of one of its own, damages it.
void check_outside_of_sets(const std::string& path) {
  std::error_code error;
  for (fs::path folder = place_of(trimmed(path)).parent_path(); folder.has_relative_path();
       folder = folder.parent_path())
    if (fs::exists(folder / "table.dat", error))
      throw UsageError("{}: lies in the Measurement Set {}, which it would damage: choose another name", path,
                       folder.string());
}

/// Names of outputs that were checked since the group began.
std::set<std::string>& checked_outputs() {
  static auto* list = new std::set<std::string>;
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
  check_outside_of_sets(path);
  const std::string folder = folder_of(trimmed(path));
  if (!fs::is_directory(folder, error)) throw FailureError("{}: its folder {} does not exist", path, folder);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw FailureError("{}: cannot write in {}: {}", path, folder, std::strerror(errno));
}

[[noreturn]] void refuse_part(const std::string& part) {
  throw UsageError("{}: another run is writing it: let that end, or choose another name for the output",
                   part);
}

/// The mode of new folders, which parts have not.
mode_t new_folder_mode() {
  return 0777 & ~kUmask;
}

/// Whether a run of these tools has made it: files have their sticky bit, which means nothing to Linux, and
/// folders are nobody else's to enter besides, as shared ones with that bit are.
bool is_part(const struct stat& found) {
  if ((found.st_mode & S_ISVTX) == 0) return false;
  return S_ISREG(found.st_mode) || (S_ISDIR(found.st_mode) && (found.st_mode & 0077) == 0);
}

/// Removes what a run that was killed left behind. What others made, or write, is refused. `in_set`: the part
/// is of a table in a Measurement Set, whose own lock this process has.
void remove_abandoned(const std::string& part, bool in_set = false) {
  struct stat found {};
  if (::lstat(part.c_str(), &found) != 0) return;
  if (!is_part(found))
    throw UsageError(
        "{}: is there, where the output is to be written, and is not the rest of a run that was killed: "
        "remove it, or choose another name for the output",
        part);
  const int fd = open_part(part);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0) throw FailureError("{}: cannot open what another run left: {}", part, std::strerror(errno));
  // Another run may have removed the rest, and begun anew, before this one had the lock.
  std::optional<FolderTrial> folder;
  if (!in_set) folder.emplace(place_of(part).parent_path());
  const bool abandoned = (in_set || folder->is_free()) && lock_now(fd) && same_file(fd, part);
  std::error_code error;
  if (abandoned) remove_tree(part, error);
  ::close(fd);
  if (!abandoned) refuse_part(part);
  if (error) throw FailureError("{}: cannot remove an older part: {}", part, error.message());
}

/// A set that is changed in place is locked, and so is one that is being replaced: a descriptor that has the
/// lock, or -1 for what is no folder.
int lock_old(const std::string& target) {
  const int fd = ::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || lock_now(fd)) return fd;
  ::close(fd);
  throw UsageError("{}: another run is changing it: let that end, or choose another name for the output",
                   target);
}
void check_unlocked(const std::string& target) {
  if (const int fd = lock_old(target); fd >= 0) ::close(fd);
}

/// A part that is complete, on its way to its name.
struct Claim {
  std::string target, part;
  bool overwrite = false;
  int fd = -1;  ///< locked, or -1
  /// Device and inode of a file that is closed: this process then holds its folder instead, in which no other
  /// run takes such a part for the rest of a killed one.
  std::optional<std::pair<dev_t, ino_t>> id;
  std::optional<mode_t> mode;  ///< of a folder, once it has its name
  std::string old;             ///< where what was replaced is kept; empty when nothing was there
  mode_t old_mode = 0;
  int old_fd = -1;         ///< of a folder that is replaced, locked
  bool exchanged = false;  ///< part and target have changed places
};

std::vector<Claim>*& group() {
  static std::vector<Claim>* claims = nullptr;
  return claims;
}

bool knows_no_flags(int error) {
  return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

[[noreturn]] void fail_to_rename(const Claim& claim, int error) {
  throw FailureError("{}: cannot rename {} to it: {}", claim.target, claim.part, std::strerror(error));
}

/// What was replaced looks like a part, which it is for a run that follows a killed one.
void mark_old(const Claim& claim, const struct stat& found) {
  if (S_ISLNK(found.st_mode)) return;  // what it leads to keeps its mode
  (void)::chmod(claim.old.c_str(), S_ISDIR(found.st_mode) ? S_ISVTX | S_IRWXU : found.st_mode | S_ISVTX);
}

/// The part and what has its name change places; where the file system cannot do that, the old one steps
/// aside first. So a complete one is there before and after, and the old one can come back.
void replace_and_keep(Claim& claim) {
  const char *part = claim.part.c_str(), *target = claim.target.c_str();
  struct stat found {};
  if (::lstat(target, &found) != 0) fail_to_rename(claim, errno);
  claim.old_mode = found.st_mode;
  if (S_ISDIR(found.st_mode) && claim.old_fd < 0) claim.old_fd = lock_old(claim.target);
  if (::renameat2(AT_FDCWD, part, AT_FDCWD, target, RENAME_EXCHANGE) == 0) {
    claim.old = claim.part, claim.exchanged = true;
    mark_old(claim, found);
    return;
  }
  if (!knows_no_flags(errno)) fail_to_rename(claim, errno);
  const std::string aside = claim.target + ".old.part";
  remove_abandoned(aside);
  if (::rename(target, aside.c_str()) != 0) fail_to_rename(claim, errno);
  if (::rename(part, target) != 0) {
    const int cause = errno;
    (void)::rename(aside.c_str(), target);
    fail_to_rename(claim, cause);
  }
  claim.old = aside;
  mark_old(claim, found);
}

/// Gives the part its name. `keep_old`: take_back() must be able to restore what had the name.
void give_name(Claim& claim, bool keep_old) {
  if (claim.fd >= 0 && !same_file(claim.fd, claim.part)) refuse_part(claim.part);
  if (struct stat found{}; claim.id && (::lstat(claim.part.c_str(), &found) != 0 ||
                                        *claim.id != std::pair(found.st_dev, found.st_ino)))
    refuse_part(claim.part);
  const char *part = claim.part.c_str(), *target = claim.target.c_str();
  std::error_code error;
  if (!claim.overwrite) {
    if (::renameat2(AT_FDCWD, part, AT_FDCWD, target, RENAME_NOREPLACE) == 0) return;
    if (errno == EEXIST || (knows_no_flags(errno) && fs::exists(fs::symlink_status(claim.target, error))))
      throw FailureError("{}: appeared meanwhile: nothing was replaced", claim.target);
    if (!knows_no_flags(errno)) fail_to_rename(claim, errno);
    if (::rename(part, target) != 0) fail_to_rename(claim, errno);
    return;
  }
  // rename() replaces no folder that holds something.
  const bool folder = fs::is_directory(claim.part, error) || fs::is_directory(claim.target, error);
  if ((folder || keep_old) && fs::exists(fs::symlink_status(claim.target, error)))
    return replace_and_keep(claim);
  if (::rename(part, target) != 0) fail_to_rename(claim, errno);
}

/// Undoes give_name().
void take_back(Claim& claim) {
  const char *part = claim.part.c_str(), *target = claim.target.c_str();
  if (claim.exchanged)
    (void)::renameat2(AT_FDCWD, part, AT_FDCWD, target, RENAME_EXCHANGE);
  else
    (void)::rename(target, part);
  if (claim.old.empty()) return;
  if (!claim.exchanged) (void)::rename(claim.old.c_str(), target);
  if (!S_ISLNK(claim.old_mode)) (void)::chmod(target, claim.old_mode & 07777);
  claim.old.clear(), claim.exchanged = false;
}

/// Gives all of them their names, or none. parts_mutex() is held, so that an interrupt either comes first and
/// removes the whole parts, or finds nothing pending any more.
void give_names(std::vector<Claim>& claims) {
  std::size_t n_named = 0;
  try {
    for (; n_named < claims.size(); ++n_named) give_name(claims[n_named], claims.size() > 1);
  } catch (...) {
    while (n_named > 0) take_back(claims[--n_named]);
    throw;
  }
  std::error_code ignored;
  for (const Claim& claim : claims) {
    struct stat done {};
    if (::stat(claim.target.c_str(), &done) == 0)
      (void)::chmod(claim.target.c_str(), claim.mode.value_or(done.st_mode) & 07777 & ~S_ISVTX);
    if (!claim.old.empty()) remove_tree(claim.old, ignored);
    forget_part(claim.part);
  }
}

/// Of a group; more files than that have their folders locked.
constexpr std::size_t kLockedFiles = 200;

void close_all(std::vector<Claim>& claims) {
  for (Claim& claim : claims)
    for (int* fd : {&claim.fd, &claim.old_fd})
      if (*fd >= 0) ::close(std::exchange(*fd, -1));
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
      if (entry.path().filename() != "table.lock")
        sync_path(entry.path(), entry.is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  sync_path(path, O_RDONLY);
}

void check_output(const std::string& path, bool overwrite) {
  check_name(path, overwrite);
  if (path == "-" || group() == nullptr) return;
  const std::string place = place_of(trimmed(path)).string(), part = ".part";
  std::set<std::string>& others = checked_outputs();
  if (others.count(place) > 0)
    throw UsageError("{}: is the name of two outputs: choose another name for one", path);
  const bool is_part = place.ends_with(part) && others.count(place.substr(0, place.size() - part.size())) > 0;
  if (is_part || others.count(place + part) > 0)
    throw UsageError("{}: one output's name is that of another's part ({}): choose another name for one",
                     path, is_part ? place : place + part);
  others.insert(place);
}

PendingOutput::PendingOutput(const std::string& target, bool overwrite)
    : target_(trimmed(target)), part_(target_ + ".part"), overwrite_(overwrite) {
  check_name(target_, overwrite);
  check_unlocked(target_);
  const fs::path place = place_of(part_);
  std::lock_guard lock(parts_mutex());
  if (std::any_of(parts().begin(), parts().end(),
                  [&](const Part& other) { return other.place.native() == place.native(); }))
    throw UsageError("{}: is the name of two outputs: choose another name for one", target_);
  remove_abandoned(part_);
}

PendingOutput PendingOutput::in_place(const std::string& table) {
  return PendingOutput(table);
}

PendingOutput::PendingOutput(const std::string& table)
    : target_(table), part_(table + ".part"), overwrite_(true), at_once_(true) {
  std::lock_guard lock(parts_mutex());
  remove_abandoned(part_, true);
}

PendingOutput::PendingOutput(PendingOutput&& other) noexcept
    : target_(std::move(other.target_)),
      part_(std::move(other.part_)),
      overwrite_(other.overwrite_),
      at_once_(other.at_once_),
      done_(std::exchange(other.done_, true)),
      mode_(other.mode_),
      part_fd_(std::exchange(other.part_fd_, -1)),
      own_fd_(std::exchange(other.own_fd_, false)) {}

PendingOutput::~PendingOutput() {
  if (!done_) {
    std::lock_guard lock(parts_mutex());
    forget_part(part_);
    std::error_code ignored;
    if (part_fd_ >= 0 && same_file(part_fd_, part_)) remove_tree(part_, ignored);
  }
  if (own_fd_) ::close(part_fd_);
}

void PendingOutput::lock(int fd) {
  spare_descriptors().keep();
  parts().push_back({part_, place_of(part_)});
  part_fd_ = fd;
  if (!lock_now(fd) || !same_file(fd, part_)) {
    forget_part(part_);
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
    if (!own_fd_)
      (void)::fchmod(fd, mode | S_ISVTX);
    else if (S_ISDIR(old.st_mode))
      mode_ = mode | S_IRWXU;
  }
}

int PendingOutput::create_file() {
  // Interrupts wait: a part that appears just after one has looked for it would stay behind.
  std::lock_guard hold(parts_mutex());
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(target_, error)))
    throw UsageError("{}: is a folder, and the output is a file: choose another name", target_);
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
  mode_ = new_folder_mode();
  if (::mkdir(part_.c_str(), S_IRWXU | S_ISVTX) != 0) {
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
  Claim claim;
  claim.target = target_, claim.part = part_, claim.overwrite = overwrite_, claim.fd = part_fd_;
  if (own_fd_) claim.mode = mode_;
  if (group() != nullptr && !at_once_) {
    std::lock_guard lock(parts_mutex());
    if (struct stat made{}; !own_fd_ && group()->size() >= kLockedFiles && ::fstat(part_fd_, &made) == 0 &&
                            hold_folder(place_of(part_).parent_path())) {
      claim.id = std::pair(made.st_dev, made.st_ino);
      claim.fd = -1;
    } else {
      if (!own_fd_) claim.fd = ::fcntl(part_fd_, F_DUPFD_CLOEXEC, 3);
      if (claim.fd < 0)
        throw FailureError(
            "{}: cannot be kept open: {}: make fewer outputs at once, or raise the limit (ulimit -n)", part_,
            std::strerror(errno));
    }
    group()->push_back(std::move(claim));
    own_fd_ = false;
    done_ = true;
    return;
  }
  {
    std::lock_guard lock(parts_mutex());
    std::vector<Claim> alone{std::move(claim)};
    give_names(alone);
    if (alone[0].old_fd >= 0) ::close(alone[0].old_fd);
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
    forget_part(claim.part);
    remove_tree(claim.part, ignored);
  }
  close_all(*claims);
  release_folders();
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
    release_folders();
    group()->clear();
  }
  for (const fs::path& folder : folders) sync_path(folder, O_RDONLY | O_DIRECTORY);
}

void remove_pending_outputs() {
  parts_mutex().lock();  // for good: other threads stop at their next claim, commit or clean-up
  for (int attempt = 0; attempt < 50; ++attempt) {
    bool any_left = false;
    for (const Part& part : parts()) {
      std::error_code error;
      remove_tree(part.path, error);
      any_left = any_left || fs::exists(fs::symlink_status(part.path, error));
    }
    if (!any_left) return;
    // another thread created a file in a folder while it was being emptied
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace apsyn
