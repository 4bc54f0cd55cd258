// SPDX-License-Identifier: GPL-3.0-or-later
// What the parser of command lines leaves to be said.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace apsyn {

/// The first long option of the command line with a single hyphen, or that the tool does not have, with the
/// one that was probably meant: what WSClean calls so, the only one that begins so, or the one that differs
/// by the fewest letters, at most a third of them. None when all are known: something else is wrong.
std::optional<std::string> unknown_option(const CLI::App& app, std::span<char* const> arguments);

/// UsageError where "nan" is given for a number that has limits: the parser's ranges let it through.
void refuse_no_numbers(CLI::App& app);

}  // namespace apsyn
