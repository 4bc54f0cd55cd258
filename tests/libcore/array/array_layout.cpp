// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/array_layout.h"

#include <erfa.h>
#include <erfam.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(array_layout)

namespace {

bool names(const Error& error, std::string_view text, ExitStatus status) {
  BOOST_TEST_MESSAGE(error.what());
  return error.status() == status && std::string_view(error.what()).find(text) != std::string_view::npos;
}

void malformed(std::string_view csv, std::string_view offending) {
  BOOST_CHECK_EXCEPTION(parse_antennas_csv(csv, "a.csv"), Error,
                        [&](const Error& e) { return names(e, offending, ExitStatus::malformed); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(geodesy_agrees_with_erfa) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  double worst_forward_m = 0, worst_back_m = 0;
  for (int i = 0; i < 2000; ++i) {
    // Including the poles, the equator and the date line exactly.
    Site site{unit(random) * kPi / 2, unit(random) * kPi, unit(random) * 9000};
    if (i % 10 == 0) site.lat_rad = (i % 20 ? 1 : -1) * kPi / 2;
    if (i % 10 == 1) site.lat_rad = 0;
    if (i % 10 == 2) site.lon_rad = kPi;
    double expected[3];
    BOOST_REQUIRE_EQUAL(eraGd2gc(ERFA_WGS84, site.lon_rad, site.lat_rad, site.height_m, expected), 0);
    const Vec3 got = geocentric_from_site(site);
    for (std::size_t k = 0; k < 3; ++k)
      worst_forward_m = std::max(worst_forward_m, std::abs(got[k] - expected[k]));
    const Vec3 again = geocentric_from_site(site_from_geocentric(got));
    for (std::size_t k = 0; k < 3; ++k) worst_back_m = std::max(worst_back_m, std::abs(again[k] - got[k]));
  }
  BOOST_TEST_MESSAGE("worst forward " << worst_forward_m << " m, there and back " << worst_back_m << " m");
  BOOST_TEST(worst_forward_m < 1e-8);
  BOOST_TEST(worst_back_m < 1e-8);
}

BOOST_AUTO_TEST_CASE(local_axes_point_east_north_up) {
  const Site site{-26.7 * kRadPerDeg, 116.67 * kRadPerDeg, 377};
  // One metre along each axis, against a step of the geodetic coordinates themselves.
  const double step_rad = 1e-7;
  const Vec3 here = geocentric_from_site(site);
  const Vec3 east =
      enu_from_geocentric(site, geocentric_from_site({site.lat_rad, site.lon_rad + step_rad, 377}));
  const Vec3 north =
      enu_from_geocentric(site, geocentric_from_site({site.lat_rad + step_rad, site.lon_rad, 377}));
  const Vec3 up = enu_from_geocentric(site, geocentric_from_site({site.lat_rad, site.lon_rad, 378}));
  BOOST_TEST(east[0] > 0.5);
  BOOST_TEST(std::abs(east[1]) < 1e-6);
  BOOST_TEST(north[1] > 0.6);
  BOOST_TEST(std::abs(north[0]) < 1e-6);
  BOOST_TEST(std::abs(up[2] - 1) < 1e-8);
  BOOST_TEST(std::sqrt(dot(enu_from_geocentric(site, here), enu_from_geocentric(site, here))) < 1e-8);
  const Vec3 offset{12.5, -300, 4.25};
  const Vec3 back = enu_from_geocentric(site, geocentric_from_enu(site, offset));
  for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(std::abs(back[k] - offset[k]) < 1e-8);
}

BOOST_AUTO_TEST_CASE(builtin_arrays_are_the_published_ones) {
  struct Expected {
    std::string name;
    std::size_t n_ant;
    double longest_m, lat_deg, lon_deg;
  };
  // Longest baselines computed apart from this code, from the published tables.
  for (const Expected& e : {Expected{"mwa-32t", 32, 342.66, -26.703319, 116.67081},
                            {"mwa-128t", 128, 2873.5, -26.7033194, 116.6708152},
                            {"lwa-sv", 256, 344.68, 34.348358, -106.885783},
                            {"best-2", 32, 72.187, 44.52357778, 11.64598889},
                            {"ska1-low-core", 224, 887.58, -26.82472208, 116.7644482},
                            {"vla-a", 27, 36623.09, 34.07874917, -107.6177275}}) {
    const ArrayLayout layout = builtin_array(e.name);
    BOOST_TEST_CONTEXT(e.name) {
      BOOST_TEST(layout.antennas.size() == e.n_ant);
      BOOST_REQUIRE(layout.site.has_value());
      BOOST_TEST(std::abs(layout.site->lat_rad / kRadPerDeg - e.lat_deg) < 1e-6);
      BOOST_TEST(std::abs(layout.site->lon_rad / kRadPerDeg - e.lon_deg) < 1e-6);
      BOOST_TEST(!layout.telescope.empty());
      double longest_m = 0;
      for (const Antenna& a : layout.antennas)
        for (const Antenna& b : layout.antennas) {
          const Vec3 d = a.enu_m - b.enu_m;
          longest_m = std::max(longest_m, std::sqrt(dot(d, d)));
        }
      BOOST_TEST(std::abs(longest_m - e.longest_m) < 2e-5 * e.longest_m, "longest " << longest_m);
    }
  }
  BOOST_TEST(builtin_array_names().size() == 6u);
  BOOST_CHECK_EXCEPTION(builtin_array("mwa"), Error,
                        [](const Error& e) { return names(e, "mwa-32t", ExitStatus::usage); });
  const ArrayLayout mwa = builtin_array("mwa-32t");
  BOOST_TEST(mwa.antennas[0].name == "Tile01");
  BOOST_TEST(mwa.antennas[0].enu_m[0] == -37.91);
  BOOST_TEST(mwa.antennas[0].enu_m[1] == 140.52);
  BOOST_TEST(mwa.antennas[0].enu_m[2] == 0.66);
}

BOOST_AUTO_TEST_CASE(local_positions_are_read_from_csv) {
  const ArrayLayout layout = parse_antennas_csv(
      "# from the site survey; frame ENU; site -26.5 116.25 377.5\r\n\n"
      "up_m, name ,east,north_m\r\n# another comment\n3,a,1,-2.5e1\n 6 , b , +4 , 5 ",
      "a.csv");
  BOOST_REQUIRE(layout.site.has_value());
  BOOST_TEST(layout.site->lat_rad == -26.5 * kRadPerDeg);
  BOOST_TEST(layout.site->lon_rad == 116.25 * kRadPerDeg);
  BOOST_TEST(layout.site->height_m == 377.5);
  BOOST_REQUIRE(layout.antennas.size() == 2u);
  BOOST_TEST(layout.antennas[0].name == "a");
  BOOST_TEST(layout.antennas[0].enu_m[0] == 1);
  BOOST_TEST(layout.antennas[0].enu_m[1] == -25);
  BOOST_TEST(layout.antennas[0].enu_m[2] == 3);
  BOOST_TEST(layout.antennas[1].name == "b");
  BOOST_TEST(layout.antennas[1].enu_m[0] == 4);
  BOOST_TEST(!parse_antennas_csv("name,east_m,north_m,up_m\na,1,2,3", "a.csv").site.has_value());
}

BOOST_AUTO_TEST_CASE(geocentric_positions_are_read_from_csv) {
  const Site site{0.6, -1.8, 2124};
  const Vec3 first = geocentric_from_enu(site, {10, 20, 0}),
             second = geocentric_from_enu(site, {-10, -20, 0});
  const std::string rows = fmt::format("name,x_m,y_m,z_m\na,{},{},{}\nb,{},{},{}\n", first[0], first[1],
                                       first[2], second[0], second[1], second[2]);
  const std::string with_site =
      fmt::format("# site {} {} 2124\n", 0.6 / kRadPerDeg, -1.8 / kRadPerDeg) + rows;
  const ArrayLayout named = parse_antennas_csv(with_site, "a.csv");
  BOOST_TEST(!named.site_is_mean);
  BOOST_TEST(std::abs(named.antennas[0].enu_m[0] - 10) < 1e-7);
  BOOST_TEST(std::abs(named.antennas[1].enu_m[1] + 20) < 1e-7);
  ArrayLayout mean = parse_antennas_csv(rows, "a.csv");
  BOOST_TEST(mean.site_is_mean);
  BOOST_TEST(std::abs(mean.site->lat_rad - 0.6) < 1e-8);
  BOOST_TEST(std::abs(mean.antennas[0].enu_m[0] - 10) < 1e-3);
  // About another site the antennas stay where they are on the Earth.
  set_site(mean, {0.6, -1.8, 2000});
  BOOST_TEST(std::abs(mean.antennas[0].enu_m[2] - 124) < 1e-6);
  // The site is no mean any more: another one renames the place and moves no antenna.
  set_site(mean, {0.5, -1.8, 0});
  BOOST_TEST(std::abs(mean.antennas[0].enu_m[2] - 124) < 1e-6);
  ArrayLayout local = named;
  set_site(local, {0.5, -1.8, 2000});
  BOOST_TEST(local.antennas[0].enu_m[2] == named.antennas[0].enu_m[2]);
}

BOOST_AUTO_TEST_CASE(malformed_csv_is_refused_with_its_line) {
  const std::string header = "name,east_m,north_m,up_m\n";
  malformed("", "header line");
  malformed("# only a comment\n", "header line");
  malformed(header, "no antennas");
  malformed("name,east_m,north_m\na,1,2\n", "incomplete");
  malformed("east_m,north_m,up_m\n1,2,3\n", "incomplete");
  malformed("name,east_m,y_m,up_m\na,1,2,3\n", "incomplete");
  malformed("name,east_m,north_m,up_m,colour\na,1,2,3,red\n", "colour");
  malformed("name,east_m,east_m,up_m\na,1,2,3\n", "twice");
  malformed("name,east_m,east,up_m\na,1,2,3\n", "'east' appears twice");
  malformed(header + "a,1,2\n", "line 2");
  malformed(header + "a,1,2,3,4\n", "line 2");
  malformed(header + "a,1,2,\n", "''");
  malformed(header + "a,1,2,3x\n", "3x");
  malformed(header + "a,1,2,nan\n", "nan");
  malformed(header + "a,1,2,inf\n", "inf");
  malformed(header + "a,1,2,1e999\n", "1e999");
  malformed(header + "a,1,2,3\na,1,2,4\n", "'a' appears twice");
  malformed(header + ",1,2,3\n", "name ''");
  malformed(header + "a b,1,2,3\n", "a b");
  malformed("# site 91 0 0\n" + header + "a,1,2,3\n", "site 91");
  malformed("name,x_m,y_m,z_m\na,1,2,3\n", "geocentric");
}

BOOST_AUTO_TEST_CASE(sites_are_parsed_or_refused) {
  for (const char* text : {"-26.7,116.67,377", "-26.7deg, 116.67deg, 377m", "-26.7,116.67,0.377km"}) {
    const Site site = parse_site(text);
    BOOST_TEST(std::abs(site.lat_rad + 26.7 * kRadPerDeg) < 1e-15);
    BOOST_TEST(std::abs(site.lon_rad - 116.67 * kRadPerDeg) < 1e-15);
    BOOST_TEST(std::abs(site.height_m - 377) < 1e-12);
  }
  for (const char* text : {"", "1,2", "1,2,3,4", "95,0,0", "1,2,x", "1,2,3s"})
    BOOST_CHECK_EXCEPTION(parse_site(text), Error,
                          [](const Error& e) { return e.status() == ExitStatus::usage; });
}

BOOST_AUTO_TEST_CASE(antennas_are_flagged_by_name_before_index) {
  ArrayLayout layout = parse_antennas_csv("name,east,north,up\nx,0,0,0\n0,1,0,0\nTile05,2,0,0\n", "a.csv");
  flag_antennas(layout, "Tile05, 0");  // a name wins over an index
  BOOST_TEST(!layout.antennas[0].flagged);
  BOOST_TEST(layout.antennas[1].flagged);
  BOOST_TEST(layout.antennas[2].flagged);
  flag_antennas(layout, "");
  BOOST_TEST(!layout.antennas[0].flagged);
  for (const char* list : {"3", "-1", "Tile5", "x,,Tile05", "99999999999999999999"})
    BOOST_CHECK_EXCEPTION(flag_antennas(layout, list), Error,
                          [](const Error& e) { return e.status() == ExitStatus::usage; });
}

BOOST_AUTO_TEST_SUITE_END()
