// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace apsyn {

/// What a GPU has left now; 0 in a build without CUDA.
std::uint64_t cuda_free_memory_bytes(int device_index);

}  // namespace apsyn
