// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

std::string read_description(const std::string& path) {
  std::ifstream in(path + "/table.dat", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

MeasurementSetLock::MeasurementSetLock(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 && (errno == ENOENT || errno == ENOTDIR))
    throw FailureError("{}: {}: give the folder of a Measurement Set", path,
                       errno == ENOENT ? "does not exist" : "is no folder");
  if (fd_ < 0) throw FailureError("{}: cannot be opened: {}", path, std::strerror(errno));
  // On file systems without locks nobody is kept out.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    throw FailureError("{}: another run is changing it: start again when that has ended", path);
  }
  struct stat held {
  }, found{};
  if (::fstat(fd_, &held) != 0 || ::stat(path.c_str(), &found) != 0 || held.st_dev != found.st_dev ||
      held.st_ino != found.st_ino) {
    ::close(fd_);
    throw FailureError("{}: another run has replaced it meanwhile: start again", path);
  }
  description_ = read_description(path);
}

MeasurementSetLock::~MeasurementSetLock() {
  ::close(fd_);
}

void MeasurementSetLock::check_description() const {
  if (read_description(path_) != description_)
    throw FailureError("{}: another program has changed its columns meanwhile: start again", path_);
}

void MeasurementSetLock::accept_description() const {
  description_ = read_description(path_);
}

std::shared_ptr<const MeasurementSetLock> lock_measurement_set(const std::string& path) {
  static std::mutex mutex;
  static auto& locks = *new std::map<std::filesystem::path, std::weak_ptr<const MeasurementSetLock>>;
  std::lock_guard guard(mutex);
  std::error_code error;
  auto& known = locks[std::filesystem::canonical(path, error)];
  std::shared_ptr<const MeasurementSetLock> lock = known.lock();
  if (!lock) known = lock = std::make_shared<MeasurementSetLock>(path);
  return lock;
}

}  // namespace apsyn
