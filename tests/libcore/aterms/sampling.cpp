// SPDX-License-Identifier: GPL-3.0-or-later
// Screens that the pixels of a subgrid cannot carry: what becomes of them, and what is told.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <tuple>

#include "libcore/aterms/aterms.h"
#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(sampling)

// Finer than the grid: structure that its pixels cannot carry goes, the rest stays, and the loss is told.
BOOST_AUTO_TEST_CASE(fine_screens_are_smoothed) {
  const double step_rad = 0.02, cell_deg = 0.1;  // 11.5 pixels per step
  const AtermGrid grid = grid_of(16, step_rad);
  for (const auto& [steps_per_wave, lowest, highest] :
       {std::tuple{12.0, 0.99, 1.01}, {8.0, 0.96, 1.02}, {1.2, -0.03, 0.03}}) {
    const Folder folder;
    const auto axes =
        joined(sky_axes(kCentre, 300, 300, -cell_deg, cell_deg), {{"ANTENNA", 3}, {"FREQ", 1, 150e6}});
    const double wave = kTwoPi / (steps_per_wave * step_rad), amplitude_rad = 0.1;
    const double tec = amplitude_rad / (kTecPhase / kFreq_hz);
    folder.file("t.fits", cube_text(axes, -32, [&](const auto& i) {
                  return double(i[2]) * tec * std::cos(wave * axis_lm(axes[0], i[0])) *
                         std::cos(wave * axis_lm(axes[1], i[1]));
                }));
    const auto model =
        open_aterms(folder.file("a.conf", "aterms = [ tec ]\ntec.images = [ t.fits ]"), three_stations());
    const auto jones = evaluate(*model, 0, kFreq_hz, grid);
    double product = 0, norm = 0;
    for (std::size_t y = 0; y < 16; ++y)
      for (std::size_t x = 0; x < 16; ++x) {
        const double truth = amplitude_rad * std::cos(wave * grid.l(x)) * std::cos(wave * grid.m(y));
        product += truth * std::arg(jones(1, y, x, 0));
        norm += truth * truth;
      }
    BOOST_TEST(product / norm > lowest);  // 0.998, 0.99, 0.001
    BOOST_TEST(product / norm < highest);
    BOOST_TEST(model->warnings(grid, kFreq_hz).size() == (steps_per_wave < 2 ? 1u : 0u));
  }
}

// Coarse screens whose phases turn too far from pixel to pixel at the data's frequency, whatever FREQ says of
// them; phases that no visibility sees.
BOOST_AUTO_TEST_CASE(steep_and_common_phases_are_warned_of) {
  const Folder folder;
  const AtermGrid grid = grid_of(16, 0.02);
  const std::string text = "aterms = [ tec ]\ntec.images = [ t.fits ]";
  // A tenth of a circle from pixel to pixel is interpolated to 1e-3, four tenths are not.
  for (const auto& [turns, n_warnings] : {std::pair{0.1, 0u}, {0.4, 1u}}) {
    const auto axes = joined(sky_axes(kCentre, 24, 24, -2, 2), {{"ANTENNA", 3}, {"FREQ", 1, 1.0}});
    const double tec = turns * kTwoPi / 0.02 / (kTecPhase / kFreq_hz);
    folder.file("t.fits", cube_text(axes, -64, [&](const auto& i) {
                  return i[2] == 2 ? tec * axis_lm(axes[0], i[0]) : 0.0;
                }));
    const auto model = open_aterms(folder.file("a.conf", text), three_stations());
    BOOST_TEST(model->warnings(grid, kFreq_hz).size() == n_warnings);
    BOOST_TEST(model->warnings(grid, 10 * kFreq_hz).empty());
  }
  folder.file("t.fits", cube_text(joined(sky_axes(kCentre, 24, 24, -2, 2), {{"ANTENNA", 1}}), -32,
                                  [](const auto& i) { return double(i[0]); }));
  const auto common = open_aterms(folder.file("a.conf", text), three_stations())->warnings(grid, kFreq_hz);
  BOOST_REQUIRE(common.size() == 1u);
  BOOST_TEST(common[0].find("changes no visibility") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
