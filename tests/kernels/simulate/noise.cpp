// SPDX-License-Identifier: GPL-3.0-or-later
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/simulate/noise.h"

using namespace apsyn::simulate;
using Complex = std::complex<float>;

BOOST_AUTO_TEST_SUITE(noise)

namespace {
std::vector<Complex> noise(std::uint64_t seed, const NoiseStream& stream, std::int64_t first, std::size_t n) {
  std::vector<Complex> samples(n, Complex(NAN, NAN));
  gaussian_noise(seed, stream, first, samples);
  return samples;
}
}  // namespace

// The known answers published with the generator.
BOOST_AUTO_TEST_CASE(philox_gives_the_published_answers) {
  using Counter = std::array<std::uint32_t, 4>;
  BOOST_TEST((philox({0, 0, 0, 0}, {0, 0}) == Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  BOOST_TEST((philox({ones, ones, ones, ones}, {ones, ones}) ==
              Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_TEST((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The vector path against the formula in the header, evaluated in float64 from the scalar generator.
BOOST_AUTO_TEST_CASE(samples_follow_the_formula) {
  const std::uint64_t seed = 0x123456789abcdef0;
  const NoiseStream stream{NoiseKind::receiver, 77, 3, 1};
  for (std::int64_t first :
       {std::int64_t{0}, std::int64_t{-20}, std::int64_t{0x1fffffff0}}) {  // crosses 2^32 blocks
    const auto samples = noise(seed, stream, first, 101);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint64_t block = static_cast<std::uint64_t>(first / 2) + i / 2, id = stream.id();
      const auto x = philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                             static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)},
                            {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      const double u0 = ((x[2 * (i % 2)] >> 8) + 0.5) * 0x1p-24,
                   u1 = ((x[2 * (i % 2) + 1] >> 8) + 0.5) * 0x1p-24;
      const std::complex<double> expected = std::sqrt(-std::log(u0)) * std::polar(1.0, 2 * M_PI * (u1 - 0.5));
      BOOST_TEST(std::abs(std::complex<double>(samples[i]) - expected) < 3e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_part_of_a_stream_is_the_same) {
  const NoiseStream stream{NoiseKind::source, 1, 0, 0};
  const auto whole = noise(5, stream, -64, 1000);
  for (std::size_t n : {1u, 2u, 3u, 15u, 64u, 333u}) {
    const auto part = noise(5, stream, 36, n);
    for (std::size_t i = 0; i < n; ++i) BOOST_TEST(part[i] == whole[100 + i]);
  }
}

BOOST_AUTO_TEST_CASE(noise_has_gaussian_moments_and_streams_are_independent) {
  const std::size_t n = 1 << 20;
  const auto a = noise(1, {NoiseKind::source, 0, 0, 0}, 0, n),
             b = noise(1, {NoiseKind::source, 0, 0, 1}, 0, n);
  const auto other_seed = noise(2, {NoiseKind::source, 0, 0, 0}, 0, n);
  std::complex<double> mean = 0, squared = 0, cross = 0, seeds = 0, lag = 0;
  double power = 0, fourth = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::complex<double> x(a[i]);
    mean += x, squared += x * x, power += std::norm(x), fourth += std::norm(x) * std::norm(x);
    cross += x * std::conj(std::complex<double>(b[i]));
    seeds += x * std::conj(std::complex<double>(other_seed[i]));
    lag += x * std::conj(std::complex<double>(a[(i + 1) % n]));
  }
  const double error = 5 / std::sqrt(double(n));  // each sum of n terms of unit variance, five sigma
  BOOST_TEST(std::abs(mean) / n < error);
  BOOST_TEST(std::abs(squared) / n < error * std::sqrt(2));
  BOOST_TEST(std::abs(power / n - 1) < error);
  BOOST_TEST(std::abs(fourth / n - 2) < error * std::sqrt(20));  // var |g|^4 = 24 - 4
  BOOST_TEST(std::abs(cross) / n < error);
  BOOST_TEST(std::abs(seeds) / n < error);
  BOOST_TEST(std::abs(lag) / n < error);
}

BOOST_AUTO_TEST_CASE(odd_start_is_refused) {
  std::vector<Complex> samples(4);
  BOOST_CHECK_THROW(gaussian_noise(1, {}, 3, samples), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
