// SPDX-License-Identifier: GPL-3.0-or-later
// What to say of an option that a tool does not have.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace apsyn {

/// The first long option of the command line that the tool does not have, with the one that was probably
/// meant: the only one that begins so, or the one that differs by the fewest letters, at most a third of
/// them. None when all are known: something else is wrong.
std::optional<std::string> unknown_option(const CLI::App& app, std::span<char* const> arguments);

}  // namespace apsyn
