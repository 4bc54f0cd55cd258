// SPDX-License-Identifier: GPL-3.0-or-later
// Stations against their definition: tile and delay directions apart, joined fields, unequal flags, delays of
// another frequency. The element is one whose E is known by its angles.
#include "libcore/beams/station.h"

#include <cmath>

#include "libcore/base/constants.h"
#include "tests/libcore/beams/station_field.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(station)

namespace {

using Complex = std::complex<double>;

Jones e_of(double theta, double phi) {
  return {Complex(std::cos(phi) * std::cos(theta), 0.1 * theta), -std::sin(phi),
          Complex(std::sin(phi), 0.2 * phi), std::cos(phi)};
}

class ByAngles final : public ElementResponse {
 public:
  Jones at(std::size_t, const ElementDirection& d) const override {
    return e_of(std::atan2(d.sin_theta, d.cos_theta), std::atan2(d.sin_phi, d.cos_phi));
  }
  void many(View<const float, 2>, View<float, 3>) const override {}
};

/// exp(-2 pi i r . (f0 s0 - f s) / c)
Complex g(const Vec3& r, const Vec3& looked, double looked_hz, const Vec3& s, double hz) {
  const double turns = (dot(r, looked) * looked_hz - dot(r, s) * hz) / 299792458.0;
  return std::exp(Complex(0, -2 * kPi * turns));
}

/// E R of a field: angles and unit vectors of ITRF.
Jones on_sky(const StationField& field, const SkyVector& sky, double first_phi) {
  const Vec3& s = sky.direction;
  const double p = dot(s, field.axes[0]), q = dot(s, field.axes[1]), r = dot(s, field.axes[2]);
  double phi = std::atan2(q, p) - first_phi;
  phi = std::remainder(phi, 2 * kPi);
  Vec3 e_phi{};
  for (std::size_t i = 0; i < 3; ++i) e_phi[i] = -q * field.axes[0][i] + p * field.axes[1][i];
  e_phi = unit(e_phi);
  const Vec3 e_theta = cross(e_phi, s), east = cross(sky.north, s);
  return product(e_of(std::acos(r), phi),
                 {dot(e_theta, sky.north), dot(e_theta, east), dot(e_phi, sky.north), dot(e_phi, east)});
}

struct Sky {
  StationField first = random_field(31, 20, true, 1), second = random_field(17, 25, true, 2);
  ElementResponses elements{std::make_shared<ByAngles>(), std::make_shared<ByAngles>()};
  Buffer<SkyVector, 2> pixels = sky_about(first, 0.5, 0.3, 6);
  StationPointing at{pixels(1, 2).direction, pixels(4, 3).direction, 143e6, 142.7e6};
};

}  // namespace

BOOST_AUTO_TEST_CASE(lofar_is_its_definition) {
  const Sky sky;
  const Station station{"s", {30, -40, 50}, {sky.first, sky.second}};
  for (const SkyVector& there : sky.pixels) {
    const Vec3& s = there.direction;
    Jones expected{};
    for (const StationField& field : station.fields) {
      Complex elements = 0, tile = 0;
      double n = 0;
      for (std::size_t k = 0; k < field.elements_m.size(); ++k)
        if (field.enabled[k][0]) {  // the X flag, for both
          elements += g(field.elements_m[k], sky.at.delay, 142.7e6, s, 143e6);
          ++n;
        }
      for (const Vec3& dipole : field.tile_m) tile += g(dipole, sky.at.tile, 142.7e6, s, 143e6) / 16.0;
      const Complex between =
          g(field.position_m - station.phase_reference_m, sky.at.delay, 142.7e6, s, 143e6);
      expected = sum(expected, scaled(on_sky(field, there, 1.25 * kPi), between * elements / n * tile / 2.0));
    }
    BOOST_TEST(
        difference(station_response(station, StationKind::lofar, BeamPart::full, sky.elements, sky.at, there),
                   expected) < 1e-11);
    BOOST_TEST(difference(station_response(station, StationKind::lofar, BeamPart::element, sky.elements,
                                           sky.at, there),
                          on_sky(sky.first, there, 1.25 * kPi)) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(oskar_is_its_definition) {
  Sky sky;
  sky.first.tile_m.clear();
  const Station station{"s", sky.first.position_m, {sky.first}};
  for (const SkyVector& there : sky.pixels) {
    std::array<Complex, 2> factor{};
    std::array<double, 2> n{};
    for (std::size_t k = 0; k < sky.first.elements_m.size(); ++k)
      for (std::size_t row = 0; row < 2; ++row)
        if (sky.first.enabled[k][row]) {
          factor[row] += g(sky.first.elements_m[k], sky.at.delay, 142.7e6, there.direction, 143e6);
          ++n[row];
        }
    BOOST_TEST(n[0] != n[1]);
    const Jones expected =
        product({factor[0] / n[0], 0.0, 0.0, factor[1] / n[1]}, on_sky(sky.first, there, 0));
    BOOST_TEST(
        difference(station_response(station, StationKind::oskar, BeamPart::full, sky.elements, sky.at, there),
                   expected) < 1e-11);
  }
}

BOOST_AUTO_TEST_CASE(a_station_is_1_where_it_looks_and_0_below_the_horizon) {
  Sky sky;
  sky.at.delay_freq_hz = sky.at.freq_hz;
  sky.at.tile = sky.at.delay;
  const Station station{"s", {30, -40, 50}, {sky.first, sky.second}};
  const auto factor = [&](const Vec3& s) {
    return station_response(station, StationKind::lofar, BeamPart::array_factor, sky.elements, sky.at,
                            {s, {}});
  };
  BOOST_TEST(difference(factor(sky.at.delay), kUnitJones) < 1e-9);
  const Vec3& r = sky.first.axes[2];
  const SkyVector below{{-r[0], -r[1], -r[2]}, sky.first.axes[0]};
  BOOST_TEST(squared_norm(station_response(station, StationKind::lofar, BeamPart::full, sky.elements, sky.at,
                                           below)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
