// SPDX-License-Identifier: GPL-3.0-or-later
// Reproducible Gaussian noise from a counter: sample n of a stream is a pure function of (seed, stream, n),
// so that any thread may make any part of it, in any order.
//
// Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3",
// SC11), key = seed, counter = (n / 2, stream), each a 64-bit word, low half first. Its four outputs x0..x3
// give samples n = 2c from (x0, x1) and 2c + 1 from (x2, x3) by Box and Muller:
//   u = ((x >> 8) + 1/2) 2^-24,   g = sqrt(-ln u0) exp(2 pi i u1),   so <|g|^2> = 1.
// 24 bits bound |g|^2 by 17.3: deviations beyond 5.9 sigma of one component do not occur.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

namespace apsyn::simulate {

/// One block of the generator.
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key);

enum class NoiseKind : std::uint64_t {
  source = 1,
  receiver = 2,
  dropped_packets = 3,
  visibility = 4,
  ionosphere = 5
};

/// Names an independent stream of numbers.
struct NoiseStream {
  NoiseKind kind = NoiseKind::source;
  std::uint32_t index = 0;  ///< emitter, antenna, baseline or step
  std::uint16_t chan = 0;
  std::uint8_t pol = 0;
  std::uint64_t id() const {
    return static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(pol) << 48 |
           static_cast<std::uint64_t>(chan) << 32 | index;
  }
};

/// Complex Gaussian samples first .. first + noise.size() - 1 with <|g|^2> = 1, real and imaginary part
/// independent. `first` must be even (std::invalid_argument); it may be negative.
void gaussian_noise(std::uint64_t seed, const NoiseStream& stream, std::int64_t first,
                    std::span<std::complex<float>> noise);

/// Uniform in (0, 1), element n of the stream.
double uniform_noise(std::uint64_t seed, const NoiseStream& stream, std::int64_t n);

}  // namespace apsyn::simulate
