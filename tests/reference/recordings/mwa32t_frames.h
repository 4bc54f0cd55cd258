// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the frames of an MWA-32T receiver, word by word, and spoils them in known ways. Of every frame is
// known what a reader must make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace apsyn::reference {

struct Mwa32tFormat {
  std::string marker = "cccccccccccccccc";  // from the highest bit; c: counter, x: random
  unsigned word_bits = 16, sample_bits = 5, real_bit = 5, imag_bit = 0;
  bool big = false;
};

enum class FrameFate { intact, damaged, lost };

/// (frame counted on the common clock, input) -> real and imaginary part.
struct SmallComplex {
  int re, im;
};
using InputSample = std::function<SmallComplex(std::size_t frame, std::size_t input)>;

class Mwa32tStream {
 public:
  /// Frames first .. first + n - 1 of the clock, whose counter is `count` in frame 0 of the clock.
  Mwa32tStream(const Mwa32tFormat& format, std::size_t first, std::size_t n, std::uint32_t count,
               const InputSample& sample, std::uint32_t seed);

  void drop(std::size_t frame);                                      ///< the whole frame
  void flip_marker(std::size_t frame, unsigned bit);                 ///< one bit of the marker
  void cut(std::size_t frame, std::size_t at, std::size_t n_bytes);  ///< bytes out of the frame's middle
  void insert(std::size_t frame, const std::string& junk);           ///< before the frame
  void repeat(std::size_t frame, std::size_t n);  ///< after the frame the last n frames up to it come again
  std::string bytes() const;
  /// For every frame from `first` on.
  const std::vector<FrameFate>& fates() const { return fates_; }

 private:
  std::size_t first_, frame_bytes_;
  std::vector<std::string> frames_;  // as they go into the stream, damage included
  std::vector<std::string> after_;   // repeated frames
  std::vector<FrameFate> fates_;
};

}  // namespace apsyn::reference
