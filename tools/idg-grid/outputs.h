// SPDX-License-Identifier: GPL-3.0-or-later
// Names and files of the images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/formats/fits/image.h"
#include "libcore/image/image.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"

namespace apsyn::idg_grid {

using namespace imaging;

enum class Product { dirty, psf, beam };

/// Empty: not written.
struct OutputNames {
  std::string dirty, psf, beam;
  const std::string& of(Product product) const {
    return product == Product::dirty ? dirty : product == Product::psf ? psf : beam;
  }
};
/// NAME-dirty.fits and so on; `part` comes before the kind: "", "-0000" for a channel group, "-t0000" for an
/// interval, "-f1" for a field. "-" stays: standard output takes what is written.
OutputNames output_names(const Imager& imager, const std::string& part);

/// "I" and so on, of the planes of the image.
std::vector<std::string> plane_names(const Imager& imager);

/// Takes one of the images that are made of sums. `source` is valid during the call.
using PutProduct = std::function<void(Product product, const ImageInfo& info,
                                      const Buffer<double, 4>::Shape& shape, const FitsPixelSource& source)>;
/// Calls put() for each image that is asked for, at the same time where n_threads allow.
void make_products(const Imager& imager, const Field& field, const GroupImages& images,
                   const ChannelGroup& group, unsigned n_threads, const PutProduct& put);

/// `part` as output_names() takes it.
void write_images(const Imager& imager, const std::string& part, const Field& field,
                  const GroupImages& images, const ChannelGroup& group, unsigned n_threads);

/// Memory of the sums of all fields and of an image of them that is being written.
std::uint64_t writing_bytes(const Imager& imager, std::size_t n_fields);

/// Fails before any long work when an output cannot be written.
void check_outputs(const Imager& imager, const std::vector<Field>& fields, std::size_t n_groups,
                   std::size_t n_intervals);

}  // namespace apsyn::idg_grid
