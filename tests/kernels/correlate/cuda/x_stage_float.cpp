// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA X stage on float32: register tiles and the paper's designs, exactly on small integers and within
// their rounding on noise.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <random>

#include "libcore/base/error.h"
#include "tests/reference/input_products.h"
#include "tests/support/x_stages_on_host_samples.h"

using namespace apsyn;
using namespace apsyn::reference;
using support::HostFloatStage;

BOOST_AUTO_TEST_SUITE(x_stage_float)

namespace {

using Algorithm = FloatAlgorithm;
constexpr Algorithm kAll[] = {Algorithm::register_tiles, Algorithm::pair,    Algorithm::group2,
                              Algorithm::group4,         Algorithm::hybrid2, Algorithm::hybrid4};
constexpr double kPoison = -12345.678;

struct Shape {
  std::size_t n_chan, n_input, n_spectra;
};

void check_exact(const Shape& s, Algorithm algorithm) {
  BOOST_TEST_CONTEXT(s.n_chan << " channels, " << s.n_input << " inputs, " << s.n_spectra
                              << " spectra, algorithm " << static_cast<int>(algorithm)) {
    HostFloatStage stage({s.n_chan, s.n_input, algorithm}, 0);
    Buffer<std::int64_t, 3> expected({s.n_chan, s.n_input * (s.n_input + 1) / 2, 2});
    Buffer<double, 3> sums(expected.shape());
    for (unsigned round = 0; round < 2; ++round) {  // the second round shows that finish() starts anew
      sums.fill(kPoison);
      expected.fill(0);
      for (unsigned part = 0; part < 2; ++part) {
        const auto x = random_samples(s.n_spectra, s.n_chan, s.n_input, Values::four_bit, 10 * round + part);
        Buffer<std::complex<float>, 3> samples({s.n_chan, s.n_spectra, s.n_input});
        for (std::size_t chan = 0; chan < s.n_chan; ++chan)
          for (std::size_t t = 0; t < s.n_spectra; ++t)
            for (std::size_t i = 0; i < s.n_input; ++i)
              samples(chan, t, i) = {float(x(t, chan, i, 0)), float(x(t, chan, i, 1))};
        stage.add(samples);
        add_products(x, 1, expected);
      }
      stage.finish(sums);
      BOOST_TEST(std::equal(sums.begin(), sums.end(), expected.begin(),
                            [](double a, std::int64_t b) { return a == double(b); }));
    }
  }
}

/// The largest error of a sum, relative to sqrt(S_ii S_jj).
double error_on_noise(const Shape& s, Algorithm algorithm) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Buffer<std::complex<float>, 3> samples({s.n_chan, s.n_spectra, s.n_input});
  for (std::complex<float>& sample : samples) sample = {1e-3f * normal(random), 1e-3f * normal(random)};
  HostFloatStage stage({s.n_chan, s.n_input, algorithm}, 0);
  Buffer<double, 3> sums({s.n_chan, s.n_input * (s.n_input + 1) / 2, 2});
  sums.fill(kPoison);
  stage.add(samples);
  stage.finish(sums);
  double worst = 0;
  for (std::size_t chan = 0; chan < s.n_chan; ++chan) {
    Buffer<std::complex<double>, 2> exact({s.n_input, s.n_input});
    for (std::size_t t = 0; t < s.n_spectra; ++t)
      for (std::size_t i = 0; i < s.n_input; ++i)
        for (std::size_t j = i; j < s.n_input; ++j)
          exact(i, j) += std::complex<double>(samples(chan, t, i)) *
                         std::conj(std::complex<double>(samples(chan, t, j)));
    std::size_t pair = 0;
    for (std::size_t i = 0; i < s.n_input; ++i)
      for (std::size_t j = i; j < s.n_input; ++j, ++pair) {
        const std::complex<double> sum(sums(chan, pair, 0), sums(chan, pair, 1));
        const double scale = std::sqrt(exact(i, i).real() * exact(j, j).real());
        worst = std::max(worst, std::abs(sum - exact(i, j)) / scale);
      }
  }
  return worst;
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (Algorithm algorithm : kAll) check_exact({2, 66, 7}, algorithm);
}

BOOST_AUTO_TEST_CASE(small_integers_are_exact) {
  for (Algorithm algorithm : kAll)
    for (std::size_t n_input : {1, 2, 3, 5, 63, 66})
      for (std::size_t n_spectra : {1, 7, 72}) check_exact({3, n_input, n_spectra}, algorithm);
  for (Algorithm algorithm : kAll) {
    check_exact({130, 6, 20}, algorithm);   // more channels than threads of a block
    check_exact({1, 4, 2500}, algorithm);   // several launches
    check_exact({2, 131, 200}, algorithm);  // several tiles
  }
}

BOOST_AUTO_TEST_CASE(noise_rounds_as_promised) {
  BOOST_TEST(error_on_noise({2, 40, 6000}, Algorithm::register_tiles) <= 1e-6);
  for (Algorithm algorithm : kAll) BOOST_TEST(error_on_noise({2, 20, 3000}, algorithm) <= 1e-5);
}

BOOST_AUTO_TEST_CASE(nothing_added_is_zero) {
  HostFloatStage stage({2, 3}, 0);
  stage.repeat();
  Buffer<double, 3> sums({2, 6, 2});
  sums.fill(kPoison);
  stage.finish(sums);
  BOOST_TEST(std::count(sums.begin(), sums.end(), 0.0) == 24);
}

BOOST_AUTO_TEST_CASE(wrong_shapes_throw) {
  BOOST_CHECK_THROW(DeviceFloatStage({0, 4}, 0), UsageError);
  BOOST_CHECK_THROW(DeviceFloatStage({1, 4097, Algorithm::pair}, 0), UsageError);
  BOOST_CHECK_THROW(DeviceFloatStage({1, 4}, 1000), DeviceError);
}

BOOST_AUTO_TEST_SUITE_END()
