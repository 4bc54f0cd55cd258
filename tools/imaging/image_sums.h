// SPDX-License-Identifier: GPL-3.0-or-later
// Sums the images of all processes. GPUs of one machine add theirs directly where they can reach each other's
// memory, so that only one image is copied to the host; images of other machines are sent to the first
// process.
#pragma once

#include "kernels/idg/idg.h"
#include "libcore/base/view.h"
#include "libcore/system/ranks.h"

namespace apsyn::imaging {

/// Adds the images of a machine's processes to those of its first, one after another, on its GPU. True when
/// this process's images have been added to another's.
bool add_on_machine(Gridder& gridder, const Ranks& ranks);

/// Once all passes have ended: the images of the first process; those of the others are of no use.
Buffer<double, 3> take_summed_images(Gridder& gridder, const Ranks& ranks);

}  // namespace apsyn::imaging
