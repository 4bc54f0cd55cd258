// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/region_mask.h"

#include "kernels/clean/clean_image.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/image.h"
#include "libcore/sky/regions.h"

namespace apsyn::clean {

Buffer<std::uint8_t, 2> read_region_mask(const std::string& path, const ImageInfo& info, std::size_t nx,
                                         std::size_t ny) {
  constexpr std::size_t kMaxBytes = 16 << 20;
  return region_mask(parse_regions(read_text_file(path, kMaxBytes), path), info, nx, ny, path);
}

Buffer<std::uint8_t, 2> read_mask(const std::string& path, const ImagingOptions& wanted,
                                  const SkyDirection& centre) {
  Buffer<std::uint8_t, 2> mask;
  if (path.empty()) return mask;
  if (is_region_text(path)) {
    ImageInfo info;
    info.centre = centre;
    info.cell_rad = wanted.cell_rad;
    return read_region_mask(path, info, wanted.n_x, wanted.n_y);
  }
  const Image image = read_fits_image(path);
  if (image.pixels.extent(2) != wanted.n_y || image.pixels.extent(3) != wanted.n_x)
    throw DataError("{}: a mask of {} x {} pixels for images of {} x {}: give one of their size", path,
                    image.pixels.extent(3), image.pixels.extent(2), wanted.n_x, wanted.n_y);
  return allowed_by(image);
}

}  // namespace apsyn::clean
