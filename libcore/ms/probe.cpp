// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/ms/probe.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::uint64_t kBytesBesideTheSet = 256u << 20;
constexpr std::uint64_t kBytesOfSetsBehind = std::uint64_t{1} << 30;
constexpr int kOutOfMemory = 3;

/// All files of the set; those that cannot be looked at count as nothing.
std::uint64_t bytes_of_files(const std::string& path) {
  std::uint64_t sum = 0;
  std::error_code error;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator at(path, skip, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    const std::uint64_t size = at->is_regular_file(unknown) ? at->file_size(unknown) : 0;
    if (!unknown) sum += size;
  }
  return sum;
}

/// A selection of rows or a concatenation: its own files tell nothing of those that are read.
bool stores_its_rows(const std::string& path) {
  std::ifstream file(path + "/table.dat", std::ios::binary);
  char head[256] = {};
  file.read(head, sizeof head);
  const std::string_view text(head, static_cast<std::size_t>(file.gcount()));
  return text.find("RefTable") == text.npos && text.find("ConcatTable") == text.npos;
}

/// Address space of this process.
std::uint64_t bytes_mapped() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(decltype(RLIMIT_AS) resource, std::uint64_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min<std::uint64_t>(most, now.rlim_max);
  setrlimit(resource, &now);
}

/// The child: silent, and gone with its parent.
[[noreturn]] void run_alone(const std::function<void()>& look, std::uint64_t more_bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
  }
  std::set_terminate([] { std::abort(); });
  limit(RLIMIT_CORE, 0);
  // Asked here, for threads of the parent may map more at any time, as those that start a GPU do.
  limit(RLIMIT_AS, bytes_mapped() + more_bytes);
  int status = 0;
  try {
    look();
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  } catch (...) {  // an ordinary complaint, which the parent will make
  }
  ::_exit(status);
}

}  // namespace

void probe_in_subprocess(const std::string& path, const std::function<void()>& look) {
  const std::uint64_t files = stores_its_rows(path) ? bytes_of_files(path) : kBytesOfSetsBehind;
  const pid_t child = ::fork();
  if (child < 0)
    throw FailureError("{}: no process can be started to look at it: {}", path, std::strerror(errno));
  if (child == 0) run_alone(look, kBytesBesideTheSet + files);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw FailureError("{}: the process that looks at it is lost: {}", path, std::strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory)
    throw DataError("{}: its tables ask for more memory than all of its files: the set is damaged", path);
  throw DataError("{}: casacore cannot read its tables and gives up: the set is damaged", path);
}

}  // namespace apsyn
