// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "libcore/core/output.h"

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

// Removing folders is no work for a signal handler, so a thread waits for the signals instead.
void install_signal_handling() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // nohup and background jobs of simple shells ignore some of them on purpose
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set] {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) return;
    for (int attempt = 0; attempt < 3; ++attempt) remove_pending_outputs();
    die_by_signal(signal);
  }).detach();
}

}  // namespace apsyn
