// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/fits/header.h"
#include "libcore/fits/image.h"
#include "libcore/fits/stream.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;  // pixels that a thread takes at a time
constexpr std::size_t kPieces = 32;                   // that are written together, two of each thread at most

/// Pieces of the pixels as words of the file, side by side; their sum, which a sum of words below 2^18 pixels
/// cannot overflow.
template <class Word>
std::uint64_t convert(std::span<const double> pixels, std::vector<Word>& words, unsigned n_threads) {
  words.resize(pixels.size());
  const std::size_t n_piece = (pixels.size() + kPiece - 1) / kPiece;
  std::vector<std::uint64_t> sums(n_piece);
  parallel_for(n_threads, n_piece, [&](std::size_t piece, unsigned) {
    const std::size_t first = piece * kPiece;
    sums[piece] =
        to_fits_words(pixels.subspan(first, std::min(kPiece, pixels.size() - first)), words.data() + first);
  });
  std::uint64_t sum = 0;
  for (const std::uint64_t of_piece : sums) sum += folded_sum(of_piece);
  return folded_sum(sum);
}

std::size_t pixels_together(unsigned n_threads) {
  return kPiece * std::clamp<std::size_t>(2 * n_threads, 1, kPieces);
}

template <class Word, class Use>
std::uint32_t for_each_piece(std::span<const double> pixels, std::vector<Word>& words, unsigned n_threads,
                             Use&& use) {
  const std::size_t together = pixels_together(n_threads);
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < pixels.size(); first += together) {
    sum += convert(pixels.subspan(first, std::min(together, pixels.size() - first)), words, n_threads);
    use();
  }
  return folded_sum(sum);
}

/// The header stands first and has the sum of all pixels, so they are converted twice.
template <class Word>
void write_pixels(OutputFile& output, std::span<const double> pixels, unsigned n_threads,
                  const std::function<std::string(std::uint32_t data_sum)>& header) {
  std::vector<Word> words;
  const std::string text = header(for_each_piece(pixels, words, n_threads, [] {}));
  output.write(text.data(), text.size());
  for_each_piece(pixels, words, n_threads, [&] { output.write(words.data(), words.size() * sizeof(Word)); });
  const std::size_t beyond = pixels.size() * sizeof(Word) % kFitsBlock;
  const std::string padding(beyond == 0 ? 0 : kFitsBlock - beyond, '\0');
  output.write(padding.data(), padding.size());
}

}  // namespace

std::uint64_t fits_writing_bytes(std::uint64_t n_pixels, std::uint64_t pixel_bytes, unsigned n_threads) {
  return std::min<std::uint64_t>(n_pixels, pixels_together(n_threads)) * pixel_bytes;
}

void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite,
                      unsigned n_threads) {
  const auto& shape = image.pixels.shape();
  if (image.pixels.size() == 0 || shape[0] != image.info.stokes.size())
    throw std::invalid_argument("write_fits_image: the pixels do not have one plane per Stokes label");
  const FitsStokes stokes = fits_stokes(path, image.info.stokes);
  OutputFile output(path, overwrite);
  auto header = [&](std::uint32_t data_sum) {
    FitsBuilder fits(path, 64u << 10);
    fits.create_image(pixel, {1, 1, 1, 1});
    write_fits_coordinates(fits, image.info, {shape[3], shape[2]}, stokes);
    write_fits_description(fits, image.info);
    return checked_header(fits, {shape[3], shape[2], shape[1], shape[0]}, data_sum);
  };
  const std::span<const double> pixels(image.pixels.data(), image.pixels.size());
  if (pixel == FitsPixel::float32)
    write_pixels<std::uint32_t>(output, pixels, n_threads, header);
  else
    write_pixels<std::uint64_t>(output, pixels, n_threads, header);
  output.commit();
}

}  // namespace apsyn
