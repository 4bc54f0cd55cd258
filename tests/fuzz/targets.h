// SPDX-License-Identifier: GPL-3.0-or-later
// Every parser of input that others wrote, as a function of bytes: libFuzzer drives them (fuzzer.cpp), and
// the stored cases go through them in the normal tests (replay.cpp).
#pragma once

#include <span>
#include <string_view>

namespace apsyn::fuzz {

struct Target {
  std::string_view name;  ///< and the folder of its cases
  /// Reads the bytes as a file of its format would be read. Errors of class apsyn::Error are the answer to
  /// bad input; anything else that leaves it is a bug. Whether the input was good.
  bool (*run)(std::string_view bytes);
};

std::span<const Target> targets();
/// nullptr when there is none of that name.
const Target* find_target(std::string_view name);

}  // namespace apsyn::fuzz
