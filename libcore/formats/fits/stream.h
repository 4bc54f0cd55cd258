// SPDX-License-Identifier: GPL-3.0-or-later
// FITS images that are written piece by piece: headers with checksums of data that CFITSIO never sees, and
// pixels as the words of the file. For libcore/formats/fits only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/files/shared_file.h"
#include "libcore/formats/fits/builder.h"
#include "libcore/formats/fits/scan.h"
#include "libcore/system/parallel.h"

namespace apsyn {

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

/// Words that a thread converts and writes at a time: they are in its cache meanwhile, and their sum does not
/// overflow.
constexpr std::size_t kFitsPieceWords = std::size_t{1} << 16;

/// Writes n_pixels as the words of a file from byte `offset` on, piece by piece on threads: convert(first, n,
/// thread, words) makes the words of n pixels from `first` on and returns their sum. Returns the sum of all,
/// folded. Each thread converts into memory of its own, from which it writes.
template <class Word, class Convert>
std::uint32_t write_fits_words(OutputFile& output, std::size_t offset, std::size_t n_pixels,
                               unsigned n_threads, const Convert& convert) {
  const std::size_t n_piece = (n_pixels + kFitsPieceWords - 1) / kFitsPieceWords;
  const auto n_used = static_cast<unsigned>(std::clamp<std::size_t>(n_piece, 1, std::max(1u, n_threads)));
  std::vector<std::uint32_t> sums(n_piece);
  const std::unique_ptr<SharedFile> file = output.share(offset, n_pixels * sizeof(Word));
  // Neighbours, which lie in the same part of the file, and enough of them for every thread.
  const std::size_t at_once = std::clamp<std::size_t>(n_piece / n_used, 1, 8);
  parallel_for(n_used, (n_piece + at_once - 1) / at_once, [&](std::size_t item, unsigned thread) {
    thread_local std::vector<Word> words(kFitsPieceWords);  // for the images of a stream, one after the other
    for (std::size_t piece = item * at_once; piece < std::min(n_piece, (item + 1) * at_once); ++piece) {
      const std::size_t first = piece * kFitsPieceWords, n = std::min(kFitsPieceWords, n_pixels - first);
      sums[piece] = folded_sum(convert(first, n, thread, words.data()));
      output.write_share(*file, offset + first * sizeof(Word), words.data(), n * sizeof(Word));
    }
  });
  std::uint64_t sum = 0;
  for (const std::uint32_t of_piece : sums) sum += of_piece;
  return folded_sum(sum);
}

}  // namespace apsyn
