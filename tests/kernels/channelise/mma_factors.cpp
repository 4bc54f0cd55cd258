// SPDX-License-Identifier: GPL-3.0-or-later
// Factors of the F stage on tensor cores, multiplied as a GPU multiplies them, against the filterbank's
// definition.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/channelise/mma_factors.h"
#include "kernels/channelise/pfb.h"
#include "libcore/base/constants.h"
#include "tests/reference/pfb.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(mma_factors)

namespace {

using Complex = std::complex<double>;

/// y(b, r), r = 0 .. 15, of one set from bytes in the order of m16n8k32's and m16n8k16's operands: word w of
/// lane l holds row l / 4 + 8 (w % 2) and four columns from 4 (l % 4) + 16 (w / 2).
std::vector<double> rows_of_set(const std::vector<std::uint8_t>& factors, std::size_t b, std::size_t n_taps,
                                const std::vector<std::vector<int>>& bytes) {
  const std::size_t n_steps = n_taps == 1 ? 1 : n_taps / 2, words = n_taps == 1 ? 2 : 4;
  float unit = 0;
  std::memcpy(&unit, factors.data(), sizeof(unit));
  std::vector<double> y(16);
  for (std::size_t step = 0; step < n_steps; ++step)
    for (std::size_t digit = 0; digit < 3; ++digit)
      for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t word = 0; word < words; ++word)
          for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t at =
                16 + ((((b * n_steps + step) * 3 + digit) * 32 + lane) * words + word) * 4 + i;
            const auto d = static_cast<std::int8_t>(factors[at]);
            const std::size_t tap = 2 * step + word / 2;
            y[lane / 4 + 8 * (word % 2)] +=
                unit * d * std::pow(2.0, -8.0 * static_cast<double>(digit)) * bytes[tap][4 * (lane % 4) + i];
          }
  return y;
}

/// The largest error of any bin over their RMS.
double error_of(bool real, std::size_t length, std::size_t n_taps) {
  std::mt19937 random(static_cast<unsigned>(length + n_taps));
  std::uniform_int_distribution<int> uniform(-128, 127);
  const std::size_t radix = real ? 16 : 8, behind = length / radix;
  std::vector<Complex> x(length * n_taps);
  for (auto& sample : x) {
    const double re = uniform(random);
    sample = {re, real ? 0.0 : uniform(random)};
  }
  std::vector<float> h = pfb_weights(length, {n_taps == 1 ? 0 : n_taps, Window::hann}, 1);
  if (h.empty()) h.assign(length, static_cast<float>(1 / std::sqrt(static_cast<double>(length))));
  const std::vector<std::uint8_t> factors = f_stage::mma_factors(real, static_cast<int>(length), h);
  std::vector<std::vector<double>> y;
  for (std::size_t b = 0; b < behind; ++b) {
    std::vector<std::vector<int>> bytes(n_taps, std::vector<int>(16));
    for (std::size_t tap = 0; tap < n_taps; ++tap)
      for (std::size_t k = 0; k < 16; ++k) {  // byte k % 4 of lane k / 4
        const std::size_t a = k / 4 + 4 * (real ? k % 4 : k % 4 / 2);
        const Complex sample = x[tap * length + behind * a + b];
        bytes[tap][k] = static_cast<int>(!real && k % 2 == 1 ? sample.imag() : sample.real());
      }
    y.push_back(rows_of_set(factors, b, n_taps, bytes));
  }
  double worst = 0, power = 0;
  for (std::size_t bin = 0; bin < length; ++bin) {
    // of real samples, first bins above P / 2 are the mirror images of those below
    std::size_t f = bin % radix, g = bin / radix;
    const bool mirror = real && f > radix / 2;
    if (mirror) f = (length - bin) % radix, g = (length - bin) / radix;
    Complex sum = 0;
    for (std::size_t b = 0; b < behind; ++b) {
      Complex value(y[b][f % 8], y[b][f % 8 + 8]);
      if (real && f % 8 == 0)
        value = f == 0
                    ? Complex(y[b][0])
                    : y[b][8] * std::polar(1.0, -kPi * static_cast<double>(b) / static_cast<double>(behind));
      sum += value * std::polar(1.0, -kTwoPi * static_cast<double>(b * g) / static_cast<double>(behind));
    }
    if (mirror) sum = std::conj(sum);
    Complex truth = 0;
    if (n_taps > 1) {
      truth = reference::pfb_spectrum(x, {length, n_taps, 0.5}, static_cast<double>(bin), 0);
    } else {
      for (std::size_t n = 0; n < length; ++n)
        truth += x[n] * std::polar(1.0, -kTwoPi * static_cast<double>(n * bin % length) /
                                            static_cast<double>(length));
      truth /= std::sqrt(static_cast<double>(length));
    }
    worst = std::max(worst, std::abs(sum - truth));
    power += std::norm(truth);
  }
  return worst / std::sqrt(power / static_cast<double>(length));
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_are_the_filterbank) {
  for (const bool real : {false, true})
    for (const std::size_t length : {64, 128, 256})
      for (const std::size_t n_taps : {1, 4}) {
        const double error = error_of(real, length, n_taps);
        BOOST_TEST_MESSAGE("length " << length << ", taps " << n_taps << ", real " << real << ": " << error);
        // taps are float32, weights are exact to 2^-24 of the largest: measured 1.1e-7 .. 3e-7
        BOOST_TEST(error < 6e-7);
      }
}

BOOST_AUTO_TEST_SUITE_END()
