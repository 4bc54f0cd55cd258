// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/fits/load_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/fits/metafits.h"

namespace apsyn {

ArrayLayout load_layout(const std::string& name_or_path) {
  const auto names = builtin_array_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end()) return builtin_array(name_or_path);
  if (name_or_path.ends_with(".metafits") || name_or_path.ends_with(".fits"))
    return read_metafits(name_or_path);
  if (name_or_path.find_first_of("/.") == std::string::npos && !std::filesystem::exists(name_or_path))
    throw UsageError("{}: no file and no built-in array: give a file, or one of {}", name_or_path,
                     fmt::join(names, ", "));
  return read_antennas_csv(name_or_path);
}

}  // namespace apsyn
