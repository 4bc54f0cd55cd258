// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/system_error.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace apsyn {

const char* cure_of_system_error(const std::string& reason) {
  const std::pair<int, const char*> cures[] = {
      {EMFILE, "raise the limit of open files (ulimit -n)"},
      {ENFILE, "the machine has too many files open"},
      {EAGAIN, "give fewer --threads, or raise the limit of processes (ulimit -u)"},
      {EACCES, "change its permissions"},
      {EIO, "check the disk"}};
  for (const auto& [error, cure] : cures)
    if (reason.find(std::strerror(error)) != reason.npos) return cure;
  return nullptr;
}

std::string system_error_text(int error) {
  const std::string reason = std::strerror(error);
  const char* cure = cure_of_system_error(reason);
  return cure == nullptr ? reason : reason + ": " + cure;
}

}  // namespace apsyn
