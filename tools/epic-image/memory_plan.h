// SPDX-License-Identifier: GPL-3.0-or-later
// How much is worked on at a time, and the memory that it takes: the host's and a GPU's own. Nothing here
// changes a result.
#pragma once

#include <cstdint>

#include "kernels/epic/epic.h"
#include "libcore/base/error.h"
#include "libcore/system/program_memory.h"
#include "tools/epic-image/setup.h"

namespace apsyn {

[[noreturn]] inline void refuse_memory(double bytes, std::uint64_t max_memory_bytes) {
  throw UsageError("{}", memory_shortage(max_memory_bytes, bytes, "these images need",
                                         "allow more, or make fewer or smaller ones"));
}

/// Blocks, batches and memory. Only what --max-memory forces departs from the best block.
void plan_memory(EpicSetup& setup, const EpicCost& cost, std::uint64_t max_memory_bytes);

/// Before every pixel is looked at: images alone, and their pixels.
void check_size(const EpicSetup& setup, std::uint64_t max_memory_bytes);

/// What a GPU takes of the host's memory, besides: gulps in pinned memory; of a `live` stream one image at
/// most.
void plan_gpu(EpicSetup& setup, bool four_bit, bool live, std::uint64_t max_memory_bytes);

/// Of a GPU's own memory; only what images by fft take is known before.
void plan_device_memory(EpicSetup& setup, const EpicGeometry& geometry);

}  // namespace apsyn
