// SPDX-License-Identifier: GPL-3.0-or-later
// LZF, the compression that h5py has beside those of libhdf5 (filter 32000), to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace apsyn::uvh5 {

/// Runs of literal bytes (first byte 0 to 31: one more byte than that), and copies of earlier output: the
/// first byte's upper three bits are the length less 2, 7 with another byte to be added, its lower five and
/// the next byte the distance less 1. Nothing for malformed input, or output of more than max_bytes.
std::optional<std::vector<std::uint8_t>> expand_lzf(std::span<const std::uint8_t> packed,
                                                    std::size_t max_bytes);

/// Lets libhdf5 read datasets that are compressed so.
void register_lzf();

}  // namespace apsyn::uvh5
