// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS files written byte by byte in several dialects: every value arrives where it belongs; damaged
// and lying files end in a message that names the byte or the table.
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "tests/reference/scratch.h"
#include "tests/support/uvfits_dialect.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(uvfits_files)

namespace {

struct Taken {
  FileRows rows;
  FileVisibilities cells;
  MsDescription description;
  UvfitsCounts counts;
};

Taken take(const std::string& path, const UvfitsOptions& options = {}) {
  UvfitsReader reader(path, options);
  Taken taken;
  taken.description = reader.description();
  BOOST_REQUIRE(reader.read(taken.rows, taken.cells, 100));
  FileRows none;
  BOOST_TEST(!reader.next(none, 100));
  taken.counts = reader.counts();
  return taken;
}

void check(const Dialect& d, const Taken& taken, bool absolute = false) {
  const FileRows& rows = taken.rows;
  const FileVisibilities& cells = taken.cells;
  const MsDescription& set = taken.description;
  const auto tight = boost::test_tools::tolerance(1e-12);
  BOOST_REQUIRE(rows.baselines.size() == 6u);
  BOOST_REQUIRE(cells.data.size() == d.n_if);
  BOOST_TEST((set.products == std::vector{Product::XX, Product::XY, Product::YX, Product::YY}));
  // Reference pixel 2; the second IF descends.
  for (std::size_t chan = 0; chan < d.n_chan; ++chan) {
    BOOST_TEST(set.channel_hz[chan] == 150e6 + (double(chan) - 1) * 80e3, tight);
    if (d.n_if > 1)
      BOOST_TEST(set.more_windows[0].channel_hz[chan] == 160e6 - (double(chan) - 1) * 80e3, tight);
  }
  for (std::size_t g = 0; g < 6; ++g) {
    const bool turned = kFirst[g] > kSecond[g];
    BOOST_TEST(rows.baselines[g].ant1 == std::min(kFirst[g], kSecond[g]) - 1);
    BOOST_TEST(rows.baselines[g].ant2 == std::max(kFirst[g], kSecond[g]) - 1);
    for (std::size_t axis = 0; axis < 3; ++axis)
      BOOST_TEST(rows.uvw_m(g, axis) == (turned ? -1 : 1) * kUvw_s[axis] * double(g + 1) * kSpeedOfLight_m_s,
                 boost::test_tools::tolerance(1e-7));  // of float32
    const double mjd = 2457000.5 + 0.25 + double(g / 2) / 1024 + (d.two_dates ? 1.0 / 4096 : 0) - 2400000.5;
    BOOST_TEST(std::abs(rows.time_mjd_s[g] - mjd * 86400 + (d.atomic_time ? 35 : 0)) < 1e-5);
    BOOST_TEST(rows.interval_s[g] == (d.no_inttim ? 8 : 2 + double(g)));
    constexpr std::size_t kProductOf[] = {0, 3, 1, 2},
                          kTurned[] = {0, 3, 2, 1};  // XX YY XY YX -> XX XY YX YY
    for (std::size_t i = 0; i < d.n_if; ++i)
      for (std::size_t chan = 0; chan < d.n_chan; ++chan)
        for (std::size_t s = 0; s < 4; ++s) {
          Value v = value_of(g, i, chan, s);
          if (!d.weights) v.weight = 1;
          const std::size_t product = turned ? kTurned[s] : kProductOf[s];
          const bool finite = std::isfinite(v.re) && std::isfinite(v.weight);
          const double weight = !finite ? 0 : absolute ? std::abs(v.weight) : std::max(0.0, v.weight);
          BOOST_TEST(cells.weight[i](g, chan, product) == float(weight));
          if (finite)
            BOOST_TEST((cells.data[i](g, chan, product) ==
                        std::complex<float>(float(v.re), float(turned ? -v.im : v.im))));
        }
  }
  // Antennas stand where they stand.
  const double lon = std::atan2(kCentre[1], kCentre[0]);
  for (std::size_t ant = 0; ant < 3; ++ant) {
    const Vec3 p = kRelative[ant];
    const Vec3 expected = kCentre + Vec3{std::cos(lon) * p[0] - std::sin(lon) * p[1],
                                         std::sin(lon) * p[0] + std::cos(lon) * p[1], p[2]};
    const Vec3 off = geocentric_from_enu(*set.layout.site, set.layout.antennas[ant].enu_m) - expected;
    BOOST_TEST(std::sqrt(dot(off, off)) < 1e-6);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_dialect_is_read) {
  const reference::Scratch scratch;
  for (const Dialect& d :
       {Dialect{}, Dialect{.uu = "UU---SIN"}, Dialect{.uu = "UU--", .two_dates = true},
        Dialect{.antenna_numbers = true}, Dialect{.geocentric = true}, Dialect{.if_name = ""},
        Dialect{.if_name = "", .n_if = 1}, Dialect{.big_baselines = true}, Dialect{.atomic_time = true},
        Dialect{.weights = false}, Dialect{.several_sources = true}, Dialect{.left_handed = true},
        Dialect{.geocentric = true, .left_handed = true}}) {
    const Taken taken = take(scratch.file("a", uvfits(d)));
    check(d, taken);
    if (d.several_sources) {
      BOOST_TEST((taken.rows.field == std::vector{1, 1, 1, 0, 0, 0}));
      BOOST_TEST(taken.description.source == "FOUR");
      BOOST_TEST(taken.description.more_fields[0].name == "SEVEN");
      BOOST_TEST(taken.description.more_fields[0].phase_centre.ra_rad == 340 * kRadPerDeg);
    } else {
      BOOST_TEST(taken.description.source == "SKY");
      BOOST_TEST(taken.description.phase_centre.ra_rad == 345 * kRadPerDeg);
      BOOST_TEST(taken.description.phase_centre.dec_rad == -30 * kRadPerDeg);
    }
  }
}

/// A table AIPS FG of one row: a baseline, a time in days, IFs, channels, and products as bits from the left.
std::string flag_table(int version, int ant1, int ant2, double begin, double end, int ifs, int chans,
                       unsigned char products) {
  const auto whole = [](int value) { return big(static_cast<std::uint32_t>(value), 4); };
  const std::string row = whole(0) + whole(1) + whole(-1) + whole(ant1) + whole(ant2) + f32(begin) +
                          f32(end) + whole(ifs) + whole(ifs) + whole(chans) + whole(chans) +
                          std::string(1, static_cast<char>(products)) + text("BAD", 24);
  return table("AIPS FG", version,
               {{"SOURCE", "1J"},
                {"SUBARRAY", "1J"},
                {"FREQ ID", "1J"},
                {"ANTS", "2J"},
                {"TIME RANGE", "2E"},
                {"IFS", "2J"},
                {"CHANS", "2J"},
                {"PFLAGS", "4X"},
                {"REASON", "24A"}},
               row.size(), row, [](Cards& c) { c.string("RDATE", "2014-12-09"); });  // JD 2457000.5
}

// Of several tables AIPS takes the newest, which holds the flags of those before. Times are in the time
// system of the data.
BOOST_AUTO_TEST_CASE(the_newest_table_of_flags_is_applied) {
  const reference::Scratch scratch;
  for (const bool atomic_time : {false, true}) {
    Dialect d{.atomic_time = atomic_time};
    const std::string newest = flag_table(2, 3, 0, 0.25, 0.25, 2, 3, 0x20);
    const std::string plain = uvfits(d), all = flag_table(1, 0, 0, 0, 0, 0, 0, 0xf0);
    const Taken without = take(scratch.file("a", plain)),
                with = take(scratch.file("b", plain + newest + all)),
                nothing = take(scratch.file("c", plain + all));
    std::size_t n_flagged = 0;
    for (std::size_t g = 0; g < 6; ++g)
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t chan = 0; chan < 3; ++chan)
          for (std::size_t product = 0; product < 4; ++product) {
            // The first two groups are of time 0.25; XY is the third of XX YY XY YX.
            const bool flagged =
                g < 2 && (kFirst[g] == 3 || kSecond[g] == 3) && i == 1 && chan == 2 && product == 1;
            const float weight = without.cells.weight[i](g, chan, product);
            BOOST_TEST(with.cells.weight[i](g, chan, product) == (flagged ? 0 : weight));
            BOOST_TEST(nothing.cells.weight[i](g, chan, product) == 0);
            n_flagged += flagged && weight > 0;
          }
    BOOST_TEST(with.counts.by_table == static_cast<std::int64_t>(n_flagged));
    BOOST_TEST(n_flagged == 1u);
    BOOST_TEST(nothing.counts.used == 0);
  }
}

BOOST_AUTO_TEST_CASE(files_that_do_not_tell_the_integration_have_the_shortest_step_of_a_baseline) {
  const reference::Scratch scratch;
  const Dialect none{.no_inttim = true}, once{.no_inttim = true, .one_time = true};
  const std::string name = scratch.file("a", uvfits(none));
  check(none, take(name, {.absolute_weights = false, .integration_s = 8}));
  // Baselines 1-2 and 1-3 come at the first and the third time, 2-3 twice at the second.
  for (const double exposure_s : take(name).rows.interval_s)
    BOOST_TEST(std::abs(exposure_s - 2 * 84.375) < 1e-3);
  BOOST_CHECK_THROW(take(scratch.file("b", uvfits(once))), UsageError);
}

BOOST_AUTO_TEST_CASE(weights_not_above_zero_and_values_not_finite_are_counted) {
  const reference::Scratch scratch;
  const std::string name = scratch.file("a", uvfits({}));
  const UvfitsCounts counts = take(name).counts;
  BOOST_TEST(counts.used + counts.not_positive + counts.not_finite == 6 * 2 * 3 * 4);
  BOOST_TEST(counts.not_positive == 4);
  BOOST_TEST(counts.not_finite == 1 + 4);
  const Taken absolute = take(name, {.absolute_weights = true, .integration_s = 0});
  BOOST_TEST(absolute.counts.not_positive == 0);
  check({}, absolute, true);
}

BOOST_AUTO_TEST_CASE(scaled_integers_are_read) {
  const reference::Scratch scratch;
  const Taken taken = take(scratch.file("a", uvfits({.integers = true})));
  for (std::size_t g = 0; g < 6; ++g) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      BOOST_TEST(std::abs(std::abs(taken.rows.uvw_m(g, axis)) -
                          std::abs(kUvw_s[axis]) * double(g + 1) * kSpeedOfLight_m_s) <
                 0.16);  // half of 1e-9 s
    BOOST_TEST(taken.rows.interval_s[g] == 2 + double(g));
    if (g < 5) BOOST_TEST(taken.cells.data[1](g, 2, 0).real() == float(value_of(0, 1, 2, 0).re));
  }
}

