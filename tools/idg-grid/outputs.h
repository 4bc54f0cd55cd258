// SPDX-License-Identifier: GPL-3.0-or-later
// Names and files of the images.
#pragma once

#include <string>
#include <vector>

#include "libcore/core/output.h"
#include "libcore/io/fits_image.h"
#include "tools/idg-grid/options.h"
#include "tools/imaging/images.h"

namespace apsyn::idg_grid {

/// NAME, or NAME-0000, NAME-0001, ... NAME-MFS with several channel groups; "-" stays.
struct OutputNames {
  std::string dirty, psf, beam;
};
inline OutputNames output_names(const Imager& imager, const std::string& part) {
  const std::string& name = imager.tool.common().output;
  if (name == "-") return {imager.options.psf_only ? "" : "-", imager.options.no_psf ? "" : "-", ""};
  return {imager.options.psf_only ? "" : name + part + "-dirty.fits",
          imager.options.no_psf ? "" : name + part + "-psf.fits",
          imager.aterms() ? name + part + "-beam.fits" : ""};
}

inline void write_images(const Imager& imager, const std::string& part, const Field& field,
                         const GroupImages& images, const ChannelGroup& group) {
  const OutputNames names = output_names(imager, field.suffix + part);
  std::vector<std::string> planes;
  for (const PlaneRecipe& plane : imager.planes) planes.push_back(plane.name);
  const Options& options = imager.options;
  const Extent dirty{options.imaging.n_x, options.imaging.n_y};
  const Extent psf = options.psf_size == 0 ? dirty : Extent{options.psf_size, options.psf_size};
  auto write = [&](const std::string& path, const Image& image) {
    write_fits_image(path, image, options.bitpix == -64 ? FitsPixel::float64 : FitsPixel::float32,
                     imager.tool.common().overwrite, imager.threads());
  };
  if (!names.dirty.empty()) {
    Image image = cut_image(imager, field, images, 0, planes, group, dirty);
    if (imager.aterms()) write(names.beam, take_beam_out(imager, field, images, group, image));
    write(names.dirty, image);
  }
  if (!names.psf.empty())
    write(names.psf, cut_image(imager, field, images, imager.n_data_planes(), {planes[0]}, group, psf));
}

/// Fails before any long work when an output cannot be written.
inline void check_outputs(const Imager& imager, const std::vector<Field>& fields, std::size_t n_groups) {
  for (const Field& field : fields)
    for (std::size_t g = 0; g < n_groups + (n_groups > 1 ? 1 : 0); ++g) {
      const OutputNames names =
          output_names(imager, field.suffix + (g == n_groups ? "-MFS" : part_name(g, n_groups)));
      for (const std::string& path : {names.dirty, names.psf, names.beam})
        if (!path.empty()) check_output(path, imager.tool.common().overwrite);
    }
}

}  // namespace apsyn::idg_grid
