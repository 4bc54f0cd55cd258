// SPDX-License-Identifier: GPL-3.0-or-later
// What imagers with CUDA hold of the host's memory, and which cost less. No GPU is needed.
#include <boost/test/unit_test.hpp>

#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/epic_cuda.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(cuda_cost)

namespace {

EpicPlan plan_of(std::size_t n_chan, std::size_t n_ant) {
  EpicPlan plan;
  plan.n_chan = n_chan;
  plan.n_ant = n_ant;
  plan.n_pol = 2;
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    plan.channel_hz.push_back(100e6 + 1e4 * static_cast<double>(chan));
  plan.nx = plan.ny = 128;
  plan.cell = 2.0 / 128;
  return plan;
}

/// Antennas on a level line.
EpicGeometry geometry(std::size_t n_ant) {
  EpicGeometry geometry;
  for (std::size_t ant = 0; ant < n_ant; ++ant) geometry.enu_m.push_back({static_cast<double>(ant), 0, 0});
  geometry.delay_s.assign(n_ant, 0.0);
  return geometry;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_channel_holds_its_planes_twice_and_no_sums) {
  for (const EpicMethod method : {EpicMethod::dft, EpicMethod::corr, EpicMethod::fft}) {
    const auto bytes = [&](std::size_t n_chan) {
      return cuda_epic_cost(method, plan_of(n_chan, 3), geometry(3), EpicPrecision::single).bytes;
    };
    const std::uint64_t plane = std::uint64_t{128} * 128 * sizeof(float);
    const std::uint64_t more = (bytes(128) - bytes(64)) / 64;
    BOOST_TEST(more >= 2 * plane);
    BOOST_TEST(more < 3 * plane);  // lists of three antennas; sums of four products would be eight planes
  }
}

BOOST_AUTO_TEST_CASE(pairs_on_a_grid_hold_factors_of_the_pixels) {
  const auto bytes = [](EpicMethod method) {
    return cuda_epic_cost(method, plan_of(8, 64), geometry(64), EpicPrecision::single).bytes;
  };
  // at least one order, over half of the square
  BOOST_TEST(bytes(EpicMethod::corr) > bytes(EpicMethod::dft) + 128 * 128 / 2 * sizeof(float));
}

BOOST_AUTO_TEST_CASE(forms_in_halves_have_limits) {
  const auto pair_s = [](std::size_t n_ant) {
    return cuda_direct_pairs_s(plan_of(1, n_ant), 1000) / static_cast<double>(n_ant * n_ant);
  };
  BOOST_TEST(pair_s(33) < 0.5 * pair_s(32));
  BOOST_TEST(pair_s(256) < 0.5 * pair_s(257));
  // On devices without them all cost the same.
  BOOST_TEST(cuda_direct_pairs_s(plan_of(1, 64), 1000, EpicPrecision::half, false) / (64 * 64) == pair_s(32),
             boost::test_tools::tolerance(1e-12));
  EpicPlan plan = plan_of(1, 64);
  BOOST_TEST(fits_half_pairs(plan));
  plan.field = true;
  BOOST_TEST(!fits_half_pairs(plan));
  plan = plan_of(1, 64);
  plan.n_pol = 1;
  BOOST_TEST(!fits_half_pairs(plan));
}

BOOST_AUTO_TEST_SUITE_END()
