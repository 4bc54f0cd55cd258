// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of tiles and dishes as A-terms: where they point, how they turn, and which one a telescope gets.
#include <cmath>
#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/beams/dish.h"
#include "libcore/beams/phased_beams.h"
#include "libcore/files/input.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/projection.h"
#include "tests/libcore/aterms/beam/beam_sets.h"
#include "tests/libcore/beams/truth.h"

using namespace apsyn;
using namespace aterm_test;
using namespace beam_test;

BOOST_AUTO_TEST_SUITE(telescopes)

namespace {

constexpr double kTime_mjd_s = 56859.84 * 86400;

struct Sky {
  SkyFrame frame{*three_stations().site};
  UtcTime time = from_mjd_seconds(kTime_mjd_s);
  SkyDirection zenith = frame.zenith(time);
  /// Azimuth from north through east, and elevation.
  std::array<double, 2> azimuth_elevation(const SkyDirection& direction) const {
    const Vec3 s = frame.enu_from_direction(time, direction);
    return {std::atan2(s[0], s[1]), std::asin(s[2])};
  }
};

std::string table(const char* name) {
  return read_text_file(find_beam_file(name, beam_data_folders("")));
}

}  // namespace

BOOST_AUTO_TEST_CASE(tiles_of_the_mwa_turn_under_the_sky) {
  const Folder folder;
  std::filesystem::copy_file(APSYN_TEST_DATA "/mwa-fee-synthetic.h5",
                             folder.path + "/mwa_full_embedded_element_pattern.h5");
  ArrayLayout layout = three_stations();
  layout.telescope = "MWA";
  const auto model = open_aterms(
      folder.file("a.conf",
                  "aterms = [ beam ]\nbeam.data = " + folder.path +
                      "\nbeam.delays = [ 0 3 6 9 0 3 32 9 0 3 6 9 0 3 6 9 ]\nbeam.update_interval = 0.001"),
      layout);
  const Sky sky;
  MwaTile tile;
  for (auto& delays : tile.delays) delays = {0, 3, 6, 9, 0, 3, 32, 9, 0, 3, 6, 9, 0, 3, 6, 9};
  const MwaFeeBeam beam(open_mwa_fee(folder.path + "/mwa_full_embedded_element_pattern.h5")->nearest(151.2e6),
                        tile);
  const double latitude = three_stations().site->lat_rad;
  for (const auto& [ra_off, dec_off] : {std::pair{0.4, 0.2}, {-0.5, -0.3}, {0.1, 0.6}}) {
    const SkyDirection there{sky.zenith.ra_rad + ra_off, sky.zenith.dec_rad + dec_off};
    const auto j = evaluate(*model, kTime_mjd_s, 151.2e6, {there, 1, 1e-3, 1e-3});
    const auto [az, el] = sky.azimuth_elevation(there);
    const double za = kPi / 2 - el;
    const double q =
        std::atan2(-std::sin(az) * std::cos(latitude),
                   std::sin(latitude) * std::sin(za) - std::cos(latitude) * std::cos(za) * std::cos(az));
    const Jones expected =
        product(beam.response(az, za), {-std::cos(q), -std::sin(q), std::sin(q), -std::cos(q)});
    const double peak = std::sqrt(squared_norm(expected));
    for (std::size_t i = 0; i < 4; ++i)  // north is that of J2000, 5 arcminutes from the Earth's
      BOOST_TEST(std::abs(std::complex<double>(j(1, 0, 0, i)) - expected[i]) < 2e-3 * peak);
  }
}

