// SPDX-License-Identifier: GPL-3.0-or-later
// cuFFT takes 0.15 to 0.2 s before it can transform grids of a size for the first time in a process. A thread
// may spend them while an input is read.
#pragma once

#include <cstddef>

#include "kernels/idg/idg.h"

namespace apsyn {

/// Cells of the uv grid along an axis of so many pixels, as make_idg_plan() has them.
std::size_t uv_grid_cells(std::size_t n_pixels, const IdgSettings& settings);

/// Lets a GPU be ready for the layers of such images, whichever direction. Nothing where cuFFT has no part in
/// them, or where this fails: then it fails again when they are transformed.
void warm_up_transforms(const Device& device, const ImageGeometry& image, const IdgSettings& settings);

}  // namespace apsyn
