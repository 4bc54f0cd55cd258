// SPDX-License-Identifier: GPL-3.0-or-later
// The built-in arrays. Each table is an antennas CSV whose comments name its source.
#include <fmt/ranges.h>

#include "libcore/array/array_layout.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

struct BuiltinArray {
  std::string_view name, telescope, csv;
};

constexpr BuiltinArray kArrays[] = {
    {
        "mwa-32t",
        "MWA-32T",
#include "libcore/array/builtin/mwa_32t.inc"
    },
    {
        "mwa-128t",
        "MWA",
#include "libcore/array/builtin/mwa_128t.inc"
    },
    {
        "lwa-sv",
        "LWA-SV",
#include "libcore/array/builtin/lwa_sv.inc"
    },
    {
        "best-2",
        "BEST-2",
#include "libcore/array/builtin/best_2.inc"
    },
    {
        "ska1-low-core",
        "SKA1-LOW",
#include "libcore/array/builtin/ska1_low_core.inc"
    },
    {
        "vla-a",
        "VLA",
#include "libcore/array/builtin/vla_a.inc"
    },
};

}  // namespace

std::vector<std::string> builtin_array_names() {
  std::vector<std::string> names;
  for (const BuiltinArray& array : kArrays) names.emplace_back(array.name);
  return names;
}

ArrayLayout builtin_array(std::string_view name) {
  for (const BuiltinArray& array : kArrays) {
    if (array.name != name) continue;
    ArrayLayout layout = parse_antennas_csv(array.csv, std::string(name));
    layout.telescope = array.telescope;
    return layout;
  }
  throw UsageError("array '{}' is not built in: give one of {}, or a file", name,
                   fmt::join(builtin_array_names(), ", "));
}

}  // namespace apsyn