BOOST_AUTO_TEST_CASE(dishes_are_scalars_about_their_pointing) {
  const Folder folder;
  const auto model = open_aterms(
      folder.file("a.conf", "aterms = [ beam ]\nbeam.model = vla\nbeam.pointing = [ 60deg 20deg ]"),
      three_stations());
  BOOST_TEST(model->slot_of(0) == model->slot_of(1e9));
  const AtermGrid grid{{60.1 * kRadPerDeg, 20.1 * kRadPerDeg}, 3, 1e-3, 1e-3};
  const auto j = evaluate(*model, 0, 1.4e9, grid);
  const auto dish = make_polynomial_dish(table("dish-polynomials.csv"), "table", "VLA");
  const double distance_rad = separation_rad({60 * kRadPerDeg, 20 * kRadPerDeg}, grid.centre);
  const auto v = dish->at({std::sin(distance_rad), 0}, 1.4e9);
  BOOST_TEST(std::abs(j(2, 1, 1, 0) - static_cast<float>(v[0])) < 1e-5);
  BOOST_TEST(j(2, 1, 1, 0) == j(0, 1, 1, 3));
  BOOST_TEST(std::abs(j(2, 1, 1, 1)) == 0);
  // Behind the dish there is nothing.
  BOOST_TEST(std::abs(evaluate(*model, 0, 1.4e9, {{240 * kRadPerDeg, -20 * kRadPerDeg}, 1, 1e-3, 1e-3})(
                 0, 0, 0, 0)) == 0);
}

// To the east of the pointing, an hour before and after the meridian.
BOOST_AUTO_TEST_CASE(meerkat_turns_with_the_sky) {
  const Folder folder;
  const Sky sky;
  ArrayLayout layout = three_stations();
  layout.telescope = "MeerKAT";
  const auto dish = make_jimbeam_dish(table("meerkat-jimbeam.csv"), "table", "L");
  for (const double hour : {-0.5, 0.6}) {
    const SkyDirection pointing{sky.zenith.ra_rad + hour, sky.zenith.dec_rad + 0.4};
    const SkyDirection source{pointing.ra_rad + 0.006, pointing.dec_rad + 0.003};
    const auto model = open_aterms(
        folder.file("a.conf", fmt::format("aterms = [ beam ]\nbeam.update_interval = 0.001\n"
                                          "beam.pointing = [ {}deg {}deg ]\n",
                                          pointing.ra_rad / kRadPerDeg, pointing.dec_rad / kRadPerDeg)),
        layout);
    const auto j = evaluate(*model, kTime_mjd_s, 1.1e9, {source, 1, 1e-3, 1e-3});
    const auto from = sky.azimuth_elevation(pointing), to = sky.azimuth_elevation(source);
    const DishOffset offset{
        std::cos(to[1]) * std::sin(to[0] - from[0]),
        std::sin(to[1] - from[1]) + std::cos(to[1]) * std::sin(from[1]) * (1 - std::cos(to[0] - from[0]))};
    const auto v = dish->at(offset, 1.1e9);
    BOOST_TEST(std::abs(j(0, 0, 0, 0) - static_cast<float>(v[0])) < 1e-5);
    BOOST_TEST(std::abs(j(0, 0, 0, 3) - static_cast<float>(v[1])) < 1e-5);
    BOOST_TEST(v[0] != v[1]);
  }
}

