// SPDX-License-Identifier: GPL-3.0-or-later
// The sum of the images that processes have gridded their shares into. GPUs of one machine add them up among
// themselves, where their processes can reach each other's memory, and but one travels to the host; what is
// elsewhere is sent to the first process.
#pragma once

#include "kernels/idg/idg.h"
#include "libcore/base/view.h"
#include "libcore/system/ranks.h"

namespace apsyn::imaging {

/// Adds the images of a machine's processes to those of its first, one after the other, on its GPU. Whether
/// this process's are in another's now.
bool add_on_machine(Gridder& gridder, const Ranks& ranks);

/// Once all passes have ended: the images of the first process; those of the others are of no use.
Buffer<double, 3> take_summed_images(Gridder& gridder, const Ranks& ranks);

}  // namespace apsyn::imaging
