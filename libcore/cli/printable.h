// SPDX-License-Identifier: GPL-3.0-or-later
// Text that may hold what input files say, made safe to show on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace apsyn {

/// Valid UTF-8 as it is, but for control characters and those that change the direction of text; these, and
/// bytes that are no UTF-8, are written \xNN for each byte. Characters of `allowed` pass, "\n" for example.
std::string escape_controls(std::string_view text, std::string_view allowed = {});

/// Words of more than 300 bytes lose their middle, and a text of more than 4000 its end, with a note of how
/// much.
std::string shorten(std::string_view text);

}  // namespace apsyn
