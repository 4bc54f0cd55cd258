// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "libcore/base/units.h"
#include "libcore/system/device.h"

namespace apsyn {

/// What a process that images takes by itself, whatever it images: its program, the libraries' code that it
/// goes through, stacks and the heap's small change. Measured with images of 32 x 32 pixels on one to eight
/// threads: idg-grid 36 to 39 MB, clean 42 to 45 MB.
inline constexpr std::uint64_t kProgramBytes = 42'000'000;

/// What the CUDA code of a program takes besides, whether it is used or not: 8.2 to 9.6 MB were measured.
inline std::uint64_t cuda_program_bytes() {
  return built_with_cuda() ? 9'000'000 : 0;
}

/// The same with so many sets open, each with the buffers of its tables: 0.44 MB (idg-grid) and 0.61 MB
/// (clean) a set, measured with 48 of them.
inline std::uint64_t program_bytes(std::size_t n_sets) {
  return kProgramBytes + cuda_program_bytes() + 600'000 * n_sets;
}

/// The same of a program that has no CUDA code, however it was built.
inline std::uint64_t cpu_program_bytes(std::size_t n_sets) {
  return kProgramBytes + 600'000 * n_sets;
}

/// What is left of so much for data.
inline std::uint64_t memory_for_data(std::uint64_t max_memory_bytes, std::size_t n_sets = 0) {
  return max_memory_bytes - std::min(max_memory_bytes, program_bytes(n_sets));
}

/// Gives back to the system what was freed in pieces that malloc() keeps for the next of their size: one
/// stage's are of no use to another.
inline void return_freed_memory() {
  malloc_trim(0);
}

/// What malloc() keeps of memory that was freed in pieces too small to be mapped, after
/// keep_little_freed_memory().
inline constexpr std::uint64_t kKeptBytes = 16 << 20;

/// Grids, images, blocks and whatever else has `mapped_bytes` or more go back to the system when they are
/// freed. By default malloc() raises that limit to the largest piece that was freed, up to 32 MB, and keeps
/// smaller ones for the next of their size: one stage's are of no use to another, and how many threads keep
/// some at a time differs from run to run. It does so for each thread by itself, of which two heaps are
/// enough here: no loop allocates.
inline void keep_little_freed_memory(int mapped_bytes = 1 << 20) {
  mallopt(M_MMAP_THRESHOLD, mapped_bytes);
  mallopt(M_TRIM_THRESHOLD, int{kKeptBytes});
  mallopt(M_ARENA_MAX, 2);
}

/// What drawing a picture of about so many pixels on a side takes, until it is written: the font and, at 4000
/// pixels, 10.7 bytes a pixel were measured.
constexpr std::uint64_t picture_bytes(std::size_t size) {
  return 4'000'000 + std::uint64_t{11} * size * size;
}

/// Says that --max-memory is too small, and what is large enough. `what`: "this image needs".
inline std::string memory_shortage(std::uint64_t max_memory_bytes, double needed_bytes,
                                   const std::string& what, const std::string& cure) {
  return "--max-memory " + format_bytes(static_cast<double>(max_memory_bytes)) + ": " + what + " at least " +
         format_bytes_upwards(needed_bytes) + ": " + cure;
}

}  // namespace apsyn
