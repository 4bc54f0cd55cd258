// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/stream.h"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace apsyn {
namespace {

constexpr bool kSwaps = std::endian::native == std::endian::little;

std::uint32_t stored(std::uint32_t word) {
  return kSwaps ? __builtin_bswap32(word) : word;
}

std::uint64_t word_sum(const std::string& text) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t word;
    std::memcpy(&word, text.data() + at, 4);
    sum += stored(word);
  }
  return sum;
}

/// Writes `value` over the one in the card of `keyword`, as far right as it stands there.
void replace_value(std::string& header, const std::string& keyword, const std::string& value) {
  std::string key = keyword;
  key.resize(8, ' ');
  for (std::size_t at = 0; at < header.size(); at += kFitsCard)
    if (header.compare(at, 8, key) == 0) {
      header.replace(at + 10, value.size(), value);
      return;
    }
  throw std::logic_error("checked_header: no card " + keyword);
}

}  // namespace

std::uint32_t folded_sum(std::uint64_t sum) {
  while (sum >> 32 != 0) sum = (sum & 0xffffffffu) + (sum >> 32);
  return static_cast<std::uint32_t>(sum);
}

std::string checked_header(FitsBuilder& fits, const std::vector<std::size_t>& axes, std::uint32_t data_sum) {
  const std::string zeros(16, '0');
  fits.key("DATASUM", fmt::format("{:010}", data_sum), "data unit checksum");
  fits.key("CHECKSUM", zeros, "HDU checksum");
  const std::span<const char> bytes = fits.finish();
  std::string text(bytes.data(), bytes.size());
  std::size_t end = 0;
  while (text.compare(end, 8, "END     ") != 0) end += kFitsCard;
  text.resize((end / kFitsBlock + 1) * kFitsBlock, ' ');
  for (std::size_t i = 0; i < axes.size(); ++i)
    replace_value(text, fmt::format("NAXIS{}", i + 1), fmt::format("{:>20}", axes[i]));
  char encoded[17] = "";
  fits_encode_chksum(folded_sum(word_sum(text) + data_sum), 1, encoded);
  replace_value(text, "CHECKSUM", "'" + std::string(encoded));
  return text;
}

namespace {

template <class Pixel>
[[gnu::always_inline]] inline std::uint64_t convert(const Pixel* pixels, std::size_t n,
                                                    std::uint32_t* words) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(pixels[i]));
    sum += word;
    words[i] = stored(word);
  }
  return sum;
}

[[gnu::always_inline]] inline std::uint64_t convert(const double* pixels, std::size_t n,
                                                    std::uint64_t* words) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto word = std::bit_cast<std::uint64_t>(pixels[i]);
    sum += (word >> 32) + (word & 0xffffffffu);
    words[i] = kSwaps ? __builtin_bswap64(word) : word;
  }
  return sum;
}

// Compilers know how to shuffle bytes with AVX2, which not every processor of this kind has.
#if defined(__x86_64__)
template <class Pixel, class Word>
__attribute__((target("avx2"))) std::uint64_t convert_avx2(const Pixel* pixels, std::size_t n, Word* words) {
  return convert(pixels, n, words);
}
#endif

template <class Pixel, class Word>
std::uint64_t convert_best(std::span<const Pixel> pixels, Word* words) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return convert_avx2(pixels.data(), pixels.size(), words);
#endif
  return convert(pixels.data(), pixels.size(), words);
}

}  // namespace

std::uint64_t to_fits_words(std::span<const float> pixels, std::uint32_t* words) {
  return convert_best(pixels, words);
}

std::uint64_t to_fits_words(std::span<const double> pixels, std::uint32_t* words) {
  return convert_best(pixels, words);
}

std::uint64_t to_fits_words(std::span<const double> pixels, std::uint64_t* words) {
  return convert_best(pixels, words);
}

}  // namespace apsyn
