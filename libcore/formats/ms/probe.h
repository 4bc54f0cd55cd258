// SPDX-License-Identifier: GPL-3.0-or-later
// A first look at a Measurement Set in a process of its own. casacore trusts what table files say about
// themselves: damaged ones make it ask for gigabytes, read wild addresses or end the process. For
// libcore/formats/ms only.
#pragma once

#include <functional>
#include <string>

namespace apsyn {

/// Runs `look` in a forked process that may take 256 MB more than this one and at most the size of the set on
/// top, or a gigabyte where its rows are those of other sets. DataError when that is not enough or the
/// process dies; what `look` throws is left to whoever does the same again. FailureError when no process can
/// be started. `look` must leave no trace but in memory and start no thread.
void probe_in_subprocess(const std::string& path, const std::function<void()>& look);

}  // namespace apsyn
