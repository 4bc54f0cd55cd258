// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "libcore/core/output.h"
#include "libcore/io/fits_builder.h"
#include "libcore/io/fits_header.h"
#include "libcore/io/fits_image.h"

namespace apsyn {

void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite) {
  const auto& shape = image.pixels.shape();
  if (image.pixels.size() == 0 || shape[0] != image.info.stokes.size())
    throw std::invalid_argument("write_fits_image: the pixels do not have one plane per Stokes label");
  const FitsStokes stokes = fits_stokes(path, image.info.stokes);
  OutputFile output(path, overwrite);

  const std::size_t n_plane = shape[2] * shape[3];
  const std::size_t pixel_bytes = pixel == FitsPixel::float32 ? 4 : 8;
  FitsBuilder fits(path, image.pixels.size() * pixel_bytes + (64u << 10));
  fits.create_image(pixel, {static_cast<long>(shape[3]), static_cast<long>(shape[2]),
                            static_cast<long>(shape[1]), static_cast<long>(shape[0])});
  write_fits_coordinates(fits, image.info, {shape[3], shape[2]}, stokes);
  write_fits_description(fits, image.info);
  for (std::size_t plane = 0; plane < shape[0] * shape[1]; ++plane)
    fits.pixels(plane * n_plane, {image.pixels.data() + plane * n_plane, n_plane});
  fits.checksum();
  const std::span<const char> bytes = fits.finish();
  output.write(bytes.data(), bytes.size());
  output.commit();
}

}  // namespace apsyn