BOOST_AUTO_TEST_CASE(messages_name_what_is_wrong_and_where) {
  const reference::Scratch scratch;
  const std::string whole = uvfits({});
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    bytes.replace(bytes.find(from), to.size(), to);
    return complaint(scratch.file("x", bytes));
  };
  BOOST_TEST(complaint(scratch.file("x", whole)) == "none");
  BOOST_TEST(has(changed("CTYPE2  = 'COMPLEX", "CTYPE2  = 'COMPLIX"), "CTYPE2"));
  BOOST_TEST(has(changed("PTYPE1  = 'UU", "PTYPE1  = 'XX"), "no parameter UU"));
  BOOST_TEST(has(changed("PTYPE4  = 'BASE", "PTYPE4  = 'BOSE"), "no parameter BASELINE"));
  BOOST_TEST(has(changed("EXTNAME = 'AIPS AN", "EXTNAME = 'AIPS XN"), "AIPS AN"));
  BOOST_TEST(has(changed("EXTNAME = 'AIPS FQ", "EXTNAME = 'AIPS XQ"), "AIPS FQ"));
  BOOST_TEST(has(changed("TTYPE2  = 'STABXYZ", "TTYPE2  = 'STABXYY"), "STABXYZ"));
  BOOST_TEST(has(changed("TFORM2  = '3D", "TFORM2  = '6E"), "STABXYZ"));
  BOOST_TEST(has(changed("GROUPS  =                    T", "GROUPS  =                    F"), "NAXIS"));
  BOOST_TEST(has(complaint(scratch.file("x", uvfits({.stokes = {-9, -10}}))), "STOKES"));
  for (const char* epoch : {"1950.0", "'B1950'", "'1950.0'"})
    BOOST_TEST(has(complaint(scratch.file("x", uvfits({.epoch = epoch}))), "J2000"));
  for (const char* epoch : {"'2000.0'", "'J2000'", "0.0"})
    BOOST_TEST(complaint(scratch.file("x", uvfits({.epoch = epoch}))) == "none");
  BOOST_TEST(has(complaint(scratch.file("x", uvfits({.uu = "UU-L-SIN"}))), "wavelengths"));
  // An array that is farther away than any antenna; its coordinates are cards of 20 characters.
  for (const char* key : {"ARRAYX", "ARRAYY", "ARRAYZ"})
    for (const char* far : {"2E10", "-2E10"}) {
      std::string moved = whole;
      moved.replace(moved.find(key) + 10, 20, fmt::format("{:>20}", far));
      BOOST_TEST(has(complaint(scratch.file("x", moved)), "ARRAYX, ARRAYY or ARRAYZ"));
    }
  // An antenna that is in no table: the group and its byte.
  std::string bytes = whole;
  const std::size_t group_bytes = (6 + 2 * 3 * 4 * 3) * 4, begin = whole.find("XTENSION") / 2880 * 2880;
  const std::size_t data = begin - (6 * group_bytes + 2879) / 2880 * 2880;
  bytes.replace(data + 2 * group_bytes + 12, 4, f32(256 + 9));
  BOOST_TEST(has(complaint(scratch.file("x", bytes)),
                 fmt::format("group 2 at byte {}: antenna 9", data + 2 * group_bytes)));
  bytes.replace(data + 2 * group_bytes + 12, 4, f32(kNan));
  BOOST_TEST(has(complaint(scratch.file("x", bytes)), "BASELINE"));
}

