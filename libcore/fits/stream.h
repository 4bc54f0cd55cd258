// SPDX-License-Identifier: GPL-3.0-or-later
// FITS images that are written piece by piece: headers with checksums of data that CFITSIO never sees, and
// pixels as the words of the file. For libcore/fits only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/fits/builder.h"

namespace apsyn {

constexpr std::size_t kFitsBlock = 2880;

/// The sum of 32-bit words with the carries added at the end (FITS standard 4.0, appendix J).
std::uint32_t folded_sum(std::uint64_t sum);

/// Ends `fits`, made with all axes of length 1: the header with these axes (NAXIS1 first), DATASUM and
/// CHECKSUM, in whole blocks. Its size depends on neither axes nor sum.
std::string checked_header(FitsBuilder& fits, const std::vector<std::size_t>& axes, std::uint32_t data_sum);

/// Pixels as they are stored, big-endian. Returns the sum of their 32-bit words, not folded.
std::uint64_t to_fits_words(std::span<const float> pixels, std::uint32_t* words);
/// Rounded to float32, one word each.
std::uint64_t to_fits_words(std::span<const double> pixels, std::uint32_t* words);
/// Pixels as float64, two words each.
std::uint64_t to_fits_words(std::span<const double> pixels, std::uint64_t* words);

}  // namespace apsyn
