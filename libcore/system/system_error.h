// SPDX-License-Identifier: GPL-3.0-or-later
// What the system refuses, and what helps.
#pragma once

#include <string>

namespace apsyn {

/// What helps when `reason` contains what strerror() says of an error of the system rather than of a file
/// (too many open files, no permission, no thread, a failing disk); null when it does not.
const char* cure_of_system_error(const std::string& reason);

/// What strerror() says, with the cure where there is one.
std::string system_error_text(int error);

}  // namespace apsyn
