// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/mwa32t_frames.h"

namespace apsyn::reference {
namespace {

std::string word_bytes(const Mwa32tFormat& format, std::uint32_t word) {
  std::string bytes;
  for (unsigned i = 0; i < format.word_bits / 8; ++i) bytes += static_cast<char>(word >> (8 * i) & 0xFF);
  if (format.big) bytes.assign(bytes.rbegin(), bytes.rend());
  return bytes;
}

std::uint32_t marker_word(const std::string& pattern, std::uint32_t count, std::uint32_t chance) {
  std::uint32_t word = 0;
  unsigned counter_bit = 0;
  for (std::size_t bit = 0; bit < pattern.size(); ++bit) {
    const char letter = pattern[pattern.size() - 1 - bit];
    std::uint32_t value = letter == '1';
    if (letter == 'c') value = count >> counter_bit++ & 1;
    if (letter == 'x') value = chance >> bit & 1;
    word |= value << bit;
  }
  return word;
}

}  // namespace

Mwa32tStream::Mwa32tStream(const Mwa32tFormat& format, std::size_t first, std::size_t n, std::uint32_t count,
                           const InputSample& sample, std::uint32_t seed)
    : first_(first), frame_bytes_(17 * format.word_bits / 8), after_(n), fates_(n, FrameFate::intact) {
  std::mt19937 random(seed);
  const std::uint32_t mask = (1u << format.sample_bits) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t frame = first + i;
    std::string bytes =
        word_bytes(format, marker_word(format.marker, count + static_cast<std::uint32_t>(frame), random()));
    for (std::size_t input = 0; input < 16; ++input) {
      const SmallComplex value = sample(frame, input);
      bytes += word_bytes(format, (static_cast<std::uint32_t>(value.re) & mask) << format.real_bit |
                                      (static_cast<std::uint32_t>(value.im) & mask) << format.imag_bit);
    }
    frames_.push_back(bytes);
  }
}

void Mwa32tStream::drop(std::size_t frame) {
  frames_[frame - first_].clear();
  fates_[frame - first_] = FrameFate::lost;
}

void Mwa32tStream::flip_marker(std::size_t frame, unsigned bit) {
  char& byte = frames_[frame - first_][bit / 8];
  byte = static_cast<char>(byte ^ 1 << bit % 8);
  fates_[frame - first_] = FrameFate::damaged;
}

void Mwa32tStream::cut(std::size_t frame, std::size_t at, std::size_t n_bytes) {
  frames_[frame - first_].erase(at, n_bytes);
  fates_[frame - first_] = FrameFate::damaged;
}

void Mwa32tStream::insert(std::size_t frame, const std::string& junk) {
  frames_[frame - first_].insert(0, junk);
  // Whether the junk is behind the frame before or inside it cannot be told, unless it fills whole frames.
  if (junk.size() % frame_bytes_ != 0) fates_[frame - first_ - 1] = FrameFate::damaged;
}

void Mwa32tStream::repeat(std::size_t frame, std::size_t n) {
  std::string& after = after_[frame - first_];
  for (std::size_t i = frame + 1 - n; i <= frame; ++i) after += frames_[i - first_];
}

std::string Mwa32tStream::bytes() const {
  std::string all;
  for (std::size_t i = 0; i < frames_.size(); ++i) all += frames_[i] + after_[i];
  return all;
}

}  // namespace apsyn::reference
