// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/formats/fits/header.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/fits/stream.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Shape = Buffer<double, 4>::Shape;

constexpr std::size_t kPieces = 32;  // that go to standard output together, two of each thread at most

std::size_t pieces_together(unsigned n_threads) {
  return std::clamp<std::size_t>(2 * n_threads, 1, kPieces);
}

/// Makes words of the file out of pixels [first, first + n): convert(first, n, thread, words) returns their
/// sum.
template <class Word>
using Convert = std::function<std::uint64_t(std::size_t, std::size_t, unsigned, Word*)>;

/// A file's header gets the sum when the pixels are there.
template <class Word>
void write_to_file(OutputFile& output, std::size_t n_pixels, unsigned n_threads, const Convert<Word>& convert,
                   const std::function<std::string(std::uint32_t data_sum)>& header) {
  const std::size_t header_bytes = header(0).size(), data_bytes = n_pixels * sizeof(Word);
  const std::uint32_t sum = write_fits_words<Word>(output, header_bytes, n_pixels, n_threads, convert);
  const std::string padding((kFitsBlock - data_bytes % kFitsBlock) % kFitsBlock, '\0');
  output.write_at(header_bytes + data_bytes, padding.data(), padding.size());
  const std::string text = header(sum);
  if (text.size() != header_bytes) throw std::logic_error("write_fits_image: the header's size changed");
  output.write_at(0, text.data(), text.size());
}

/// To a pipe the header goes first and has the sum of all pixels, so they are converted twice.
template <class Word>
void write_in_order(OutputFile& output, std::size_t n_pixels, unsigned n_threads,
                    const Convert<Word>& convert,
                    const std::function<std::string(std::uint32_t data_sum)>& header) {
  const std::size_t together = pieces_together(n_threads);
  std::vector<Word> words(std::min(n_pixels, together * kFitsPieceWords));
  std::vector<std::uint32_t> sums(together);
  const auto each_group = [&](auto&& use) {
    for (std::size_t first = 0; first < n_pixels; first += words.size()) {
      const std::size_t n = std::min(words.size(), n_pixels - first),
                        n_piece = (n + kFitsPieceWords - 1) / kFitsPieceWords;
      parallel_for(n_threads, n_piece, [&](std::size_t piece, unsigned thread) {
        const std::size_t at = piece * kFitsPieceWords;
        sums[piece] =
            folded_sum(convert(first + at, std::min(kFitsPieceWords, n - at), thread, words.data() + at));
      });
      use(n, n_piece);
    }
  };
  std::uint64_t sum = 0;
  each_group([&](std::size_t, std::size_t n_piece) {
    for (std::size_t piece = 0; piece < n_piece; ++piece) sum += sums[piece];
  });
  const std::string text = header(folded_sum(sum));
  output.write(text.data(), text.size());
  each_group([&](std::size_t n, std::size_t) { output.write(words.data(), n * sizeof(Word)); });
  const std::string padding((kFitsBlock - n_pixels * sizeof(Word) % kFitsBlock) % kFitsBlock, '\0');
  output.write(padding.data(), padding.size());
}

/// convert32 and convert64 make the words of the two kinds of pixels.
void write_image(const std::string& path, const ImageInfo& info, const Shape& shape, FitsPixel pixel,
                 bool overwrite, unsigned n_threads, const Convert<std::uint32_t>& convert32,
                 const Convert<std::uint64_t>& convert64) {
  const std::size_t n_pixels = shape[0] * shape[1] * shape[2] * shape[3];
  if (n_pixels == 0 || shape[0] != info.stokes.size())
    throw std::invalid_argument("write_fits_image: the pixels do not have one plane per Stokes label");
  const FitsStokes stokes = fits_stokes(path, info.stokes);
  OutputFile output(path, overwrite);
  auto header = [&](std::uint32_t data_sum) {
    static std::mutex one_at_a_time;  // CFITSIO keeps a list of what is open
    std::lock_guard lock(one_at_a_time);
    FitsBuilder fits(path, 64u << 10);
    fits.create_image(pixel, {1, 1, 1, 1});
    write_fits_coordinates(fits, info, {shape[3], shape[2]}, stokes);
    write_fits_description(fits, info);
    return checked_header(fits, {shape[3], shape[2], shape[1], shape[0]}, data_sum);
  };
  const auto write = [&]<class Word>(const Convert<Word>& convert) {
    if (output.is_stdout())
      write_in_order<Word>(output, n_pixels, n_threads, convert, header);
    else
      write_to_file<Word>(output, n_pixels, n_threads, convert, header);
  };
  if (pixel == FitsPixel::float32)
    write(convert32);
  else
    write(convert64);
  output.commit();
}

}  // namespace

std::uint64_t fits_writing_bytes(std::uint64_t n_pixels, std::uint64_t pixel_bytes, unsigned n_threads) {
  return std::min<std::uint64_t>(n_pixels, kFitsPieceWords * pieces_together(n_threads)) *
         (pixel_bytes + sizeof(double));
}

void write_fits_image(const std::string& path, const Image& image, FitsPixel pixel, bool overwrite,
                      unsigned n_threads) {
  const std::span<const double> pixels(image.pixels.data(), image.pixels.size());
  const auto convert = [&](std::size_t first, std::size_t n, unsigned, auto* words) {
    return to_fits_words(pixels.subspan(first, n), words);
  };
  write_image(path, image.info, image.pixels.shape(), pixel, overwrite, n_threads, convert, convert);
}

void write_fits_image(const std::string& path, const ImageInfo& info, const Shape& shape,
                      const FitsPixelSource& source, FitsPixel pixel, bool overwrite, unsigned n_threads) {
  std::vector<std::vector<double>> made(std::max(1u, n_threads));
  const auto convert = [&](std::size_t first, std::size_t n, unsigned thread, auto* words) {
    made[thread].resize(kFitsPieceWords);
    const std::span<double> pixels = std::span(made[thread]).first(n);
    source(first, pixels);
    return to_fits_words(std::span<const double>(pixels), words);
  };
  write_image(path, info, shape, pixel, overwrite, n_threads, convert, convert);
}

}  // namespace apsyn
