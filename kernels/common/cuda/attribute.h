// SPDX-License-Identifier: GPL-3.0-or-later
// What a device has. Apart from cuda/check.h, which every kernel includes.
#pragma once

#include "kernels/common/cuda/check.h"

namespace apsyn {

/// Throws DeviceError when the device does not answer.
int device_attribute(cudaDeviceAttr what, int device_index);

}  // namespace apsyn
