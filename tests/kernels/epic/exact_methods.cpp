// SPDX-License-Identifier: GPL-3.0-or-later
// dft and corr of the CPU against the sums of their definition in float64.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "kernels/epic/corr/pair_imager.h"
#include "libcore/array/array_layout.h"
#include "tests/support/epic/comparison.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(exact_methods)

namespace {

std::unique_ptr<DirectImager> in_float64(EpicPlan plan) {
  plan.float64 = true;
  return make_dft_imager(std::move(plan));
}

const Method kExact[] = {
    {"dft", make_dft_imager},
    {"dft in float64", in_float64, false},
    {"corr", [](EpicPlan plan) { return make_corr_imager(std::move(plan)); }},
    {"corr, direct", [](EpicPlan plan) { return make_corr_imager(std::move(plan), CorrMethod::direct); },
     multiplies_codes(), false, true},
    {"corr, grid", [](EpicPlan plan) { return make_corr_imager(std::move(plan), CorrMethod::grid); },
     multiplies_codes(), true, true}};

}  // namespace

#include "tests/support/epic/exact_cases.h"

/// The reference adds up antennas; its definition is a sum over pairs.
BOOST_AUTO_TEST_CASE(truth_is_a_sum_over_pairs) {
  EpicCase c;
  c.enu_m = random_array(18, 30, 3, 0, 5);
  c.missing = 0.3;
  c.gains = c.delays = true;
  const EpicRecording recording(c);
  for (const Vec3& unit : {c.sources[0], Vec3{0, 0, 1}, Vec3{-0.6, 0.64, 0.48}})
    for (const bool autos : {false, true}) {
      reference::ImagedProducts wanted;
      for (const auto& spectrum : recording.voltages[0])
        for (std::size_t a = 0; a < spectrum.size(); ++a)
          for (std::size_t b = 0; b < spectrum.size(); ++b) {
            if (!spectrum[a].valid || !spectrum[b].valid || (a == b && !autos)) continue;
            ++wanted.pairs;
            for (std::size_t p = 0; p < 2; ++p)
              for (std::size_t q = 0; q < 2; ++q) {
                const auto field = [&](std::size_t ant, std::size_t pol) {
                  const reference::ImagedAntenna& antenna = recording.antennas[ant];
                  const double delay_s = dot(antenna.position_m, unit) / kSpeedOfLight_m_s - antenna.delay_s;
                  return antenna.factor[pol] * spectrum[ant].voltage[pol] *
                         std::polar(1.0, -kTwoPi * c.freq_hz * delay_s);
                };
                wanted.mean[p][q] += field(a, p) * std::conj(field(b, q));
              }
          }
      const reference::ImagedProducts truth = recording.truth(unit, 0, 1, autos);
      BOOST_TEST(truth.pairs == wanted.pairs);
      for (std::size_t p = 0; p < 2; ++p)
        for (std::size_t q = 0; q < 2; ++q)
          BOOST_TEST(std::abs(truth.mean[p][q] - wanted.mean[p][q] / wanted.pairs) <= 1e-13);
    }
}

/// What float32 leaves of 200 antennas, float64 does not.
BOOST_AUTO_TEST_CASE(float64_keeps_what_float32_loses_of_200_antennas) {
  EpicCase c;
  c.enu_m = random_array(200, 60, 5, 0.3, 11);
  c.n_spectra = 40;
  c.integers = true;
  const EpicRecording recording(c);
  double error[2];
  for (const bool float64 : {false, true}) {
    EpicPlan plan = all_sky(recording, 33);
    plan.float64 = float64;
    const auto imager = make_dft_imager(std::move(plan));
    const EpicImages images = recording.image(*imager, 40, 1);
    error[float64] = compare(recording, all_sky(recording, 33), images, 7).error;
  }
  BOOST_TEST_MESSAGE("errors of the peak: float32 " << error[0] << ", float64 " << error[1]);
  BOOST_TEST(error[1] <= 0x1p-24);  // the rounding of the image; measured: 3.8e-8 (float32 2.2e-7)
  BOOST_TEST(error[1] < error[0]);
}

BOOST_AUTO_TEST_SUITE_END()
