// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/regions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "libcore/image/image.h"
#include "libcore/sky/regions.h"
#include "tools/epic-image/products.h"

namespace apsyn {

std::vector<std::vector<std::uint32_t>> region_pixels(const EpicSetup& setup, const SkyDirection& centre) {
  ImageInfo info;
  info.centre = centre;
  info.cell_rad = setup.epic.cell;
  std::vector<std::vector<std::uint32_t>> pixels;
  const std::vector<Region>& all = setup.regions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].exclude) continue;
    std::vector<Region> one{all[i]};
    std::copy_if(all.begin() + static_cast<std::ptrdiff_t>(i), all.end(), std::back_inserter(one),
                 [](const Region& region) { return region.exclude; });
    const auto mask = region_mask(one, info, setup.epic.nx, setup.epic.ny, setup.regions_path);
    pixels.emplace_back();
    for (std::size_t pixel = 0; pixel < mask.size(); ++pixel)
      if (mask.data()[pixel] != 0) pixels.back().push_back(static_cast<std::uint32_t>(pixel));
  }
  return pixels;
}

bool measures_regions(const EpicSetup& setup) {
  const EpicPlan& epic = setup.epic;
  if (setup.regions.empty() || epic.field || setup.planes.size() != epic.n_plane() || epic.cross)
    return false;
  // XX and YY, or the total in the place of XX
  for (std::size_t plane = 0; plane < setup.planes.size(); ++plane) {
    ProductMix wanted{};
    wanted[epic.first ? plane : 1] = 1;
    if (setup.planes[plane].real != wanted || setup.planes[plane].imaginary != ProductMix{}) return false;
  }
  return true;
}

}  // namespace apsyn
