// SPDX-License-Identifier: GPL-3.0-or-later
// The separable part of n, and the errors that are foretold when the rest is left out or taken to first
// order.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>

#include "kernels/idg/plan/w_separation.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(w_separation)

namespace {

constexpr double two_pi = 2 * 3.14159265358979323846;

IdgPlan plan_of(double field_rad, std::size_t side) {
  IdgPlan plan;
  plan.image = {1000, 1000, field_rad / 1500};
  plan.n_u = plan.n_v = 1500;
  plan.settings.subgrid = side;
  plan.settings.padding = 1.5;
  plan.taper = Taper(TaperKind::pswf, 9);
  plan.n_middle = (1 + std::sqrt(1 - field_rad * field_rad / 2)) / 2;
  return plan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(parts_add_up_and_the_rest_is_small) {
  for (double field_rad : {0.05, 0.3, 0.9}) {
    const IdgPlan plan = plan_of(field_rad, 32);
    const WSeparation w(plan);
    for (std::size_t y = 0; y < 32; ++y)
      for (std::size_t x = 0; x < 32; ++x) {
        const double l = (double(x) - 15.5) * plan.coarse_l_rad(),
                     m = (double(y) - 15.5) * plan.coarse_m_rad();
        const double n = std::sqrt(1 - l * l - m * m) - plan.n_middle;
        BOOST_CHECK_SMALL(w.n_from_middle[y * 32 + x] - n, 1e-15);
        const double sum = double(w.n_of_x[x]) + double(w.n_of_y[y]) + double(w.residual[y * 32 + x]);
        BOOST_CHECK_SMALL(sum - n, 1e-7);
      }
    // n = 1 - (l^2 + m^2) / 2 - (l^2 + m^2)^2 / 8 ...: what is left over is of the order of l^2 m^2 / 4.
    BOOST_CHECK_LE(w.residual_rms, std::pow(field_rad, 4) / 64);
    BOOST_CHECK_GT(w.residual_rms, std::pow(field_rad, 4) / 4000);
  }
}

BOOST_AUTO_TEST_CASE(foretold_errors_are_those_of_the_phases) {
  const IdgPlan plan = plan_of(0.4, 48);
  const WSeparation w(plan);
  std::vector<double> weight(48);
  const Taper& window = plan.taper;
  for (std::size_t i = 0; i < 48; ++i)
    weight[i] = std::min(1.0, window(2 * (double(i) - 23.5) / 48) / window(1 / 1.5));
  for (double half_w : {3.0, 30.0}) {
    double without = 0, first = 0, total = 0;
    for (int k = -200; k <= 200; ++k)
      for (std::size_t y = 0; y < 48; ++y)
        for (std::size_t x = 0; x < 48; ++x) {
          const double phase = two_pi * half_w * k / 200 * double(w.residual[y * 48 + x]);
          const double power = std::pow(weight[y] * weight[x], 2);
          without += power * std::norm(std::polar(1.0, phase) - 1.0);
          first += power * std::norm(std::polar(1.0, phase) - std::complex<double>(1, phase));
          total += power;
        }
    without = std::sqrt(without / total);
    first = std::sqrt(first / total);
    std::printf("half w %.0f: %.2e (foretold %.2e), first order %.2e (%.2e)\n", half_w, without,
                w.error_without(half_w), first, w.error_to_first_order(half_w, 0));
    BOOST_CHECK_CLOSE(without, w.error_without(half_w), 2);
    BOOST_CHECK_CLOSE(first, w.error_to_first_order(half_w, 0), 2);
    BOOST_CHECK_CLOSE(w.error_to_first_order(half_w, 1e-3) - w.error_to_first_order(half_w, 0),
                      1e-3 * w.error_without(half_w), 1e-6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
