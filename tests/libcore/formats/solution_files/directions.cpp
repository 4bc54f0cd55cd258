// SPDX-License-Identifier: GPL-3.0-or-later
// Images of A-terms and regions of directions, read by what images them.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <string>

#include "libcore/aterms/aterms.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/sky_cube.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/sky/projection.h"
#include "libcore/sky/regions.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using reference::Scratch;
using some_solutions::kFirst_mjd_s;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(directions)

namespace {

using Complex = std::complex<double>;

constexpr double kFloat = 2e-7;  // gains up to 1.7 in float32

SolutionWriteOptions small_grid(const SkyDirection& centre) {
  SolutionWriteOptions options;
  options.aterm_grid = AtermExportGrid{centre, 0.08, 32};
  return options;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pixels_have_the_gains_of_the_nearest_patch) {
  const Scratch scratch;
  const Solutions solutions = some_solutions::solutions(table(SolutionType::gain, {3, 4, 2, 2, {0, 1}}, 1));
  const SkyDirection centre = *solutions.field_centre;
  write_solutions(scratch.path("a.fits"), solutions, small_grid(centre));
  const SkyCube cube(scratch.path("a.fits"));
  BOOST_TEST_REQUIRE(cube.axes().size() == 4u);
  BOOST_TEST(cube.axes()[0].type == "MATRIX");
  BOOST_TEST(cube.axes()[1].length == 4u);
  BOOST_TEST(cube.axes()[2].step == 1e6);
  BOOST_TEST(cube.axes()[3].first() == kFirst_mjd_s);
  BOOST_TEST(cube.axes()[3].step == 8);
  Buffer<double, 2> pixels({32, 32});
  for (const std::size_t time : {0u, 2u})
    for (const std::size_t chan : {0u, 1u})
      for (const std::size_t ant : {1u, 3u})
        for (std::size_t element = 0; element < 4; ++element) {
          cube.read_plane(((time * 2 + chan) * 4 + ant) * 4 + element, pixels);
          // East is at smaller x, and direction 0 lies there.
          for (const auto& [x, patch] : {std::pair{2u, 0u}, std::pair{30u, 1u}}) {
            const Complex gain = solutions.tables[0].values(time, patch, ant, chan, element / 2);
            BOOST_TEST(std::abs(pixels(10, x) - (element % 2 == 0 ? gain.real() : gain.imag())) < kFloat);
          }
        }
}

BOOST_AUTO_TEST_CASE(tec_alone_is_written_as_tec) {
  const Scratch scratch;
  const Solutions solutions =
      some_solutions::solutions(table(SolutionType::tec_tecu, {2, 4, 1, 1, {0, 1}}, 1),
                                table(SolutionType::tec_tecu, {2, 4, 1, 1, {0, 1}}, 2));
  write_solutions(scratch.path("a.fits"), solutions, small_grid(*solutions.field_centre));
  const SkyCube cube(scratch.path("a.fits"));
  BOOST_TEST_REQUIRE(cube.axes().size() == 3u);
  Buffer<double, 2> pixels({32, 32});
  cube.read_plane(1 * 4 + 2, pixels);  // time 1, antenna 2
  const double sum =
      solutions.tables[0].values(1, 1, 2, 0, 0).real() + solutions.tables[1].values(1, 1, 2, 0, 0).real();
  BOOST_TEST(std::abs(pixels(16, 30) - sum) < 1e-7 * std::abs(sum) + 1e-10);
}

// What idg-grid makes of the images is what it makes of the solutions themselves.
BOOST_AUTO_TEST_CASE(images_and_solutions_are_the_same_aterms) {
  const Scratch scratch;
  const Solutions solutions = some_solutions::solutions(table(SolutionType::gain, {2, 4, 1, 2, {}}, 1));
  SolutionWriteOptions options = small_grid(*solutions.field_centre);
  write_solutions(scratch.path("a.fits"), solutions, options);
  write_solutions(scratch.path("a.h5"), solutions);
  ArrayLayout layout;
  layout.site = Site{};
  for (const SolutionAntenna& antenna : solutions.antennas)
    layout.antennas.emplace_back().name = antenna.name;
  const auto images =
      open_aterms(scratch.file("i.conf", "aterms = [ diagonal ]\ndiagonal.images = [ a.fits ]\n"), layout);
  const auto direct =
      open_aterms(scratch.file("h.conf", "aterms = [ h5parm ]\nh5parm.files = [ a.h5 ]\n"), layout);
  const AtermGrid grid{*solutions.field_centre, 8, 0.01, 0.01};
  Buffer<std::complex<float>, 4> a({4, 8, 8, 4}), b({4, 8, 8, 4});
  for (const double offset_s : {0.0, 9.0}) {
    images->evaluate(images->slot_of(kFirst_mjd_s + offset_s), 150e6, grid, 1, a);
    direct->evaluate(direct->slot_of(kFirst_mjd_s + offset_s), 150e6, grid, 1, b);
    for (std::size_t i = 0; i < a.size(); ++i) BOOST_TEST(std::abs(a.data()[i] - b.data()[i]) < 3 * kFloat);
  }
}

BOOST_AUTO_TEST_CASE(polygons_hold_what_is_nearest) {
  const Scratch scratch;
  Solutions solutions = some_solutions::solutions(table(SolutionType::phase, {1, 2, 1, 1, {0, 1}}, 1));
  solutions.directions = {{"a", {0.31, -0.5}}, {"b {c}", {0.28, -0.49}}, {"d", {0.3, -0.52}}};
  const SkyDirection centre{0.3, -0.5};
  write_direction_regions(scratch.path("d.reg"), solutions, centre, 0.1, false);
  const std::string text = scratch.read("d.reg");
  BOOST_TEST(text.find("text={b _c_}") != std::string::npos);
  ImageInfo info;
  info.centre = centre;
  info.cell_rad = 0.001;
  constexpr std::size_t kSide = 90;
  const std::vector<Region> regions = parse_regions(text, "d.reg");
  BOOST_TEST_REQUIRE(regions.size() == 3u);
  std::size_t n_wrong = 0;
  for (std::size_t patch = 0; patch < 3; ++patch) {
    const auto mask = region_mask({regions[patch]}, info, kSide, kSide, "d.reg");
    for (std::size_t y = 0; y < kSide; ++y)
      for (std::size_t x = 0; x < kSide; ++x) {
        const double l = (45 - static_cast<double>(x)) * 0.001, m = (static_cast<double>(y) - 45) * 0.001;
        n_wrong += (mask(y, x) != 0) != (solutions.nearest_direction(unproject(centre, l, m)) == patch);
      }
  }
  // Pixels on an edge, and the projection, in which half-way is not quite half-way.
  BOOST_TEST(n_wrong <= 20u);
  BOOST_CHECK_THROW(write_direction_regions(scratch.path("e.reg"),
                                            some_solutions::solutions(table(SolutionType::gain, {}, 1)),
                                            centre, 0.1, false),
                    UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
