// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms from FITS cubes against their definitions, evaluated directly in float64.
#include "libcore/aterms/aterms.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/projection.h"
#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(images)

namespace {

// Rounding of float: a product of two numbers of modulus 1.
constexpr double kFloat = 3 * 6e-8;

std::complex<double> polar(double phase_rad) {
  return std::polar(1.0, phase_rad);
}

/// Largest difference to a scalar Jones matrix given by station, y, x.
template <class Phase>
double worst_scalar(const Buffer<std::complex<float>, 4>& jones, Phase phase) {
  double worst = 0;
  for (std::size_t station = 0; station < jones.extent(0); ++station)
    for (std::size_t y = 0; y < jones.extent(1); ++y)
      for (std::size_t x = 0; x < jones.extent(2); ++x) {
        const std::complex<double> truth = polar(phase(station, y, x));
        for (std::size_t i = 0; i < 4; ++i) {
          const std::complex<double> expected = i == 0 || i == 3 ? truth : 0.0;
          worst = std::max(worst, std::abs(std::complex<double>(jones(station, y, x, i)) - expected));
        }
      }
  return worst;
}

}  // namespace

// A plane of TEC about another centre than the grid's, in both directions of either axis: what RA, Dec and
// the sign of CDELT mean is in the phase. Planes come through cubic convolution unchanged.
BOOST_AUTO_TEST_CASE(tec_follows_the_sky) {
  const SkyDirection image_centre{kCentre.ra_rad + 0.06, kCentre.dec_rad - 0.03};
  const AtermGrid grid = grid_of(12, 0.02);
  for (const double sign_x : {-1.0, 1.0})
    for (const double sign_y : {1.0, -1.0}) {
      const Folder folder;
      const auto axes = joined(sky_axes(image_centre, 24, 20, sign_x * 1.5, sign_y * 1.7),
                               {{"ANTENNA", 3}, {"FREQ", 1, 150e6, 1e6}, {"TIME", 1, 5e9, 60}});
      const auto tec = [](double l, double m, std::size_t antenna) {
        return 0.02 * l + 0.05 * m * static_cast<double>(antenna + 1) - 0.01;
      };
      folder.file("t.fits", cube_text(axes, -64, [&](const auto& i) {
                    return tec(axis_lm(axes[0], i[0]), axis_lm(axes[1], i[1]), i[2]);
                  }));
      const auto model =
          open_aterms(folder.file("a.conf", "aterms = [ tec ]\ntec.images = [ t.fits ]\n"), three_stations());
      BOOST_TEST(model->n_stations() == 3u);
      BOOST_TEST(model->warnings(grid, kFreq_hz).empty());
      const auto jones = evaluate(*model, 5e9, kFreq_hz, grid);
      const double worst = worst_scalar(jones, [&](std::size_t station, std::size_t y, std::size_t x) {
        const double l = (5.5 - static_cast<double>(x)) * 0.02, m = (static_cast<double>(y) - 5.5) * 0.02;
        const DirectionCosines there = project(image_centre, unproject(kCentre, l, m));
        return kTecPhase / kFreq_hz * tec(there.l, there.m, station);
      });
      BOOST_TEST(worst < kFloat);  // 6e-8
    }
}

