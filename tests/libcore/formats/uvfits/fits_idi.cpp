// SPDX-License-Identifier: GPL-3.0-or-later
// FITS-IDI files written byte by byte: columns of any type and order, several tables of visibilities; what is
// cut or lies ends in a message that names the HDU.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "tests/reference/scratch.h"
#include "tests/support/uvfits_dialect.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(fits_idi)

namespace {

struct Idi {
  bool double_uvw = false, weights_of_bands = false, weights_in_array = false, two_tables = false;
  bool large_numbers = false, geocentric = false, old_source_column = false;
  std::size_t n_band = 2, n_chan = 3;
  std::string cut_form{};  ///< replaces the form of FLUX
  std::string flags{};     ///< rows of table FLAG, kFlagBytes each; empty: no such table
};

/// A row of table FLAG: SOURCE_ID, ARRAY, ANTS, FREQID, TIMERANG, BANDS, CHANS, PFLAGS.
struct Flag {
  int source = 0;
  std::array<int, 2> stations{};
  std::array<double, 2> days{};
  std::array<int, 2> bands{1, 1}, chans{};
  std::array<int, 4> products{1, 1, 1, 1};

  std::string bytes() const {
    const auto whole = [](int value) { return big(static_cast<std::uint32_t>(value), 4); };
    std::string row = whole(source) + whole(0) + whole(stations[0]) + whole(stations[1]) + whole(-1) +
                      f32(days[0]) + f32(days[1]);
    for (const int band : bands) row += whole(band);
    for (const int chan : chans) row += whole(chan);
    for (const int product : products) row += whole(product);
    return row;
  }
};
constexpr std::size_t kFlagBytes = 60;

constexpr int kFirstStation[] = {1, 1, 3, 2}, kSecondStation[] = {1, 2, 1, 3}, kSources[] = {7, 7, 4, 4};
constexpr std::size_t kRows = 4;

int station(const Idi& d, int number) {
  return d.large_numbers ? number + 300 : number;
}

/// A row of UV_DATA; TIME comes before DATE, and bits stand between.
std::string row_of(const Idi& d, std::size_t row) {
  std::string bytes;
  const auto real = [&](double value) { bytes += d.double_uvw ? f64(value) : f32(value); };
  bytes += f64(0.25 + double(row) / 1024) + std::string(2, '\x7f');  // TIME, 9 bits
  for (std::size_t axis = 0; axis < 3; ++axis) real(kUvw_s[axis] * double(row + 1));
  bytes += f64(2457000.5);
  const int base = d.large_numbers ? 65536 : 256;
  bytes += big(
      static_cast<std::uint64_t>(base * station(d, kFirstStation[row]) + station(d, kSecondStation[row])), 4);
  bytes += big(static_cast<std::uint64_t>(kSources[row]), 4) + big(1, 4) + f32(2 + double(row));
  for (std::size_t i = 0; i < d.n_band && !d.weights_in_array; ++i)
    for (std::size_t s = 0; s < (d.weights_of_bands ? 1u : 4u); ++s)
      bytes += f32(row == 1 && i == 0 && s == 0 ? -1.0 : double(1 + row + 10 * i + 100 * s));
  for (std::size_t i = 0; i < d.n_band; ++i)
    for (std::size_t chan = 0; chan < d.n_chan; ++chan)
      for (std::size_t s = 0; s < 4; ++s) {
        const double n = double(((row * 5 + i) * 7 + chan) * 11 + s);
        bytes += f32(n + 1) + f32(-2 * n - 1);
        if (d.weights_in_array) bytes += f32(double(1 + row + 10 * i + 100 * s));
      }
  return bytes;
}

std::string visibilities(const Idi& d, std::size_t first, std::size_t end, int version) {
  const std::string n_weights = std::to_string(d.n_band * (d.weights_of_bands ? 1 : 4)),
                    uvw_form = d.double_uvw ? "1D" : "E";
  const std::size_t n_complex = d.weights_in_array ? 3 : 2, n_values = n_complex * 4 * d.n_chan * d.n_band;
  std::vector<Column> columns{{"TIME", "1D"},         {"SPARE", "9X"},        {"UU---SIN", uvw_form},
                              {"VV---SIN", uvw_form}, {"WW---SIN", uvw_form}, {"DATE", "1D"},
                              {"BASELINE", "1J"},     {"SOURCE_ID", "1J"},    {"FREQID", "1J"},
                              {"INTTIM", "1E"}};
  if (!d.weights_in_array) columns.push_back({"WEIGHT", n_weights + "E"});
  columns.push_back({"FLUX", d.cut_form.empty() ? std::to_string(n_values) + "E" : d.cut_form});
  std::string rows;
  for (std::size_t row = first; row < end; ++row) rows += row_of(d, row);
  return table("UV_DATA", version, columns, rows.size() / (end - first), rows, [&](Cards& c) {
    c.raw("TMATX" + std::to_string(columns.size()), "T");
    c.number("MAXIS", 6);
    const auto axis = [&](int number, const char* type, std::size_t length, double value, double step,
                          double pixel) {
      const std::string n = std::to_string(number);
      c.number("MAXIS" + n, double(length));
      c.string("CTYPE" + n, type);
      c.number("CRVAL" + n, value);
      c.number("CDELT" + n, step);
      c.number("CRPIX" + n, pixel);
    };
    axis(1, "COMPLEX", n_complex, 1, 1, 1);
    axis(2, "STOKES", 4, -1, -1, 1);
    axis(3, "FREQ", d.n_chan, 8e9, 80e3, 2);
    axis(4, "BAND", d.n_band, 1, 1, 1);
    axis(5, "RA", 1, 0, 0, 1);
    axis(6, "DEC", 1, 0, 0, 1);
  });
}

std::string idi(const Idi& d) {
  Cards primary;
  primary.raw("SIMPLE", "T");
  primary.number("BITPIX", 8);
  primary.number("NAXIS", 0);
  primary.raw("EXTEND", "T");
  primary.raw("GROUPS", "T");
  primary.number("GCOUNT", 0);
  primary.number("PCOUNT", 0);
  primary.string("TELESCOP", "TEST");
  primary.string("OBSERVER", "ME");
  std::string stations;
  for (int ant = 0; ant < 3; ++ant) {
    const Vec3 p = d.geocentric ? kCentre + kRelative[ant] : kRelative[ant];
    stations += text("A" + std::to_string(ant + 1), 8) + f64(p[0]) + f64(p[1]) + f64(p[2]) +
                big(static_cast<std::uint64_t>(station(d, ant + 1)), 4);
  }
  std::string file = primary.block();
  file += table("ARRAY_GEOMETRY", 1, {{"ANNAME", "8A"}, {"STABXYZ", "3D"}, {"NOSTA", "1J"}}, 36, stations,
                [&](Cards& c) {
                  for (int i = 0; i < 3; ++i)
                    c.number(std::string("ARRAY") + "XYZ"[i],
                             d.geocentric ? 0 : kCentre[static_cast<std::size_t>(i)]);
                  c.string("FRAME", "GEOCENTRIC");
                  c.string("TIMSYS", "UTC");
                });
  std::string setup = big(1, 4);
  for (std::size_t i = 0; i < d.n_band; ++i) setup += f64(10e6 * double(i));
  for (std::size_t i = 0; i < d.n_band; ++i) setup += f32(80e3);
  for (std::size_t i = 0; i < d.n_band; ++i) setup += big(i == 1 ? 0xFFFFFFFFu : 1, 4);
  const std::string n = std::to_string(d.n_band);
  file += table("FREQUENCY", 1,
                {{"FREQID", "1J"}, {"BANDFREQ", n + "D"}, {"CH_WIDTH", n + "E"}, {"SIDEBAND", n + "J"}},
                setup.size(), setup, [](Cards&) {});
  const std::string sources = big(4, 4) + text("FOUR", 16) + f64(10) + f64(20) + text("J2000", 8) +
                              big(7, 4) + text("SEVEN", 16) + f64(-20) + f64(-40) + text("J2000", 8);
  file += table("SOURCE", 1,
                {{d.old_source_column ? "ID_NO." : "SOURCE_ID", "1J"},
                 {"SOURCE", "16A"},
                 {"RAEPO", "1D"},
                 {"DECEPO", "1D"},
                 {"EQUINOX", "8A"}},
                44, sources, [](Cards&) {});
  if (d.two_tables)
    file += visibilities(d, 0, 1, 1) + visibilities(d, 1, kRows, 2);
  else
    file += visibilities(d, 0, kRows, 1);
  if (!d.flags.empty())
    file += table("FLAG", 1,
                  {{"SOURCE_ID", "1J"},
                   {"ARRAY", "1J"},
                   {"ANTS", "2J"},
                   {"FREQID", "1J"},
                   {"TIMERANG", "2E"},
                   {"BANDS", "2J"},
                   {"CHANS", "2J"},
                   {"PFLAGS", "4J"}},
                  kFlagBytes, d.flags, [](Cards& c) { c.string("RDATE", "2014-12-09"); });  // JD 2457000.5
  return file + table("GAIN_CURVE", 1, {{"ANTENNA_NO", "1J"}}, 4, big(1, 4), [](Cards&) {});
}

struct Taken {
  FileRows rows;
  FileVisibilities cells;
  MsDescription set;
  std::vector<std::string> ignored;
};

Taken take(const std::string& path) {
  UvfitsReader reader(path, {});
  Taken taken;
  taken.set = reader.description();
  taken.ignored = reader.ignored_tables();
  BOOST_TEST(reader.n_groups() == static_cast<std::int64_t>(kRows));
  BOOST_REQUIRE(reader.read(taken.rows, taken.cells, 100));
  FileRows none;
  BOOST_TEST(!reader.next(none, 100));
  return taken;
}

void check(const Idi& d, const Taken& taken) {
  const FileRows& rows = taken.rows;
  const FileVisibilities& cells = taken.cells;
  BOOST_REQUIRE(rows.baselines.size() == kRows);
  BOOST_TEST((taken.set.products == std::vector{Product::RR, Product::RL, Product::LR, Product::LL}));
  BOOST_TEST(taken.set.telescope == "TEST");
  BOOST_TEST(taken.set.observer == "ME");
  BOOST_TEST(taken.set.source == "FOUR");
  BOOST_REQUIRE(taken.set.more_fields.size() == 1u);
  BOOST_TEST(std::abs(taken.set.more_fields[0].phase_centre.ra_rad - 340 * kRadPerDeg) < 1e-12);
  for (std::size_t chan = 0; chan < d.n_chan; ++chan) {
    BOOST_TEST(std::abs(taken.set.channel_hz[chan] - (8e9 + (double(chan) - 1) * 80e3)) < 1e-3);
    BOOST_TEST(std::abs(taken.set.more_windows[0].channel_hz[chan] - (8.01e9 - (double(chan) - 1) * 80e3)) <
               1e-3);
  }
  for (std::size_t ant = 0; ant < 3; ++ant) {
    const Vec3 off = geocentric_from_enu(*taken.set.layout.site, taken.set.layout.antennas[ant].enu_m) -
                     (kCentre + kRelative[ant]);
    BOOST_TEST(std::sqrt(dot(off, off)) < 1e-6);
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    const bool turned = kFirstStation[row] > kSecondStation[row];
    BOOST_TEST(rows.baselines[row].ant1 == std::min(kFirstStation[row], kSecondStation[row]) - 1);
    BOOST_TEST(rows.baselines[row].ant2 == std::max(kFirstStation[row], kSecondStation[row]) - 1);
    BOOST_TEST(rows.field[row] == (kSources[row] == 7));
    BOOST_TEST(rows.interval_s[row] == 2 + double(row));
    BOOST_TEST(std::abs(rows.time_mjd_s[row] - (2457000.5 - 2400000.5 + 0.25 + double(row) / 1024) * 86400) <
               1e-5);
    for (std::size_t axis = 0; axis < 3; ++axis)
      BOOST_TEST(
          rows.uvw_m(row, axis) == (turned ? -1 : 1) * kUvw_s[axis] * double(row + 1) * kSpeedOfLight_m_s,
          boost::test_tools::tolerance(d.double_uvw ? 1e-12 : 1e-7));
    constexpr std::size_t kProductOf[] = {0, 3, 1, 2},
                          kTurned[] = {0, 3, 2, 1};  // RR LL RL LR -> RR RL LR LL
    for (std::size_t i = 0; i < d.n_band; ++i)
      for (std::size_t chan = 0; chan < d.n_chan; ++chan)
        for (std::size_t s = 0; s < 4; ++s) {
          const double n = double(((row * 5 + i) * 7 + chan) * 11 + s);
          const std::size_t product = turned ? kTurned[s] : kProductOf[s];
          // Phases are opposite to those of a Measurement Set, and of a turned baseline opposite again.
          const std::complex<float> wanted(float(n + 1), float((turned ? 1 : -1) * (-2 * n - 1)));
          BOOST_TEST((cells.data[i](row, chan, product) == wanted));
          const std::size_t of_product = d.weights_of_bands ? 0 : s;
          const bool flagged = row == 1 && i == 0 && of_product == 0 && !d.weights_in_array;
          BOOST_TEST(cells.weight[i](row, chan, product) ==
                     (flagged ? 0.0f : float(1 + row + 10 * i + 100 * of_product)));
        }
  }
}

std::string replaced(std::string bytes, const std::string& card, const std::string& by) {
  const std::size_t at = bytes.rfind(card);
  if (at == std::string::npos) throw std::logic_error("no card " + card);
  return bytes.replace(at, by.size(), by);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_kind_of_column_is_read) {
  const reference::Scratch scratch;
  for (const Idi& d : {Idi{}, Idi{.double_uvw = true}, Idi{.weights_of_bands = true},
                       Idi{.weights_in_array = true}, Idi{.two_tables = true}, Idi{.large_numbers = true},
                       Idi{.geocentric = true}, Idi{.old_source_column = true}}) {
    const Taken taken = take(scratch.file("a", idi(d)));
    check(d, taken);
    BOOST_TEST(taken.ignored == std::vector<std::string>{"GAIN_CURVE 1"}, boost::test_tools::per_element());
  }
}

// What is flagged is decided here by loops over all cells and all flags.
BOOST_AUTO_TEST_CASE(tables_of_flags_are_applied) {
  const reference::Scratch scratch;
  const double step = 1.0 / 1024;  // days between rows, which begin at 0.25
  const std::vector<std::vector<Flag>> tables{
      {{}},
      {{.source = 7}},
      {{.stations = {2, 0}}},
      {{.stations = {3, 1}}},
      {{.days = {0.25 + 0.5 * step, 0.25 + 1.5 * step}}},
      {{.days = {0.25 + step, 0.25 + step}}},
      {{.bands = {0, 1}}},
      {{.chans = {2, 3}}},
      {{.chans = {2, 0}}},
      {{.products = {0, 1, 0, 0}}},
      {{.products = {0, 0, 1, 0}}},
      {{.products = {0, 0, 0, 0}}},
      {{.source = 4, .stations = {1, 0}, .days = {0, 1}, .bands = {1, 0}, .chans = {1, 1}},
       {.stations = {1, 1}, .products = {1, 0, 0, 0}},
       {.days = {-3, 0.25 + 0.1 * step}, .chans = {3, 3}}}};
  constexpr std::size_t kProductOf[] = {0, 3, 1, 2}, kTurned[] = {0, 3, 2, 1};
  std::size_t n_flagged = 0, number = 0;
  for (const std::vector<Flag>& flags : tables) {
    Idi d;
    for (const Flag& flag : flags) d.flags += flag.bytes();
    const Taken with = take(scratch.file("a", idi(d))), without = take(scratch.file("b", idi({})));
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t band = 0; band < 2; ++band)
        for (std::size_t chan = 0; chan < d.n_chan; ++chan)
          for (std::size_t s = 0; s < 4; ++s) {
            bool flagged = false;
            for (const Flag& flag : flags) {
              const int a = kFirstStation[row], b = kSecondStation[row], i = flag.stations[0],
                        j = flag.stations[1];
              const double day = 0.25 + double(row) * step;
              const bool here =
                  i == 0 || (j == 0 ? a == i || b == i : (a == i && b == j) || (a == j && b == i));
              const bool now =
                  (flag.days[0] == 0 && flag.days[1] == 0) || (day >= flag.days[0] && day <= flag.days[1]);
              const int n = static_cast<int>(chan) + 1;
              flagged = flagged || (here && now && (flag.source == 0 || flag.source == kSources[row]) &&
                                    flag.bands[band] != 0 && n >= flag.chans[0] &&
                                    (flag.chans[1] == 0 || n <= flag.chans[1]) && flag.products[s] != 0);
            }
            const std::size_t product = kFirstStation[row] > kSecondStation[row] ? kTurned[s] : kProductOf[s];
            const float weight = without.cells.weight[band](row, chan, product);
            BOOST_TEST(with.cells.weight[band](row, chan, product) == (flagged ? 0 : weight),
                       "table " << number << " row " << row << " band " << band << " channel " << chan
                                << " product " << s);
            BOOST_TEST(
                (with.cells.data[band](row, chan, product) == without.cells.data[band](row, chan, product)));
            n_flagged += flagged;
          }
    ++number;
  }
  BOOST_TEST(n_flagged > 200u);
}