BOOST_AUTO_TEST_CASE(cuts_and_damage_end_in_a_message) {
  const reference::Scratch scratch;
  const std::string whole = uvfits({.several_sources = true});
  const std::size_t header = whole.find("END     ") / 2880 * 2880 + 2880;
  std::mt19937 random(8);
  for (std::size_t i = 0; i < header + 60; i += i < 200 ? 1 : 37) {
    const std::size_t size = i < header ? i : random() % whole.size();
    const std::string text = complaint(scratch.file("x", whole.substr(0, size)));
    BOOST_TEST(text != "none");
  }
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    for (std::size_t n = 1 + random() % 5; n > 0; --n) {
      // Digits and letters of the headers above all.
      const std::size_t at = random() % 4 == 0 ? random() % bytes.size() : random() % header;
      bytes[at] = random() % 2 == 0 ? static_cast<char>('0' + random() % 10) : static_cast<char>(random());
    }
    complaint(scratch.file("x", bytes));  // data or an Error, nothing else
  }
}

BOOST_AUTO_TEST_CASE(windows_and_fields_pass_into_a_measurement_set) {
  const reference::Scratch scratch;
  const Dialect d{.several_sources = true, .mounts = true};
  const Taken taken = take(scratch.file("a", uvfits(d)));
  const std::string path = scratch.path("a.ms");
  {
    MeasurementSetWriter writer(path, taken.description, false);
    MsWriteRows out;
    out.uvw_m = View<const double, 2>(taken.rows.uvw_m.data(), {6, 3});
    out.baselines = &taken.rows.baselines;
    out.row_time_mjd_s = taken.rows.time_mjd_s;
    out.row_interval_s = out.row_exposure_s = taken.rows.interval_s;
    out.row_field = taken.rows.field;
    for (std::size_t i = 0; i < 2; ++i) {
      out.window = static_cast<int>(i);
      out.data = View<const std::complex<float>, 3>(taken.cells.data[i].data(), {6, 3, 4});
      out.weight = View<const float, 3>(taken.cells.weight[i].data(), {6, 3, 4});
      writer.write(out);
    }
    writer.commit();
  }
  MsSelection all;
  all.autos = true;
  MeasurementSetReader reader(path, all);
  BOOST_REQUIRE(reader.spectral_windows().size() == 2u);
  BOOST_TEST(reader.spectral_windows()[1].channel_hz[2] == taken.description.more_windows[0].channel_hz[2]);
  BOOST_TEST(reader.fields()[1].name == "SEVEN");
  BOOST_TEST(reader.n_rows() == 12);
  MsRows rows;
  std::size_t n = 0;
  while (reader.read(rows, 100)) {
    const auto window = static_cast<std::size_t>(rows.spw);
    for (std::size_t row = 0; row < rows.ant1.size(); ++row, ++n) {
      BOOST_TEST(rows.ant1[row] == taken.rows.baselines[row].ant1);
      BOOST_TEST(rows.field[row] == taken.rows.field[row]);
      BOOST_TEST(rows.time_mjd_s[row] == taken.rows.time_mjd_s[row]);
      BOOST_TEST(rows.interval_s[row] == taken.rows.interval_s[row]);
      for (std::size_t chan = 0; chan < 3; ++chan)
        for (std::size_t p = 0; p < 4; ++p) {
          BOOST_TEST(rows.weight(row, chan, p) == taken.cells.weight[window](row, chan, p));
          if (rows.weight(row, chan, p) > 0)
            BOOST_TEST((rows.data(row, chan, p) == taken.cells.data[window](row, chan, p)));
        }
    }
  }
  BOOST_TEST(n == 12u);
  const casacore::Table antennas(path + "/ANTENNA");
  const casacore::ScalarColumn<casacore::String> mount(antennas, "MOUNT");
  const casacore::ScalarColumn<double> diameter(antennas, "DISH_DIAMETER");
  const char* expected[] = {"ALT-AZ", "ALT-AZ+NASMYTH-R", "UNKNOWN"};
  for (unsigned ant = 0; ant < 3; ++ant) {
    BOOST_TEST(std::string(mount(ant)) == expected[ant]);
    BOOST_TEST(diameter(ant) == 25.0 + ant);
  }
  for (const Antenna& antenna : take(scratch.file("b", uvfits({}))).description.layout.antennas) {
    BOOST_TEST(antenna.mount == "FIXED");
    BOOST_TEST(antenna.dish_diameter_m == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
