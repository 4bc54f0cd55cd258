// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/isolated.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <utility>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr int kOutOfMemory = 3, kOtherException = 4, kFirstOfErrors = 16;

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

void send(int fd, const char* bytes, std::size_t n_bytes) {
  while (n_bytes > 0) {
    const ssize_t n = ::write(fd, bytes, n_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(kOtherException);
    bytes += n;
    n_bytes -= static_cast<std::size_t>(n);
  }
}

/// The child.
[[noreturn]] void run_alone(const std::function<std::string()>& work, const IsolationLimits& limits,
                            int result) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
  }
  // Handlers of the parent would go on with its work here.
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(fault, SIG_DFL);
  std::set_terminate([] { std::abort(); });
  limit(RLIMIT_CORE, 0);
  // Asked here, for threads of the parent may map more at any time, as those that start a GPU do.
  limit(RLIMIT_AS, bytes_mapped() + limits.max_bytes);
  if (limits.max_cpu_s > 0) limit(RLIMIT_CPU, limits.max_cpu_s);
  int status = 0;
  try {
    const std::string bytes = work();
    send(result, bytes.data(), bytes.size());
  } catch (const std::bad_alloc&) {
    status = kOutOfMemory;
  } catch (const Error& error) {
    status = kFirstOfErrors + static_cast<int>(error.status());
    send(result, error.what(), std::strlen(error.what()));
  } catch (...) {
    status = kOtherException;
  }
  ::_exit(status);
}

std::string receive_all(int fd) {
  std::string bytes;
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(n));
  }
}

[[noreturn]] void throw_error(ExitStatus status, const std::string& message) {
  switch (status) {
    case ExitStatus::usage:
      throw UsageError("{}", message);
    case ExitStatus::malformed:
      throw DataError("{}", message);
    case ExitStatus::device:
      throw DeviceError("{}", message);
    default:
      throw FailureError("{}", message);
  }
}

/// Closes what it holds, whatever happens.
struct Descriptor {
  int fd = -1;
  ~Descriptor() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

/// What waits for processes to be forked.
struct Waiting {
  std::mutex lock;
  std::size_t n_processes = 0;
  std::function<void()> work;
} waiting;

void note_fork() {
  std::function<void()> work;
  {
    std::lock_guard lock(waiting.lock);
    if (!waiting.work || --waiting.n_processes > 0) return;
    work = std::exchange(waiting.work, nullptr);
  }
  work();
}

}  // namespace

AfterLastFork::AfterLastFork(std::size_t n_processes, std::function<void()> work) {
  std::lock_guard lock(waiting.lock);
  waiting.n_processes = n_processes;
  if (n_processes > 0) waiting.work = std::move(work);
}

AfterLastFork::~AfterLastFork() {
  std::lock_guard lock(waiting.lock);
  waiting.work = nullptr;
}

IsolatedResult run_isolated(const IsolationLimits& limits, const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw FailureError("no pipe to another process can be opened: {}", std::strerror(errno));
  Descriptor from{ends[0]}, to{ends[1]};
  const pid_t child = ::fork();
  if (child < 0) throw FailureError("no other process can be started: {}", std::strerror(errno));
  if (child == 0) run_alone(work, limits, to.fd);
  to.close();
  note_fork();
  IsolatedResult result;
  result.bytes = receive_all(from.fd);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw FailureError("another process is lost: {}", std::strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return result;
  if (WIFEXITED(status) && WEXITSTATUS(status) >= kFirstOfErrors)
    throw_error(static_cast<ExitStatus>(WEXITSTATUS(status) - kFirstOfErrors), result.bytes);
  result.bytes.clear();
  result.end = IsolatedEnd::died;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory) result.end = IsolatedEnd::out_of_memory;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) result.end = IsolatedEnd::out_of_time;
  return result;
}

}  // namespace apsyn
