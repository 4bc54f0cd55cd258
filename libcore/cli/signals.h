// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace apsyn {

/// SIGINT, SIGTERM and SIGHUP remove pending outputs and then end the process as the shell expects; a broken
/// pipe becomes EPIPE. Call once, before any other thread starts.
void install_signal_handling();

/// Ends the process by the default action of `signal`.
[[noreturn]] void die_by_signal(int signal);

/// An exception that nothing can catch is logged, pending outputs are removed, and the process ends with
/// failure.
void install_terminate_handling();

}  // namespace apsyn