BOOST_AUTO_TEST_CASE(patterns_of_fits_cubes_lie_where_their_axes_say) {
  const Folder folder;
  const auto file = [&](const char* corr, const char* part, const char* x, const char* y, double scale) {
    folder.file(
        fmt::format("beam_{}_{}.fits", corr, part),
        cube_text({{x, 21, 0, 0.1, 11}, {y, 21, 0, 0.1, 11}, {"FREQ", 2, 1e9, 1e9}}, -64, [&](const auto& i) {
          const double l = 0.1 * (double(i[0]) - 10), m = 0.1 * (double(i[1]) - 10);
          return scale * (1 + double(i[2])) * (1 + 0.5 * l - 0.2 * m);  // degrees
        }));
  };
  const Sky sky;
  const SkyDirection pointing{sky.zenith.ra_rad + 0.5, sky.zenith.dec_rad - 0.2};
  const std::string text = fmt::format(
      "aterms = [ beam ]\nbeam.model = fits\nbeam.update_interval = 0.001\n"
      "beam.images = 'beam_$(corr)_$(reim).fits'\nbeam.pointing = [ {}deg {}deg ]\n",
      pointing.ra_rad / kRadPerDeg, pointing.dec_rad / kRadPerDeg);
  for (const auto& [x, y] : {std::pair{"X", "Y"}, {"AZ", "EL"}, {"L", "M"}}) {
    const char* corrs[] = {"xx", "xy", "yx", "yy"};
    for (int i = 0; i < 4; ++i) {
      file(corrs[i], "re", x, y, i + 1);
      file(corrs[i], "im", x, y, -i);
    }
    const auto model = open_aterms(folder.file("a.conf", text), three_stations());
    const SkyDirection source{pointing.ra_rad + 0.003, pointing.dec_rad + 0.005};
    const auto j = evaluate(*model, kTime_mjd_s, 1.5e9, {source, 1, 1e-3, 1e-3});
    double across = 0.003 * std::cos(source.dec_rad), up = 0.005;
    if (x != std::string("X")) {
      const auto from = sky.azimuth_elevation(pointing), to = sky.azimuth_elevation(source);
      across = std::cos(to[1]) * std::sin(to[0] - from[0]);
      up = std::sin(to[1] - from[1]) + std::cos(to[1]) * std::sin(from[1]) * (1 - std::cos(to[0] - from[0]));
      if (x == std::string("L")) across = -across;
    }
    const double value = 1.5 * (1 + 0.5 * across / kRadPerDeg - 0.2 * up / kRadPerDeg);
    for (std::size_t i = 0; i < 4; ++i)
      BOOST_TEST(std::abs(std::complex<double>(j(1, 0, 0, i)) -
                          value * std::complex<double>(double(i) + 1, -double(i))) < 2e-3);
  }
  std::filesystem::remove(folder.path + "/beam_yx_im.fits");
  BOOST_CHECK_THROW(open_aterms(folder.path + "/a.conf", three_stations()), DataError);
}

// Single directions are those of a grid's pixels, of every type.
BOOST_AUTO_TEST_CASE(directions_agree_with_pixels) {
  const BeamSet set = oskar_set();
  const auto model = set.open("beam.element_response_model = skala40_wave");
  const SkyDirection centre{330 * kRadPerDeg, -20 * kRadPerDeg};
  const AtermGrid grid{centre, 2, 0.05, 0.04};
  const auto j = evaluate(*model, 5279054405.0, 101e6, grid);
  std::vector<SkyDirection> directions;
  for (std::size_t i = 0; i < 4; ++i) directions.push_back(unproject(centre, grid.l(i % 2), grid.m(i / 2)));
  Buffer<std::complex<float>, 3> at({4, 4, 4});
  at.fill({1e30f, 1e30f});
  model->evaluate_at(model->slot_of(5279054405.0), 101e6, centre, directions, 2, at);
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    worst = std::max(worst, std::abs(std::complex<double>(at.data()[i]) - std::complex<double>(j.data()[i])));
  BOOST_TEST(worst < 2e-6);
}

// Beams of stations taken apart: their parts, put together one by one, are the A-terms again.
BOOST_AUTO_TEST_CASE(stations_come_apart_into_phases_and_elements) {
  const BeamSet set = oskar_set();
  const SkyDirection centre{330 * kRadPerDeg, -20 * kRadPerDeg};
  std::vector<SkyDirection> directions;
  for (std::size_t i = 0; i < 6; ++i)
    directions.push_back(
        unproject(centre, 0.02 * static_cast<double>(i), -0.01 * static_cast<double>(i * i)));
  for (const char* text : {"beam.element_response_model = skala40_wave",
                           "beam.element_response_model = oskar_dipole\nbeam.differential = true",
                           "beam.element_response_model = oskar_dipole\nbeam.beam_mode = array_factor"}) {
    const auto model = set.open(text);
    const PhasedBeams* const beams = model->phased_beams();
    BOOST_TEST_REQUIRE(beams != nullptr);
    const std::int64_t slot = model->slot_of(5279054405.0);
    const std::size_t n_stations = beams->stations.size(), n = directions.size();
    Buffer<std::complex<float>, 3> jones({n_stations, n, 4}), elements({beams->frames.size(), n, 4});
    Buffer<double, 2> itrf({n, 3});
    model->evaluate_at(slot, 101e6, centre, directions, 2, jones);
    PhasedChannel channel;
    model->evaluate_phased(slot, 101e6, directions, 2, channel, itrf, elements);
    double worst = 0;
    for (std::size_t station = 0; station < n_stations; ++station)
      for (std::size_t i = 0; i < n; ++i) {
        Jones sum{};
        for (const PhasedBeams::Field& field : beams->stations[station])
          for (std::size_t row = 0; row < 2; ++row) {
            std::complex<double> factor = 0;
            for (const Vec3& r_m : field.elements_m[row]) {
              double turns = 0;
              for (std::size_t axis = 0; axis < 3; ++axis)
                turns += r_m[axis] * (channel.freq_hz * itrf(i, axis) - channel.delay_hz[axis]) /
                         kSpeedOfLight_m_s;
              factor += std::polar(1.0, 2 * kPi * turns);
            }
            factor /= static_cast<double>(field.elements_m[row].size());
            for (std::size_t e = 2 * row; e < 2 * row + 2; ++e)
              sum[e] += factor * std::complex<double>(elements(field.frame, i, e));
          }
        const Jones expected = product(channel.left[station], sum);
        for (std::size_t e = 0; e < 4; ++e)
          worst = std::max(worst, std::abs(std::complex<double>(jones(station, i, e)) - expected[e]));
      }
    BOOST_TEST(worst < 2e-6);
  }
  BOOST_TEST(
      set.open("beam.element_response_model = oskar_dipole\nbeam.beam_mode = element")->phased_beams() ==
      nullptr);
}

