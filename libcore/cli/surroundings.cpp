// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/surroundings.h"

#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr rlim_t kSmallStack = rlim_t{1} << 20, kLargeStack = rlim_t{8} << 20;

struct Call {
  const std::function<int()>& work;
  int result = 0;
  std::exception_ptr error;
};

void* run_call(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  try {
    call.result = call.work();
  } catch (...) {
    call.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // open() takes the lowest number that is free, and all below this one are taken.
    if (::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd) std::_Exit(1);
  }
}

void provide_home() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return;
  const passwd* user = ::getpwuid(::getuid());
  ::setenv("HOME", user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/", 1);
}

int run_on_large_stack(const std::function<int()>& work) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kSmallStack) return work();
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kLargeStack);
  ::pthread_setattr_default_np(&attributes);
  // The kernel looks at the limit when a stack grows, not when the program starts.
  limit.rlim_cur = std::min(kLargeStack, limit.rlim_max);
  if (::setrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= kSmallStack) return work();
  Call call{work, 0, nullptr};
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, run_call, &call);
  ::pthread_attr_destroy(&attributes);
  if (error != 0)
    throw FailureError("no thread can be started: {}: raise the limit of the stack (ulimit -s)",
                       std::strerror(error));
  ::pthread_join(thread, nullptr);
  if (call.error) std::rethrow_exception(call.error);
  return call.result;
}

}  // namespace apsyn