// East is to the left: more TEC in the east turns the phase further (more negative) at smaller x.
BOOST_AUTO_TEST_CASE(a_tec_gradient_lies_towards_the_east) {
  const Folder folder;
  const auto axes = joined(sky_axes(kCentre, 32, 32, -1, 1), {{"ANTENNA", 1}, {"FREQ", 1, 150e6}});
  // RA grows by about 1 deg / cos(dec) per pixel towards smaller x; the pixel's own RA, from the WCS.
  folder.file("t.fits", cube_text(axes, -32, [&](const auto& i) {
                const SkyDirection there = unproject(kCentre, axis_lm(axes[0], i[0]), axis_lm(axes[1], i[1]));
                return 0.1 * std::remainder(there.ra_rad - kCentre.ra_rad, kTwoPi);
              }));
  const auto model = open_aterms(folder.file("a.conf", "aterms=[tec]\ntec.images=t.fits"), three_stations());
  const auto jones = evaluate(*model, 0, kFreq_hz, grid_of(8, 0.02));
  const double west = std::arg(jones(0, 4, 7, 0)), east = std::arg(jones(0, 4, 0, 0));
  BOOST_TEST(east < west);
  // 0.1 TECU per radian of RA over 7 steps of 0.02 rad / cos(dec), to the curvature of the projection.
  BOOST_TEST(std::abs((east - west) / (kTecPhase / kFreq_hz * 0.1 * 7 * 0.02 / std::cos(-0.5)) - 1) < 0.01);
}

BOOST_AUTO_TEST_CASE(tec_is_exact_at_any_frequency) {
  const Folder folder;
  const auto axes = joined(sky_axes(kCentre, 8, 8, -3, 3), {{"ANTENNA", 1}, {"FREQ", 2, 100e6, 50e6}});
  folder.file("t.fits", cube_text(axes, -64, [&](const auto& i) { return i[3] == 0 ? 0.01 : 0.02; }));
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ tec ]\ntec.images = [ t.fits ]"), three_stations());
  for (const auto& [freq_hz, tec] : {std::pair{90e6, 0.01}, {124e6, 0.01}, {126e6, 0.02}, {300e6, 0.02}}) {
    const auto jones = evaluate(*model, 0, freq_hz, grid_of(4, 0.02));
    BOOST_TEST(worst_scalar(jones, [&](auto...) { return kTecPhase / freq_hz * tec; }) < kFloat);
  }
}

BOOST_AUTO_TEST_CASE(the_nearest_step_of_all_files_is_taken) {
  const Folder folder;
  const auto axes = [](std::size_t n, double start) {
    return joined(sky_axes(kCentre, 4, 4, -10, 10),
                  {{"ANTENNA", 1}, {"FREQ", 1, 150e6}, {"TIME", n, start, 10}});
  };
  // Steps at 5e9 + 0 10 20, and after a gap at 60 70: the TEC is the number of the step.
  folder.file("late.fits",
              cube_text(axes(2, 5e9 + 60), -64, [](const auto& i) { return 1e-3 * (3.0 + double(i[4])); }));
  folder.file("early.fits", cube_text(axes(3, 5e9), -64, [](const auto& i) { return 1e-3 * double(i[4]); }));
  const std::string text = "aterms = [ tec ]\ntec.images = [ late.fits, early.fits ]\n";
  const auto model = open_aterms(folder.file("a.conf", text), three_stations());
  const AtermGrid grid = grid_of(2, 0.01);
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, const std::string& line) { lines.push_back(line); });
  const auto step_at = [&](AtermModel& from, double time) {
    const auto jones = evaluate(from, 5e9 + time, kFreq_hz, grid);
    return std::lround(std::arg(jones(0, 0, 0, 0)) / (kTecPhase / kFreq_hz * 1e-3));
  };
  BOOST_TEST((step_at(*model, -9) == 0 && lines.empty()));
  std::int64_t last = model->slot_of(5e9 - 1000);
  BOOST_TEST(step_at(*model, 81) == 4);
  BOOST_REQUIRE(lines.size() == 1u);  // once
  BOOST_TEST(lines[0].find("TIME 4999999000 lie outside of its steps, 5000000000 to 5000000070") !=
             lines[0].npos);
  for (const auto& [time, step] : {std::pair{-500.0, 0},
                                   {4.9, 0},
                                   {5.1, 1},
                                   {15.1, 2},
                                   {39.9, 2},
                                   {40.1, 3},
                                   {64.9, 3},
                                   {65.1, 4},
                                   {9e5, 4}}) {
    BOOST_TEST(step_at(*model, time) == step);
    const std::int64_t slot = model->slot_of(5e9 + time);
    BOOST_TEST(slot >= last);
    last = slot;
  }
  BOOST_TEST(model->slot_of(5e9 + 5.1) == model->slot_of(5e9 + 14.9));
  BOOST_TEST(model->slot_of(5e9 + 4.9) != model->slot_of(5e9 + 5.1));
  // Coarser updates: one slot per 40 s, the step nearest to its middle (5e9 is a multiple of 40).
  const auto slow = open_aterms(folder.file("b.conf", text + "tec.update_interval = 40\n"), three_stations());
  BOOST_TEST(step_at(*slow, 1) == 2);
  BOOST_TEST(step_at(*slow, 39) == 2);
  BOOST_TEST(step_at(*slow, 41) == 3);
  BOOST_TEST(slow->slot_of(5e9 + 1) == slow->slot_of(5e9 + 39));
  set_log_sink({});
}