// The same of models that keep where directions are for all channels of a slot: other channels, times,
// directions and centres are not taken for them.
BOOST_AUTO_TEST_CASE(directions_of_tiles_and_dipoles_are_those_of_their_time) {
  const Folder folder;
  std::filesystem::copy_file(APSYN_TEST_DATA "/mwa-fee-synthetic.h5",
                             folder.path + "/mwa_full_embedded_element_pattern.h5");
  const std::string tiles = "\nbeam.delays = [ 0 3 6 9 0 3 32 9 0 3 6 9 0 3 6 9 ]\nbeam.update_interval = 60";
  const Sky sky;
  const SkyDirection east{sky.zenith.ra_rad + 0.2, sky.zenith.dec_rad},
      north{sky.zenith.ra_rad, sky.zenith.dec_rad + 0.1};
  for (const std::string& text :
       {std::string("dipole\nbeam.height = 30cm\nbeam.differential = true"),
        "mwa" + tiles + "\nbeam.differential = true", "mwa-fee\nbeam.data = " + folder.path + tiles,
        "mwa-fee\nbeam.data = " + folder.path + tiles + "\nbeam.differential = true"}) {
    const auto model =
        open_aterms(folder.file("a.conf", "aterms = [ beam ]\nbeam.model = " + text), three_stations());
    const auto check = [&](double time_mjd_s, double freq_hz, const SkyDirection& centre) {
      const AtermGrid grid{centre, 2, 0.05, 0.04};
      const std::int64_t slot = model->slot_of(time_mjd_s);
      Buffer<std::complex<float>, 4> pixels({3, 2, 2, 4});
      pixels.fill({1e30f, 1e30f});
      model->evaluate(slot, freq_hz, grid, 2, pixels);
      std::vector<SkyDirection> directions;
      for (std::size_t i = 0; i < 4; ++i)
        directions.push_back(unproject(centre, grid.l(i % 2), grid.m(i / 2)));
      Buffer<std::complex<float>, 3> at({3, 4, 4});
      at.fill({1e30f, 1e30f});
      model->evaluate_at(slot, freq_hz, centre, directions, 2, at);
      double worst = 0;
      for (std::size_t i = 0; i < at.size(); ++i)
        worst = std::max(
            worst, std::abs(std::complex<double>(at.data()[i]) - std::complex<double>(pixels.data()[i])));
      return worst;
    };
    BOOST_TEST_CONTEXT(text) {
      for (const double freq_hz : {150.4e6, 151.2e6})
        for (const auto& [time_mjd_s, centre] :
             {std::pair{kTime_mjd_s, east}, {kTime_mjd_s, north}, {kTime_mjd_s + 3600, north}})
          BOOST_TEST(check(time_mjd_s, freq_hz, centre) < 2e-6);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
