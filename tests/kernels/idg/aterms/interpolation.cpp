// SPDX-License-Identifier: GPL-3.0-or-later
// What a subgrid makes of A-terms between its pixels. A gridder multiplies the sampled A by its taper T, and
// the image is divided by T: between the pixels stands the sinc interpolation of T A over T. No gridder is
// needed to see how far that is from A. Setting of paper 004, section 4.3: 12000 pixels of 15 arcsec, padded
// by 1.5, the central third looked at.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <memory>

#include "kernels/idg/aterms/aterm_math.h"
#include "libcore/aterms/aterms.h"
#include "libcore/base/constants.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/ionosphere_screen.h"
#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(interpolation)

namespace {

constexpr double kTime_mjd_s = 56859.84 * 86400, kFreq_hz = 154e6;
constexpr double kField = 12000 * 15 * kRadPerArcsec * 1.5;  // of l and m, padded
constexpr std::size_t kPoints = 48;                          // across the central third of the image
using Complex = std::complex<double>;

/// Kaiser-Bessel, 18 cells of the uv plane wide; t = -1 .. 1 over the padded field.
double taper(double t) {
  const double beta = 0.5 * kPi * 18;
  return std::cyl_bessel_i(0.0, beta * std::sqrt(std::max(0.0, 1 - t * t))) / std::cyl_bessel_i(0.0, beta);
}

/// weights[i][x]: what pixel x of `grid` adds at the point i, along one direction: the periodic sinc.
std::vector<std::vector<double>> sinc_weights(std::size_t side, const AtermGrid& points) {
  const AtermGrid grid{{}, side, kField / double(side), kField / double(side)};
  std::vector<std::vector<double>> weights(points.side, std::vector<double>(side));
  for (std::size_t i = 0; i < points.side; ++i)
    for (std::size_t x = 0; x < side; ++x) {
      const double pixels = (points.l(i) - grid.l(x)) / grid.step_l_rad;
      const double n = double(side);
      const double sinc =
          std::abs(pixels) < 1e-12 ? 1 : std::sin(kPi * pixels) / (n * std::tan(kPi * pixels / n));
      weights[i][x] = sinc * taper(grid.l(x) / (0.5 * kField)) / taper(points.l(i) / (0.5 * kField));
    }
  return weights;
}

using Matrix = AtermMatrix<double>;
using Combine = Matrix (*)(const Matrix& p, const Matrix& q);

Matrix forward(const Matrix& p, const Matrix& q) {
  return times_adjoint(p, q);
}
Matrix normalised(const Matrix& p, const Matrix& q) {
  return aterm_normalised(p, {{1, 0}, {0, 0}, {0, 0}, {1, 0}}, q);
}

/// What stations p and q make of a pixel, elements XX XY YX YY.
Buffer<Complex, 3> combined(AtermModel& model, const AtermGrid& grid, std::size_t p, std::size_t q,
                            Combine combine) {
  const auto jones = evaluate(model, kTime_mjd_s, kFreq_hz, grid);
  Buffer<Complex, 3> out({4, grid.side, grid.side});
  for (std::size_t y = 0; y < grid.side; ++y)
    for (std::size_t x = 0; x < grid.side; ++x) {
      const auto matrix = [&](std::size_t station) {
        const auto e = [&](std::size_t i) {
          const auto value = jones(station, y, x, i);
          return AtermValue<double>{value.real(), value.imag()};
        };
        return Matrix{e(0), e(1), e(2), e(3)};
      };
      const Matrix value = combine(matrix(p), matrix(q));
      const AtermValue<double> elements[4] = {value.xx, value.xy, value.yx, value.yy};
      for (std::size_t i = 0; i < 4; ++i) out(i, y, x) = {elements[i].re, elements[i].im};
    }
  return out;
}

/// RMS over the points of `combine` less its interpolation, over the RMS of itself.
double relative_error(AtermModel& model, const SkyDirection& centre, std::size_t side, std::size_t p,
                      std::size_t q, Combine combine) {
  const AtermGrid grid{centre, side, kField / double(side), kField / double(side)};
  const AtermGrid points{centre, kPoints, kField / 4.5 / double(kPoints), kField / 4.5 / double(kPoints)};
  const auto sampled = combined(model, grid, p, q, combine), truth = combined(model, points, p, q, combine);
  const auto weights = sinc_weights(side, points);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<std::vector<Complex>> rows(side, std::vector<Complex>(kPoints));
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t a = 0; a < kPoints; ++a)
        for (std::size_t x = 0; x < side; ++x) rows[y][a] += weights[a][x] * sampled(i, y, x);
    for (std::size_t b = 0; b < kPoints; ++b)
      for (std::size_t a = 0; a < kPoints; ++a) {
        Complex value = 0;
        // m rises with y where l falls with x: the same weights from the other end.
        for (std::size_t y = 0; y < side; ++y) value += weights[kPoints - 1 - b][side - 1 - y] * rows[y][a];
        error += std::norm(value - truth(i, b, a));
        norm += std::norm(truth(i, b, a));
      }
  }
  return std::sqrt(error / norm);
}

}  // namespace

