// SPDX-License-Identifier: GPL-3.0-or-later
// Curves and nodes as devices find them, against the phases of the rows themselves, pixel by pixel.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

#include "kernels/idg/tracks/node_counts.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(track_fit)

namespace {

constexpr double two_pi = 2 * 3.14159265358979323846, wavenumber = 0.5;

struct Rows {
  std::vector<std::array<double, 3>> at;
  void uvw(std::uint32_t i, double* metres) const { std::copy(at[i].begin(), at[i].end(), metres); }
};

/// Rows of a baseline as the sky turns, `step_rad` apart, seen 30 degrees from the pole.
Rows make_rows(std::size_t n, double step_rad, double length_m, double first_hour = 0.3) {
  Rows rows;
  for (std::size_t i = 0; i < n; ++i) {
    const double hour = first_hour + step_rad * static_cast<double>(i), x = length_m * std::cos(hour),
                 y = length_m * std::sin(hour);
    rows.at.push_back({x, y * std::cos(0.5) + 300, y * std::sin(0.5) + 500});
  }
  return rows;
}

struct Fixture {
  IdgPlan plan = make_idg_plan({512, 512, 1e-4}, {}, 2e4, 1e6);
  idg::TrackCurve curve{};
  std::vector<double> t;

  std::uint32_t fit(const Rows& rows, double error) {
    t.assign(rows.at.size(), NAN);
    return idg::fit_track(idg::OneLane{}, node_limits(plan, error), wavenumber, rows,
                          static_cast<std::uint32_t>(rows.at.size()), curve,
                          [&](std::uint32_t i, double place) { t[i] = place; });
  }

  /// RMS over rows and pixels of what Lagrange's polynomials make of the phase factors at n nodes.
  double error_of(const Rows& rows, std::uint32_t n) const {
    double error = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows.at.size(); i += 3) {
      std::vector<double> share(n, 1.0);
      for (std::uint32_t k = 0; k < n; ++k)
        for (std::uint32_t j = 0; j < n; ++j)
          if (j != k)
            share[k] *=
                (t[i] - idg::chebyshev_node(j, n)) / (idg::chebyshev_node(k, n) - idg::chebyshev_node(j, n));
      for (int iy = -8; iy <= 8; ++iy)
        for (int ix = -8; ix <= 8; ++ix) {
          const double l = ix * 32 * plan.image.cell_rad, m = iy * 32 * plan.image.cell_rad,
                       n_1 = std::sqrt(1 - l * l - m * m) - 1;
          auto factor = [&](double u, double v, double w) {
            return std::polar(1.0, -two_pi * wavenumber * (u * l + v * m + w * n_1));
          };
          std::complex<double> sum = 0;
          for (std::uint32_t k = 0; k < n; ++k) {
            const double node = idg::chebyshev_node(k, n);
            sum += share[k] * factor(curve.at(node, 0), curve.at(node, 1), curve.at(node, 2));
          }
          error += std::norm(sum - factor(rows.at[i][0], rows.at[i][1], rows.at[i][2]));
          ++count;
        }
    }
    return std::sqrt(error / static_cast<double>(count));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(nodes_stand_for_rows, Fixture) {
  std::size_t n_fitted = 0;
  for (double length_m : {3.0, 20.0, 100.0, 300.0, 2e4})
    for (double step_rad : {1e-6, 1e-5, 7e-5, 7e-4, 4e-3})
      for (double wanted : {3e-7, 1e-6, 1e-4}) {
        const Rows rows = make_rows(128, step_rad, length_m, 1.3);
        const std::uint32_t n = fit(rows, wanted);
        if (n == 0) continue;
        ++n_fitted;
        const double error = error_of(rows, n);
        std::printf("%g m, step %g: %u nodes for 128 rows, error %.2e of %.0e\n", length_m, step_rad, n,
                    error, wanted);
        BOOST_CHECK_LT(error, wanted);  // measured: 0.69 of it at most
      }
  BOOST_CHECK_GE(n_fitted, 60);  // of 75; measured: 63
}

BOOST_FIXTURE_TEST_CASE(rows_off_a_track_stay_as_they_are, Fixture) {
  Rows rows = make_rows(100, 1e-5, 2e4);
  BOOST_CHECK_GT(fit(rows, 1e-6), 0);
  rows.at[37][1] += 0.1;  // a 250th of a uv cell aside
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 0);
  // Backwards and forwards again.
  rows = make_rows(100, 1e-5, 2e4);
  std::swap(rows.at[0], rows.at[50]);
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 0);
  rows = make_rows(100, 4e-3, 2e4);  // far between, as at one integration every minute
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 0);
  rows = make_rows(100, 1e-5, 2e4);
  rows.at[50][0] = NAN;
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 0);
}

BOOST_FIXTURE_TEST_CASE(gaps_keep_the_accuracy_and_one_place_is_one_node, Fixture) {
  Rows rows = make_rows(120, 1e-5, 2e4);
  rows.at.erase(rows.at.begin() + 20, rows.at.begin() + 70);
  const std::uint32_t n = fit(rows, 1e-6);
  BOOST_REQUIRE_GT(n, 0);
  BOOST_CHECK_LT(error_of(rows, n), 1e-6);
  rows = make_rows(64, 0, 2e4);
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 1);
  for (auto& row : rows.at) row = {};
  BOOST_CHECK_EQUAL(fit(rows, 1e-6), 1);
  for (double place : t) BOOST_CHECK_EQUAL(place, 0);
}

BOOST_FIXTURE_TEST_CASE(long_rows_are_divided, Fixture) {
  const idg::NodeLimits limits = node_limits(plan, 1e-6);
  BOOST_CHECK_EQUAL(idg::best_pieces(limits, 0.1, 100, 16), 1);
  BOOST_CHECK_EQUAL(idg::best_pieces(limits, 0.1, 1000, 16), 4);
  BOOST_CHECK_GE(idg::best_pieces(limits, 30, 1000, 16), 4);
  BOOST_CHECK_EQUAL(idg::best_pieces(limits, 30, 8, 16), 0);
  BOOST_CHECK_EQUAL(idg::best_pieces(limits, 0.1, 3, 16), 0);
}

BOOST_AUTO_TEST_SUITE_END()
