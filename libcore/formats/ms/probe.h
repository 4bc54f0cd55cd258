// SPDX-License-Identifier: GPL-3.0-or-later
// Opens a Measurement Set for the first time in a separate process. casacore trusts what table files say
// about themselves: damaged ones make it allocate gigabytes, read invalid addresses or end the process. For
// libcore/formats/ms only.
#pragma once

#include <functional>
#include <string>

namespace apsyn {

/// Runs `look` in a forked process that may use 256 MB more memory than this one plus the size of the set, or
/// plus a gigabyte if the rows are stored in other sets. DataError when that is not enough or the process
/// dies. Exceptions that `look` throws are ignored: the caller will get them when it does the same.
/// FailureError when no process can be started. `look` must change nothing but memory and start no thread.
void probe_in_subprocess(const std::string& path, const std::function<void()>& look);

}  // namespace apsyn
