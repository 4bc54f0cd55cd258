// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

#include "kernels/clean/deconvolve.h"
#include "libcore/system/device.h"

namespace apsyn {

/// Lets a GPU be ready to clean images of this size, with PSFs as large. cuFFT takes 0.15 to 0.2 s before it
/// can transform images of a size for the first time in a process, which a thread may spend while others
/// work. Nothing where it has no part in that, or where this fails: then it fails again when images are
/// cleaned.
void warm_up_cleaner(const Device& device, CleanAlgorithm algorithm, std::size_t ny, std::size_t nx);

}  // namespace apsyn
