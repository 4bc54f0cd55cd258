// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace apsyn {

/// What a process that images takes by itself, whatever it images: its program, the libraries' code that it
/// goes through, stacks and the heap's small change. Measured with images of 32 x 32 pixels on one to eight
/// threads: idg-grid 36 to 39 MB, clean 48 to 50 MB; and 10 MB for the cells of sets that are being read.
inline constexpr std::uint64_t kProgramBytes = 60'000'000;

/// The same with so many sets open, each with the buffers of its tables: 0.44 MB (idg-grid) and 0.61 MB
/// (clean) a set, measured with 48 of them.
constexpr std::uint64_t program_bytes(std::size_t n_sets) {
  return kProgramBytes + 600'000 * n_sets;
}

/// What is left of so much for data.
constexpr std::uint64_t memory_for_data(std::uint64_t max_memory_bytes, std::size_t n_sets = 0) {
  return max_memory_bytes - std::min(max_memory_bytes, program_bytes(n_sets));
}

}  // namespace apsyn