BOOST_AUTO_TEST_CASE(tables_of_flags_that_lie_are_refused) {
  const reference::Scratch scratch;
  const std::string good = idi({.flags = Flag{.days = {0.1, 0.2}}.bytes()});
  BOOST_TEST(complaint(scratch.file("a", good)) == "none");
  const auto changed = [&](const std::string& card, const std::string& by) {
    return complaint(scratch.file("a", replaced(good, card, by)));
  };
  BOOST_TEST(has(changed("'ANTS    '", "'ENTS    '"), "FLAG: no column ANTS"));
  BOOST_TEST(has(changed("'TIMERANG'", "'TIMERENG'"), "no column TIMERANG"));
  BOOST_TEST(has(changed("'2014-12-09'", "'2014-99-09'"), "RDATE '2014-99-09'"));
  BOOST_TEST(has(changed("RDATE   =", "RDITE   ="), "no RDATE"));
  const std::string never = idi({.flags = Flag{.days = {0.1, kNan}}.bytes()});
  BOOST_TEST(has(complaint(scratch.file("a", never)), "FLAG: row 1: times 0.1"));
}

BOOST_AUTO_TEST_CASE(files_that_lie_are_refused) {
  const reference::Scratch scratch;
  const std::string good = idi({});
  const auto changed = [&](const std::string& card, const std::string& by) {
    return complaint(scratch.file("a", replaced(good, card, by)));
  };
  BOOST_TEST(has(changed("MAXIS3  =                    3", "MAXIS3  =                    4"), "MAXISn"));
  BOOST_TEST(
      has(changed("MAXIS3  =                    3", "MAXIS3  =                   -1"), "MAXIS3 = '-1'"));
  BOOST_TEST(has(changed("UU---SIN", "XX---SIN"), "no column UU"));
  BOOST_TEST(has(changed("CTYPE1  = 'COMPLEX '", "CTYPE1  = 'OTHER   '"), "COMPLEX"));
  BOOST_TEST(has(changed("'UV_DATA '", "'UV_DOTA '"), "no table UV_DATA"));
  BOOST_TEST(has(changed("'BASELINE'", "'BASALINE'"), "no column BASELINE"));
  BOOST_TEST(has(changed("'FREQUENCY'", "'FREKUENCY'"), "FREQUENCY"));
  BOOST_TEST(has(changed("'8E      '", "'7E      '"), "its columns take"));
  BOOST_TEST(has(complaint(scratch.file("a", idi({.cut_form = "12E"}))), "its columns take"));
  BOOST_TEST(has(complaint(scratch.file("a", idi({.cut_form = "12Z"}))), "no type of FITS"));
  BOOST_TEST(has(complaint(scratch.file("a", good.substr(0, good.size() - 3 * 2880))), "truncated"));
  BOOST_TEST(has(complaint(scratch.file("a", good.substr(0, 2880))), "no table UV_DATA"));
}

BOOST_AUTO_TEST_CASE(random_damage_gives_data_or_an_error) {
  const reference::Scratch scratch;
  const std::string good = idi({.flags = Flag{.days = {0.1, 0.2}}.bytes()});
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    if (i % 5 == 0) bad.resize(random() % bad.size());
    complaint(scratch.file("a", bad));
  }
}

BOOST_AUTO_TEST_SUITE_END()