BOOST_AUTO_TEST_CASE(diagonal_gains_are_read_from_the_cube) {
  const Folder folder;
  const auto axes = joined(sky_axes(kCentre, 16, 16, -2, 2),
                           {{"MATRIX", 4}, {"ANTENNA", 3}, {"FREQ", 1, 150e6}, {"TIME", 1}});
  const auto element = [](double l, double m, std::size_t matrix, std::size_t antenna) {
    return 0.2 + 0.3 * static_cast<double>(matrix) + 0.4 * l - 0.7 * m + 0.05 * static_cast<double>(antenna);
  };
  folder.file("d.fits", cube_text(axes, -64, [&](const auto& i) {
                return element(axis_lm(axes[0], i[0]), axis_lm(axes[1], i[1]), i[2], i[3]);
              }));
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ gain ]\ngain.type = diagonal\ngain.images = [ d.fits ]"),
                  three_stations());
  const AtermGrid grid = grid_of(6, 0.03);
  const auto jones = evaluate(*model, 1, kFreq_hz, grid);
  double worst = 0;
  for (std::size_t station = 0; station < 3; ++station)
    for (std::size_t y = 0; y < 6; ++y)
      for (std::size_t x = 0; x < 6; ++x) {
        const double l = (2.5 - static_cast<double>(x)) * 0.03, m = (static_cast<double>(y) - 2.5) * 0.03;
        const auto value = [&](std::size_t i) { return element(l, m, i, station); };
        const std::complex<double> truth[4] = {{value(0), value(1)}, 0, 0, {value(2), value(3)}};
        for (std::size_t i = 0; i < 4; ++i)
          worst = std::max(worst, std::abs(std::complex<double>(jones(station, y, x, i)) - truth[i]));
      }
  BOOST_TEST(worst < 2 * kFloat);  // values up to 1.5: 6e-8
}

