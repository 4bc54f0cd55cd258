// SPDX-License-Identifier: GPL-3.0-or-later
// Standard error, shared by messages and the progress line. Any thread.
#pragma once

#include <string>

namespace apsyn {

/// Writes whole lines, taking the progress line away first.
void write_message(const std::string& lines);
/// Shows or replaces the progress line; an empty text removes it.
void show_progress_line(const std::string& line);

}  // namespace apsyn
