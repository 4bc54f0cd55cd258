// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/flux_unit.h"

#include <algorithm>
#include <cctype>

namespace apsyn {

std::optional<FluxUnit> find_flux_unit(std::string_view name) {
  for (const FluxUnit unit : {FluxUnit::adu, FluxUnit::jansky})
    if (name == name_of(unit)) return unit;
  return std::nullopt;
}

FluxUnit unit_of_image(std::string_view bunit) {
  constexpr std::string_view kAdu = "adu";
  const bool arbitrary =
      bunit.size() >= kAdu.size() && std::equal(kAdu.begin(), kAdu.end(), bunit.begin(), [](char a, char b) {
        return a == std::tolower(static_cast<unsigned char>(b));
      });
  return arbitrary ? FluxUnit::adu : FluxUnit::jansky;
}

}  // namespace apsyn
