// SPDX-License-Identifier: GPL-3.0-or-later
// What a tool needs of the process that it is started in, where a shell, cron or a batch system leaves some
// of it out.
#pragma once

#include <functional>

namespace apsyn {

/// Opens /dev/null on those of the descriptors 0 to 2 that are closed, so that no file which is opened later
/// becomes standard output or receives messages. Reading a standard input and writing a standard output that
/// were closed fail: they are opened in the direction that nobody uses. Call it before anything else opens a
/// file.
void occupy_standard_descriptors();

/// Sets HOME, which casacore cannot do without, to the user's home folder when it is not set
/// or empty.
void provide_home();

/// Calls `work` on a stack of at least a megabyte and returns what it returns: on the caller's where that one
/// is large enough or may grow, else on a thread's. Threads that are started later get large stacks, too.
/// FailureError where a thread would be needed and none can be started.
int run_on_large_stack(const std::function<int()>& work);

}  // namespace apsyn
