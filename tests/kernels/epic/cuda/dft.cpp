// SPDX-License-Identifier: GPL-3.0-or-later
// dft with CUDA against the sums of its definition in float64.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "kernels/correlate/pair_sums_cuda.h"
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/corr/cuda/engine.cuh"
#include "kernels/epic/epic_cuda.h"
#include "libcore/array/array_layout.h"
#include "tests/support/epic/comparison.h"
#include "tests/support/resident_spectra.cuh"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(dft)

namespace {

std::unique_ptr<DirectImager> half(EpicPlan plan) {
  return make_dft_imager_cuda(std::move(plan), EpicPrecision::half, 0);
}

const Method kExact[] = {
    {"dft, cuda",
     [](EpicPlan plan) { return make_dft_imager_cuda(std::move(plan), EpicPrecision::single, 0); }, true}};

/// Each part of a weight is rounded to 1/127: relative to the peak of n antennas, the image's error is twice
/// the RMS of a complex rounding over sqrt(n), and five times that at the worst of many pixels.
double rounding_error(std::size_t n_ant) {
  return 5 * 2 * std::sqrt(2.0 / 12) / 127 / std::sqrt(static_cast<double>(n_ant));
}

/// Measured on an H200: 3e-6 and 4.3e-4.
const DeviceMethod kDevice[] = {
    {"dft, single",
     [](EpicPlan plan) { return make_dft_imager_cuda(std::move(plan), EpicPrecision::single, 0); }, 3e-5},
    {"dft, half", [](EpicPlan plan) { return make_dft_imager_cuda(std::move(plan), EpicPrecision::half, 0); },
     rounding_error(90)}};

}  // namespace

#include "tests/support/epic/exact_cases.h"
#include "tests/support/epic/resident_cases.h"

BOOST_AUTO_TEST_CASE(rounded_weights_err_by_their_rounding) {
  for (const std::size_t n_ant : {70, 260})
    for (const bool gains : {false, true})
      for (const bool autos : {false, true})
        for (const std::size_t n_pol : {1, 2}) {
          EpicCase c;
          c.enu_m = random_array(n_ant, 30, 3, 0, 8);
          c.integers = true;
          c.n_pol = n_pol;
          c.gains = gains;
          c.n_chan = 2;
          c.n_spectra = 150;  // more than a tile of 128
          c.missing = gains ? 0.1 : 0;
          EpicRecording recording(c);
          for (auto& antenna : recording.antennas)
            for (auto& factor : antenna.factor) factor /= std::sqrt(std::abs(factor));
          const auto plan = [&] {
            EpicPlan all = all_sky(recording, 24);
            all.autos = autos;
            if (!gains) all.factor = {};
            return all;
          };
          const auto imager = half(plan());
          for (const std::size_t piece : {150, 64}) {
            const EpicImages images = recording.image(*imager, piece, 2, true);
            const Comparison result = compare(recording, plan(), images, 41);
            BOOST_TEST_MESSAGE("int8 weights: " << n_ant << " antennas, " << n_pol << " polarisations, gains "
                                                << gains << ", autos " << autos << ": " << result.error
                                                << " of the peak, wanted " << rounding_error(n_ant));
            BOOST_TEST(result.error <= rounding_error(n_ant));
          }
        }
}

BOOST_AUTO_TEST_CASE(rounded_weights_leave_nothing_of_a_lone_antenna) {
  EpicCase c;
  c.enu_m = random_array(70, 30, 3, 0, 5);
  c.integers = true;
  EpicRecording recording(c);
  double power = 0;
  for (auto& spectrum : recording.voltages[0])
    for (std::size_t ant = 0; ant < 70; ++ant) {
      if (ant != 7) spectrum[ant].voltage = {};
      power += std::norm(spectrum[ant].voltage[0]) / (64.0 * 70 * 69);
    }
  double worst = 0;
  const auto imager = half(all_sky(recording, 16));
  for (const float value : recording.image(*imager, 64, 1, true).planes)
    if (!std::isnan(value)) worst = std::max(worst, std::abs(double(value)));
  BOOST_TEST_MESSAGE("a lone antenna leaves " << worst / power << " of its power");
  BOOST_TEST(worst <= 3e-7 * power);
}

/// Long accumulations, whose spectra are summed before antennas are, and short ones. Sums of pairs are imaged
/// in halves of 11 bits, so that their weights are rounded 16 times less than those of antennas to int8.
BOOST_AUTO_TEST_CASE(spectra_may_be_summed_before_antennas) {
  EpicCase c;
  c.enu_m = random_array(200, 30, 3, 0, 8);
  c.integers = true;
  c.n_spectra = 100;
  const EpicRecording recording(c);
  const bool has_halves = epic_cuda::serves_half_pairs(all_sky(recording, 24), 0);
  for (const double n_spectra : {1e2, 1e6})
    for (const EpicPrecision precision : {EpicPrecision::half, EpicPrecision::single}) {
      const auto imager =
          make_dft_imager_cuda(all_sky(recording, 24), precision, 0, make_device_pair_sums, n_spectra);
      const double error =
          compare(recording, all_sky(recording, 24), recording.image(*imager, 100, 1, true), 41).error;
      BOOST_TEST_MESSAGE("accumulations of " << n_spectra << " spectra: " << error << " of the peak");
      const bool by_pairs = has_halves && n_spectra > 1e5;
      BOOST_TEST(cuda_dft_by_pairs(all_sky(recording, 24), precision, n_spectra) == (n_spectra > 1e5));
      // On an H200: 3.4e-7 and by pairs 1.6e-7; of int8 weights 8.7e-5, by pairs in halves 5.3e-6.
      BOOST_TEST(error <= (precision == EpicPrecision::single ? 1.5e-6
                           : by_pairs                         ? 2e-5
                                                              : rounding_error(200)));
      if (precision == EpicPrecision::half && !by_pairs) BOOST_TEST(error > 4e-5);  // rounded to int8 indeed
    }
}

/// Floating samples have no int8: they are imaged exactly.
BOOST_AUTO_TEST_CASE(half_of_floats_is_exact) {
  EpicCase c;
  c.enu_m = random_array(25, 40, 5, 0.3, 3);
  const EpicRecording recording(c);
  const auto imager = half(all_sky(recording, 24));
  BOOST_TEST(compare(recording, all_sky(recording, 24), recording.image(*imager, 64, 1), 3).error <= kWanted);
}

BOOST_AUTO_TEST_SUITE_END()