// The gains of R and L: RR = I + V, RL = Q + iU, LR = Q - iU and LL = I - V of what their matrix between X
// and Y makes of brightness (XX = I + Q, XY = U + iV) are those of what the beam after them makes, times the
// gains.
BOOST_AUTO_TEST_CASE(gains_of_circular_receptors_act_on_circular_products) {
  const Folder folder;
  const auto axes =
      joined(sky_axes(kCentre, 4, 4, -10, 10), {{"MATRIX", 4}, {"ANTENNA", 3}, {"FREQ", 1, 150e6}});
  const std::complex<double> gain[3][2] = {
      {{1.2, 0.3}, {0.7, -0.4}}, {{0.9, -0.1}, {1.1, 0.6}}, {{0.5, 0.8}, 1}};
  folder.file("d.fits", cube_text(axes, -64, [&](const auto& i) {
                const std::complex<double> g = gain[i[3]][i[2] / 2];
                return i[2] % 2 == 0 ? g.real() : g.imag();
              }));
  const auto jones_of = [&](const std::string& list) {
    const std::string dipole = "\nbeam.model = dipole\nbeam.height = 30cm\n";
    const auto model = open_aterms(
        folder.file("a.conf", "aterms = [ " + list + " ]" + dipole + "diagonal.images = d.fits\n"),
        three_stations(), true);
    return evaluate(*model, 56859.84 * 86400, kFreq_hz, grid_of(4, 0.03));
  };
  const auto both = jones_of("beam, diagonal"), beam = jones_of("beam");
  const std::complex<double> sky[2][2] = {{2.0, {0.3, -0.4}}, {{0.3, 0.4}, 1.2}}, i{0, 1};
  const auto circular = [&](const auto& jones, std::size_t p, std::size_t q) {
    std::complex<double> seen[4] = {};
    for (std::size_t k = 0; k < 16; ++k)
      seen[k / 4] += std::complex<double>(jones(p, 1, 2, k / 8 * 2 + k / 2 % 2)) * sky[k / 2 % 2][k % 2] *
                     std::conj(std::complex<double>(jones(q, 1, 2, k / 4 % 2 * 2 + k % 2)));
    const auto q_jy = (seen[0] - seen[3]) / 2.0, u_jy = (seen[1] + seen[2]) / 2.0;
    const auto v_jy = -i * (seen[1] - seen[2]) / 2.0, i_jy = (seen[0] + seen[3]) / 2.0;
    return std::array{i_jy + v_jy, q_jy + i * u_jy, q_jy - i * u_jy, i_jy - v_jy};
  };
  BOOST_TEST(std::abs(beam(0, 1, 2, 0)) > 0.1f);  // above the horizon
  double worst = 0;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t q = 0; q < 3; ++q) {
      const auto seen = circular(both, p, q), before = circular(beam, p, q);
      for (std::size_t k = 0; k < 4; ++k)
        worst = std::max(worst, std::abs(seen[k] - gain[p][k / 2] * std::conj(gain[q][k % 2]) * before[k]));
    }
  BOOST_TEST(worst < 8 * kFloat);  // of values up to 3
}

// dl, dm: what a source is to be moved by. A visibility of a source at (l, m) gets the phase of one that
// appears at (l - dl, m - dm).
BOOST_AUTO_TEST_CASE(dldm_shifts_sources) {
  const Folder folder;
  const auto axes =
      joined(sky_axes(kCentre, 8, 8, -4, 4), {{"MATRIX", 2}, {"FREQ", 1, 150e6}, {"TIME", 1, 5e9}});
  const auto dl = [](double l, double m) { return 2e-3 + 1e-3 * l + 2e-3 * m; };
  const auto dm = [](double l, double m) { return -1e-3 + 3e-3 * l - 1e-3 * m; };
  folder.file("s.fits", cube_text(axes, -64, [&](const auto& i) {
                const double l = axis_lm(axes[0], i[0]), m = axis_lm(axes[1], i[1]);
                return i[2] == 0 ? dl(l, m) : dm(l, m);
              }));
  const ArrayLayout layout = three_stations();
  const auto model = open_aterms(
      folder.file("a.conf", "aterms = [ dldm ]\ndldm.images = [ s.fits ]\ndldm.update_interval = 20"),
      layout);
  const AtermGrid grid = grid_of(6, 0.05);
  const double time_mjd_s = 4.9e9 + 33;
  const auto jones = evaluate(*model, time_mjd_s, kFreq_hz, grid);
  BOOST_TEST(model->slot_of(time_mjd_s) == model->slot_of(4.9e9 + 21));
  BOOST_TEST(model->slot_of(time_mjd_s) != model->slot_of(4.9e9 + 19));
  const SkyFrame frame(*layout.site);
  const Mat3 rotation = frame.uvw_rotation(from_mjd_seconds(4.9e9 + 30), kCentre);
  double worst = 0;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t q = 0; q < 3; ++q)
      for (std::size_t y = 0; y < 6; ++y)
        for (std::size_t x = 0; x < 6; ++x) {
          const double l = (2.5 - static_cast<double>(x)) * 0.05, m = (static_cast<double>(y) - 2.5) * 0.05;
          const double dl0 = dl(l, m), dm0 = dm(l, m);
          const Vec3 uvw = multiply(rotation, layout.antennas[p].enu_m - layout.antennas[q].enu_m);
          const auto w_term = [](double a, double b) { return std::sqrt(1 - a * a - b * b); };
          const double shift_m =
              uvw[0] * -dl0 + uvw[1] * -dm0 + uvw[2] * (w_term(l, m) - w_term(l + dl0, m + dm0));
          const std::complex<double> truth = polar(kTwoPi * kFreq_hz / kSpeedOfLight_m_s * shift_m);
          const std::complex<double> got =
              std::complex<double>(jones(p, y, x, 0)) * std::conj(std::complex<double>(jones(q, y, x, 0)));
          worst = std::max(worst, std::abs(got - truth));
        }
  BOOST_TEST(worst < 2 * kFloat);  // 1.1e-7; phases up to 8 rad
}

