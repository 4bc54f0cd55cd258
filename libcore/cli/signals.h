// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn {

/// Turns a broken pipe into EPIPE, and a file that grows beyond its size limit into EFBIG.
void ignore_write_signals();

/// Starts the thread that removes pending outputs and ends the process as the shell expects when it receives
/// a signal that asks it to end: SIGINT, SIGTERM, SIGHUP, SIGQUIT, and what batch systems send before they
/// kill (SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM and other timers). Call it once, before any other thread starts.
/// FailureError when no thread can be started.
void watch_signals();

/// Ends the process by the default action of `signal`.
[[noreturn]] void die_by_signal(int signal);

/// An exception that nothing can catch is logged, pending outputs are removed, and the process ends with
/// failure.
void install_terminate_handling();

}  // namespace apsyn
