// SPDX-License-Identifier: GPL-3.0-or-later
// dft and corr of the CPU against the sums of their definition in float64.
#include "kernels/epic/pair_imager.h"
#include "tests/support/epic_comparison.h"

namespace apsyn::test {
namespace {

std::unique_ptr<DirectImager> in_float64(EpicPlan plan) {
  plan.float64 = true;
  return make_dft_imager(std::move(plan));
}

const Method kExact[] = {
    {"dft", make_dft_imager},
    {"dft in float64", in_float64, false},
    {"corr", [](EpicPlan plan) { return make_corr_imager(std::move(plan)); }},
    {"corr, direct", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::direct); }},
    {"corr, grid", [](EpicPlan plan) { return make_corr_imager(std::move(plan), PairForm::grid); },
     multiplies_codes(), true}};

}  // namespace
}  // namespace apsyn::test

#include "tests/support/epic_exact_cases.h"

namespace apsyn::test {

/// What float32 leaves of 200 antennas, float64 does not.
BOOST_AUTO_TEST_CASE(sums_in_float64) {
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

}  // namespace apsyn::test
