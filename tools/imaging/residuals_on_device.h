// SPDX-License-Identifier: GPL-3.0-or-later
// Major cycles on a GPU that keeps the visibilities, if its memory holds them and everything that imaging
// needs (kernels/idg/residual_imager.h); of several processes each keeps a share of the rows. Elsewhere
// ResidualSource predicts block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/visibility/imaging.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// GPU memory that a group would take in this process; 0 if ResidualSource makes its residuals in any case:
/// on the CPU, with A-terms, several fields, several passes, or w layers outside the GPU's memory.
std::uint64_t bytes_on_device(const Imager& imager, const PreparedGroup& own);

/// Whether each process's GPU has that much memory for all groups, in addition to imager.beside_on_device.
/// All processes ask together.
bool fit_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups);

/// A line for people about where the major cycles of these groups get their visibilities; empty on the CPU.
std::string describe_cycles(const Imager& imager, const std::vector<PreparedGroup>& groups);

/// Lets the GPU keep the visibilities of all groups, if they fit.
void keep_on_device(Imager& imager, std::vector<PreparedGroup>& groups, const std::vector<Field>& fields,
                    ImagingSource& data);

/// For a group that is kept: makes its PSF and, with_model, the residual images for the present model.
/// `images`: of the first process, which gets what all make; null in the others.
void make_first_images_on_device(Imager& imager, PreparedGroup& own, std::size_t g, bool with_model,
                                 FieldImages* images);

/// For a group that is kept: makes its residual images from the visibilities minus the model.
void make_residuals_on_device(Imager& imager, PreparedGroup& own, std::size_t g, FieldImages* images);

}  // namespace apsyn::imaging
