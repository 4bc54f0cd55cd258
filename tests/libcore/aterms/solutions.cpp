// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms of the type h5parm against the solutions that they come from.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <string>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/sky/projection.h"
#include "tests/libcore/aterms/aterm_files.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using namespace aterm_test;
using some_solutions::kFirst_mjd_s;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(solutions)

namespace {

using Complex = std::complex<double>;

constexpr double kFloat = 3e-7;  // gains up to 1.7

ArrayLayout layout_of(std::vector<std::string> names) {
  ArrayLayout layout;
  layout.site = Site{};
  for (const std::string& name : names) layout.antennas.emplace_back().name = name;
  return layout;
}

const std::vector<std::string> kNames{"ant0", "ant1", "ant2", "ant3"};

}  // namespace

BOOST_AUTO_TEST_CASE(pixels_take_the_nearest_patch) {
  const Folder folder;
  const Solutions given = some_solutions::solutions(table(SolutionType::gain, {3, 4, 1, 4, {0, 1}}, 1));
  write_h5parm(folder.path + "/a.h5", given);
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ cal ]\ncal.type = h5parm\ncal.files = [ a.h5 ]\n"),
                  layout_of(kNames));
  const AtermGrid grid = grid_of(16, 0.005);
  BOOST_TEST(model->warnings(grid, kFreq_hz).empty());
  const auto jones = evaluate(*model, kFirst_mjd_s + 8, kFreq_hz, grid);
  for (std::size_t ant = 0; ant < 4; ++ant)
    for (const auto& [x, patch] :
         {std::pair{0u, 0u}, std::pair{15u, 1u}})  // six pixels and more from the edge
      for (std::size_t i = 0; i < 4; ++i) {
        const Complex expected = given.tables[0].values(1, patch, ant, 0, i);
        BOOST_TEST(std::abs(Complex(jones(ant, 7, x, i)) - expected) < kFloat);
      }
  // Between the patches both count, and nothing is added: a mean of the two.
  const Complex a = given.tables[0].values(1, 0, 2, 0, 0), b = given.tables[0].values(1, 1, 2, 0, 0);
  double sum_error = 0;
  for (std::size_t x = 0; x < 16; ++x) {
    const Complex share = (Complex(jones(2, 7, x, 0)) - b) / (a - b);
    sum_error = std::max(sum_error, std::abs(share.imag()));
  }
  BOOST_TEST(sum_error < 4 * kFloat);
}

BOOST_AUTO_TEST_CASE(flagged_solutions_take_their_neighbours_and_missing_antennas_none) {
  const Folder folder;
  Solutions given = some_solutions::solutions(table(SolutionType::gain, {3, 4, 1, 2, {}}, 1));
  some_solutions::flag(given.tables[0], 1, 2, 0, 0, SolutionFlag::low_snr);
  write_h5parm(folder.path + "/a.h5", given);
  const std::string conf = folder.file("a.conf", "aterms = [ h5parm ]\nh5parm.files = [ a.h5 ]\n");
  const auto model = open_aterms(conf, layout_of({"ant2", "x", "ant0"}));
  const AtermGrid grid = grid_of(4, 0.01);
  const auto jones = evaluate(*model, kFirst_mjd_s + 8, kFreq_hz, grid);
  BOOST_TEST(std::abs(Complex(jones(0, 1, 1, 0)) - given.tables[0].values(0, 0, 2, 0, 0)) < kFloat);
  BOOST_TEST(std::abs(Complex(jones(0, 1, 1, 3)) - given.tables[0].values(1, 0, 2, 0, 1)) < kFloat);
  BOOST_TEST(Complex(jones(1, 1, 1, 0)) == 1.0);
  BOOST_TEST(Complex(jones(1, 1, 1, 1)) == 0.0);
  // Far from all solutions the nearest holds.
  const auto late = evaluate(*model, kFirst_mjd_s + 1000, kFreq_hz, grid);
  BOOST_TEST(std::abs(Complex(late(2, 1, 1, 0)) - given.tables[0].values(2, 0, 0, 0, 0)) < kFloat);
  BOOST_CHECK_THROW(open_aterms(conf, layout_of({"x", "y"})), DataError);
}

// RR = I + V, RL = Q + iU: with S = [1 i; 1 -i] / sqrt(2) the matrix of R and L is S^H J S between X and Y.
BOOST_AUTO_TEST_CASE(circular_solutions_are_turned_to_linear) {
  const Folder folder;
  Solutions given = some_solutions::solutions(table(SolutionType::gain, {1, 4, 1, 2, {}}, 1));
  given.basis = ReceptorBasis::circular;
  write_h5parm(folder.path + "/a.h5", given);
  const auto model = open_aterms(folder.file("a.conf", "aterms = [ h5parm ]\nh5parm.files = a.h5\n"),
                                 layout_of(kNames), true);
  const auto jones = evaluate(*model, kFirst_mjd_s, kFreq_hz, grid_of(4, 0.01));
  const Complex r = given.tables[0].values(0, 0, 1, 0, 0), l = given.tables[0].values(0, 0, 1, 0, 1), i(0, 1);
  const std::array<Complex, 4> expected{0.5 * (r + l), 0.5 * i * (r - l), -0.5 * i * (r - l), 0.5 * (r + l)};
  for (std::size_t k = 0; k < 4; ++k) BOOST_TEST(std::abs(Complex(jones(1, 2, 2, k)) - expected[k]) < kFloat);
}

BOOST_AUTO_TEST_CASE(slots_and_threads) {
  const Folder folder;
  write_h5parm(folder.path + "/a.h5",
               some_solutions::solutions(table(SolutionType::gain, {3, 4, 1, 2, {0, 1}}, 1),
                                         table(SolutionType::tec_tecu, {2, 4, 1, 1, {0, 1}}, 2)));
  const std::string conf = folder.file(
      "a.conf",
      "aterms = [ h5parm ]\nh5parm.files = a.h5\nh5parm.soltabs = [ amplitude000 phase000 tec000 ]\n");
  const auto model = open_aterms(conf, layout_of(kNames));
  BOOST_TEST(model->slot_of(kFirst_mjd_s) == model->slot_of(kFirst_mjd_s + 3));
  BOOST_TEST(model->slot_of(kFirst_mjd_s + 5) > model->slot_of(kFirst_mjd_s + 3));
  const AtermGrid grid = grid_of(12, 0.01);
  const auto one = evaluate(*model, kFirst_mjd_s, kFreq_hz, grid, 1),
             three = evaluate(*model, kFirst_mjd_s, kFreq_hz, grid, 3);
  bool same = true;
  for (std::size_t i = 0; i < one.size(); ++i) same &= one.data()[i] == three.data()[i];
  BOOST_TEST(same);
}

BOOST_AUTO_TEST_CASE(patches_that_no_pixel_shows_are_told) {
  const Folder folder;
  Solutions given = some_solutions::solutions(table(SolutionType::phase, {1, 4, 1, 1, {0, 1}}, 1));
  given.directions = {{"a", {0.3, -0.5}}, {"b", {0.3, -0.5001}}, {"c", {0.3, -0.4999}}};
  given.tables[0].direction = {0, 1, 2};
  given.tables[0].resize(4, 1);
  write_h5parm(folder.path + "/a.h5", given);
  const auto model =
      open_aterms(folder.file("a.conf", "aterms = [ h5parm ]\nh5parm.files = a.h5\n"), layout_of(kNames));
  BOOST_TEST(model->warnings(grid_of(16, 0.005), kFreq_hz).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
