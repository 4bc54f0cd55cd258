// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/output.h"
#include "libcore/system/ranks.h"
#include "libcore/system/system_error.h"

namespace apsyn {

void die_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the size limit: write() then fails like on a full disk
}

// Removing folders is no work for a signal handler, so a thread waits for the signals instead.
void watch_signals() {
  sigset_t set, before;
  sigemptyset(&set);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGVTALRM, SIGPROF}) {
    struct sigaction action {};
    // nohup and background jobs of simple shells ignore some of them on purpose; profilers handle theirs.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, &before);
  try {
    std::thread([set] {
      int signal = 0;
      if (sigwait(&set, &signal) != 0) return;
      remove_pending_outputs();
      die_by_signal(signal);
    }).detach();
  } catch (const std::system_error& error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw FailureError("no thread can be started: {}: raise the limit of processes (ulimit -u)",
                       error.code().message());
  }
}

// casacore throws from destructors when the disk is full, and rethrows nothing at some damaged tables.
void install_terminate_handling() {
  std::set_terminate([] {
    std::string text = "a library gave up";
    if (const std::exception_ptr current = std::current_exception()) {
      try {
        std::rethrow_exception(current);
      } catch (const std::exception& error) {
        text = error.what();
      } catch (...) {
      }
    }
    const char* cure = cure_of_system_error(text);
    log_message(LogLevel::error,
                text + ": " + (cure == nullptr ? "the input is damaged or the disk is full" : cure));
    remove_pending_outputs();
    end_ranks(static_cast<int>(ExitStatus::failure));
    ::_exit(static_cast<int>(ExitStatus::failure));
  });
}

}  // namespace apsyn