// A_p A_q^H of a beam has no structure finer than wavelength over twice the width of the tile, nulls or not:
// what is left is rounding to float, far below the 6.3e-4 (side 64) and 1e-4 (160) that imaging through the
// beam may cost.
BOOST_AUTO_TEST_CASE(a_beam_with_nulls_is_interpolated_to_rounding) {
  const Folder folder;
  const SkyFrame frame(*three_stations().site);
  const SkyDirection zenith = frame.zenith(from_mjd_seconds(kTime_mjd_s));
  for (const char* delays : {"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "0 4 8 12 0 4 8 12 0 4 8 12 0 4 8 12",
                             "0 9 32 1 0 5 0 9 5 3 7 0 0 8 0 0"}) {
    const auto model = open_aterms(
        folder.file("a.conf",
                    fmt::format("aterms = [ beam ]\nbeam.model = mwa\nbeam.delays = [ {} ]", delays)),
        three_stations());
    for (const std::size_t side : {32, 64, 160})
      BOOST_TEST(relative_error(*model, zenith, side, 0, 1, forward) < 1e-6);  // 6e-8
  }
}

// The normalised inverse of tiles with dead dipoles, one in X, two in Y: their nulls lie apart, and where
// they do the phase of the inverse jumps. All of its error comes from there.
BOOST_AUTO_TEST_CASE(normalised_beams_err_only_where_their_nulls_lie) {
  const Folder folder;
  ArrayLayout layout = three_stations();
  for (const auto& [index, name] : {std::pair{0, "Tile011"}, {1, "Tile104"}, {2, "Tile014"}})
    layout.antennas[std::size_t(index)].name = name;
  const SkyFrame frame(*layout.site);
  const SkyDirection zenith = frame.zenith(from_mjd_seconds(kTime_mjd_s));
  const auto model = open_aterms(
      folder.file("a.conf", "aterms = [ beam ]\nbeam.model = mwa\nbeam.metafits = " APSYN_TEST_DATA
                            "/1090008640.metafits"),
      layout);
  for (const auto& [p, q] : {std::pair{0, 0}, {0, 1}, {0, 2}, {1, 2}}) {
    BOOST_TEST(relative_error(*model, zenith, 64, std::size_t(p), std::size_t(q), normalised) <
               6.3e-4);  // 1.1e-5
    BOOST_TEST(relative_error(*model, zenith, 160, std::size_t(p), std::size_t(q), normalised) <
               1e-4);  // 6e-6
  }
}

// Turbulence of Kolmogorov's slope down to 20 km in a layer 100 km up, seen over a kilometre at 154 MHz.
BOOST_AUTO_TEST_CASE(a_fine_ionosphere_is_interpolated_well_enough) {
  const Folder folder;
  ArrayLayout layout = three_stations();
  layout.antennas[1].enu_m = {600, 800, 0};
  const SkyFrame frame(*layout.site);
  const SkyDirection zenith = frame.zenith(from_mjd_seconds(kTime_mjd_s));
  // Fine enough that cubic convolution between its points adds no structure of its own.
  constexpr std::size_t kSide = 1401;
  constexpr double kStep_km = 0.3;
  IonosphereGrid iono;
  iono.east_m = iono.north_m = -0.5e3 * kStep_km * double(kSide - 1);
  iono.step_east_m = iono.step_north_m = 1e3 * kStep_km;
  iono.tec_tecu.resize({1, kSide, kSide});
  for (const double wave_km : {80.0, 55.0, 40.0, 28.0, 20.0}) {
    const double amplitude_tecu = 0.05 * std::pow(wave_km / 80, 5.0 / 6), turn = wave_km;
    const double per_point = kTwoPi * kStep_km / wave_km;
    for (std::size_t y = 0; y < kSide; ++y)
      for (std::size_t x = 0; x < kSide; ++x)
        iono.tec_tecu(0, y, x) +=
            amplitude_tecu * std::sin(per_point * (std::cos(turn) * double(x) + std::sin(turn) * double(y)));
  }
  write_ionosphere(folder.path + "/i.fits", iono, {}, true);
  const auto model = open_aterms(folder.file("a.conf", "aterms=[screen]\nscreen.images=i.fits"), layout);
  const auto n_warnings = [&](std::size_t side) {
    return model->warnings({zenith, side, kField / double(side), kField / double(side)}, 150e6).size();
  };
  BOOST_TEST(relative_error(*model, zenith, 64, 0, 1, forward) < 6.3e-4);  // 9e-6
  BOOST_TEST(relative_error(*model, zenith, 160, 0, 1, forward) < 1e-4);   // 1.1e-5
  BOOST_TEST(n_warnings(64) == 0u);
  BOOST_TEST(n_warnings(160) == 0u);
  // Pixels of 4.7 degrees are too coarse for 20 km, and it is told.
  BOOST_TEST(relative_error(*model, zenith, 16, 0, 1, forward) > 1e-2);  // 4.6e-2
  BOOST_TEST(n_warnings(16) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
