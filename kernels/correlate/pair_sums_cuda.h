// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>

namespace apsyn {

class DevicePairSums;

/// Sums by the X stages on integers and on float32 (cuda/x_stage/device.cuh, cuda/float_stage.cuh), whichever
/// is asked for. DeviceError in a build without CUDA or without the device.
std::shared_ptr<DevicePairSums> make_device_pair_sums(std::size_t n_channel, std::size_t n_input,
                                                      int device_index);

}  // namespace apsyn