BOOST_AUTO_TEST_CASE(blank_pixels_mean_nothing_and_edges_go_on) {
  const Folder folder;
  const auto axes = joined(sky_axes(kCentre, 6, 6, -1, 1), {{"ANTENNA", 3}, {"FREQ", 1, 150e6}});
  folder.file("t.fits",
              cube_text(axes, -32, [](const auto&) { return std::numeric_limits<double>::quiet_NaN(); }));
  folder.file("u.fits", cube_text(axes, -32, [](const auto&) { return 0.01; }));
  const AtermGrid grid = grid_of(9, 0.3);  // reaches beyond the horizon
  const auto blank =
      open_aterms(folder.file("a.conf", "aterms=[tec]\ntec.images=[t.fits]"), three_stations());
  BOOST_TEST(worst_scalar(evaluate(*blank, 0, kFreq_hz, grid), [](auto...) { return 0.0; }) == 0);
  const auto small =
      open_aterms(folder.file("b.conf", "aterms=[tec]\ntec.images=[u.fits]"), three_stations());
  BOOST_TEST(worst_scalar(evaluate(*small, 0, kFreq_hz, grid),
                          [](auto...) { return kTecPhase / kFreq_hz * 0.01; }) < kFloat);
  BOOST_REQUIRE(small->warnings(grid, kFreq_hz).size() == 1u);
  BOOST_TEST(small->warnings(grid, kFreq_hz).front().find("does not cover") != std::string::npos);
}

// Of 128 stations; and another slot is another screen.
BOOST_AUTO_TEST_CASE(the_same_for_any_threads) {
  const Folder folder;
  const auto axes = joined(sky_axes(kCentre, 64, 64, -0.5, 0.5),
                           {{"ANTENNA", 128}, {"FREQ", 1, 150e6}, {"TIME", 2, 5e9, 10}});
  folder.file("t.fits", cube_text(axes, -32, [](const auto& i) {
                return 1e-3 * std::sin(0.1 * double(i[0]) + 0.2 * double(i[1]) + double(i[2] + i[4]));
              }));
  ArrayLayout layout = three_stations();
  for (int i = 3; i < 128; ++i) layout.antennas.push_back({fmt::format("s{}", i), {double(i), 0, 0}});
  const auto model = open_aterms(folder.file("a.conf", "aterms=[tec]\ntec.images=[t.fits]"), layout);
  const AtermGrid grid = grid_of(32, 0.02);
  const auto one = evaluate(*model, 5e9, kFreq_hz, grid);
  const auto again = evaluate(*model, 5e9 + 10, kFreq_hz, grid);
  const auto three = evaluate(*model, 5e9, kFreq_hz, grid, 3);
  BOOST_TEST(std::equal(one.begin(), one.end(), three.begin()));
  BOOST_TEST(!std::equal(one.begin(), one.end(), again.begin()));
}

BOOST_AUTO_TEST_SUITE_END()
