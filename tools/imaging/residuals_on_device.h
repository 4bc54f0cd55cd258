// SPDX-License-Identifier: GPL-3.0-or-later
// Major cycles by a GPU that keeps the visibilities, where it has room for them and for all that images are
// made with (kernels/idg/residual_imager.h). Elsewhere ResidualSource predicts block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/visibility/imaging.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// What a group would take of the GPU; 0 where its residuals are made by ResidualSource whatever there is
/// room for: on the CPU, by several processes, through A-terms, of several fields, in several passes, or with
/// w layers in other memory than the GPU's.
std::uint64_t bytes_on_device(const Imager& imager, const PreparedGroup& own);

/// Whether the GPU has that much for all groups, beside imager.beside_on_device.
bool fit_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups);

/// How the major cycles of these groups get at visibilities, for people; empty on the CPU.
std::string describe_cycles(const Imager& imager, const std::vector<PreparedGroup>& groups);

/// Lets the GPU keep the visibilities of all groups, if they fit.
void keep_on_device(Imager& imager, std::vector<PreparedGroup>& groups, const std::vector<Field>& fields,
                    ImagingSource& data);

/// For a group that is kept: its PSF, and its residual images of the model that is there, if any.
void make_first_images_on_device(Imager& imager, PreparedGroup& own, std::size_t g, bool with_model,
                                 FieldImages& images);

/// For a group that is kept: its residual images are those of the visibilities less the model.
void make_residuals_on_device(Imager& imager, PreparedGroup& own, std::size_t g, FieldImages& images);

}  // namespace apsyn::imaging
