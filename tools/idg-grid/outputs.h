// SPDX-License-Identifier: GPL-3.0-or-later
// Names and files of the images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"

namespace apsyn::idg_grid {

using namespace imaging;

/// Empty: not written.
struct OutputNames {
  std::string dirty, psf, beam;
};
/// NAME-dirty.fits and so on; `part` comes before the kind: "", "-0000" for a channel group, "-t0000" for an
/// interval, "-f1" for a field. "-" stays: standard output takes what is written.
OutputNames output_names(const Imager& imager, const std::string& part);

/// `part` as output_names() takes it.
void write_images(const Imager& imager, const std::string& part, const Field& field,
                  const GroupImages& images, const ChannelGroup& group, unsigned n_threads);

/// Memory of the sums of all fields and of an image of them that is being written.
std::uint64_t writing_bytes(const Imager& imager, std::size_t n_fields);

/// Fails before any long work when an output cannot be written.
void check_outputs(const Imager& imager, const std::vector<Field>& fields, std::size_t n_groups,
                   std::size_t n_intervals);

}  // namespace apsyn::idg_grid
