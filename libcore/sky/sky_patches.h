// SPDX-License-Identifier: GPL-3.0-or-later
// Sky models by their column Patch: parts of the sky that share what the ionosphere and beams do to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/sky/sky_model.h"

namespace apsyn {

struct SkyPatch {
  std::string name;
  SkyDirection direction;  ///< the mean of its components, weighted by their Stokes I
  SkyModel sky;
};

/// In the order in which they first appear. DataError as parse_sky_model(), and where a component has no
/// patch.
std::vector<SkyPatch> parse_sky_patches(std::string_view text, const std::string& source);
std::vector<SkyPatch> read_sky_patches(const std::string& path);

}  // namespace apsyn
