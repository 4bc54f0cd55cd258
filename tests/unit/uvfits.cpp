// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS files written here byte by byte in several dialects: every value arrives where it belongs; damaged
// and lying files end in a message that names the byte or the table.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "libcore/core/constants.h"
#include "libcore/core/error.h"
#include "libcore/io/uvfits.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string big(std::uint64_t value, int n_bytes) {
  std::string bytes;
  for (int i = n_bytes - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string f32(double value) {
  return big(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}
std::string f64(double value) {
  return big(std::bit_cast<std::uint64_t>(value), 8);
}
std::string text(std::string value, std::size_t width) {
  value.resize(width, ' ');
  return value;
}

struct Cards {
  std::string bytes;
  void raw(const std::string& key, const std::string& value) {
    bytes +=
        text(text(key, 8) + "= " + std::string(value.size() < 20 ? 20 - value.size() : 0, ' ') + value, 80);
  }
  void number(const std::string& key, double value) { raw(key, fmt::format("{:.17G}", value)); }
  void string(const std::string& key, const std::string& value) {
    bytes += text(text(key, 8) + "= '" + text(value, 8) + "'", 80);
  }
  std::string block() const {
    std::string all = bytes + text("END", 80);
    all.resize((all.size() + 2879) / 2880 * 2880, ' ');
    return all;
  }
};

std::string padded(std::string data) {
  data.resize((data.size() + 2879) / 2880 * 2880, '\0');
  return data;
}

struct Column {
  std::string name, form;
};

std::string table(const std::string& name, int version, const std::vector<Column>& columns, std::size_t width,
                  const std::string& rows, const std::function<void(Cards&)>& more) {
  Cards c;
  c.string("XTENSION", "BINTABLE");
  c.number("BITPIX", 8);
  c.number("NAXIS", 2);
  c.number("NAXIS1", double(width));
  c.number("NAXIS2", double(rows.size() / width));
  c.number("PCOUNT", 0);
  c.number("GCOUNT", 1);
  c.number("TFIELDS", double(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    c.string("TTYPE" + std::to_string(i + 1), columns[i].name);
    c.string("TFORM" + std::to_string(i + 1), columns[i].form);
  }
  c.string("EXTNAME", name);
  c.number("EXTVER", version);
  more(c);
  return c.block() + padded(rows);
}

/// Three antennas, six groups.
struct Dialect {
  std::string uu = "UU", if_name = "IF", source = "SOURCE";
  bool two_dates = false, antenna_numbers = false, geocentric = false, several_sources = false;
  bool big_baselines = false, atomic_time = false, no_inttim = false, weights = true, integers = false;
  std::size_t n_if = 2, n_chan = 3;
  std::vector<int> stokes = {-5, -6, -7, -8};
  std::string epoch = "2000.0";
};

const Vec3 kCentre{-2559454.0, 5095372.0, -2849057.0};
const Vec3 kRelative[] = {{10, 20, 30}, {-100, 50, 7}, {3, -400, 200}};

struct Value {
  double re, im, weight;
};
Value value_of(std::size_t group, std::size_t i, std::size_t chan, std::size_t stokes) {
  const double n = double(((group * 5 + i) * 7 + chan) * 11 + stokes);
  if (group == 2 && i == 0 && chan == 1) return {1, 2, -4};
  if (group == 3 && i == 0 && chan == 2 && stokes == 0) return {kNan, 2, 4};
  if (group == 4 && i == 0 && chan == 0) return {5, 2, std::numeric_limits<double>::infinity()};
  return {n + 1, -2 * n - 1, 1 + 0.5 * n};
}
constexpr int kFirst[] = {1, 1, 2, 2, 1, 3}, kSecond[] = {2, 3, 3, 2, 2, 1};
constexpr double kUvw_s[] = {1.5e-7, -2.5e-7, 3.25e-8};

std::string uvfits(const Dialect& d) {
  Cards c;
  const std::size_t n_stokes = d.stokes.size(), n_complex = d.weights ? 3 : 2;
  std::string data;
  std::vector<std::pair<std::string, std::function<double(std::size_t)>>> parameters;
  const double scale = d.integers ? 1e-9 : 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::string name = d.uu;
    std::replace(name.begin(), name.end(), 'U', "UVW"[axis]);
    parameters.emplace_back(name,
                            [=](std::size_t group) { return kUvw_s[axis] * double(group + 1) / scale; });
  }
  if (d.antenna_numbers) {
    parameters.emplace_back("ANTENNA1", [](std::size_t g) { return kFirst[g]; });
    parameters.emplace_back("ANTENNA2", [](std::size_t g) { return kSecond[g]; });
  } else {
    parameters.emplace_back("BASELINE", [&](std::size_t g) {
      return d.big_baselines ? 65536 + 2048 * kFirst[g] + kSecond[g] : 256 * kFirst[g] + kSecond[g];
    });
  }
  parameters.emplace_back("DATE", [](std::size_t g) { return 0.25 + double(g / 2) / 1024; });
  if (d.two_dates) parameters.emplace_back("DATE", [](std::size_t) { return 1.0 / 4096; });
  if (!d.no_inttim) parameters.emplace_back("INTTIM", [](std::size_t g) { return 2 + double(g); });
  if (d.several_sources) parameters.emplace_back(d.source, [](std::size_t g) { return g < 3 ? 7 : 4; });

  c.raw("SIMPLE", "T");
  c.number("BITPIX", d.integers ? 32 : -32);
  c.number("NAXIS", d.if_name.empty() && d.n_if == 1 ? 6 : 7);
  c.number("NAXIS1", 0);
  c.number("NAXIS2", double(n_complex));
  c.number("NAXIS3", double(n_stokes));
  c.number("NAXIS4", double(d.n_chan));
  const bool has_if = !(d.if_name.empty() && d.n_if == 1);
  int axis = 5;
  if (has_if) c.number("NAXIS" + std::to_string(axis++), double(d.n_if));
  c.number("NAXIS" + std::to_string(axis), 1);
  c.number("NAXIS" + std::to_string(axis + 1), 1);
  c.raw("GROUPS", "T");
  c.number("PCOUNT", double(parameters.size()));
  c.number("GCOUNT", 6);
  c.string("CTYPE2", "COMPLEX");
  c.string("CTYPE3", "STOKES");
  c.number("CRVAL3", d.stokes[0]);
  c.number("CDELT3", n_stokes > 1 ? d.stokes[1] - d.stokes[0] : 1);
  c.number("CRPIX3", 1);
  c.string("CTYPE4", "FREQ");
  c.number("CRVAL4", 150e6);
  c.number("CDELT4", 80e3);
  c.number("CRPIX4", 2);
  if (has_if && !d.if_name.empty()) c.string("CTYPE5", d.if_name);
  c.string("CTYPE" + std::to_string(axis), "RA");
  c.number("CRVAL" + std::to_string(axis), -15);
  c.string("CTYPE" + std::to_string(axis + 1), "DEC");
  c.number("CRVAL" + std::to_string(axis + 1), -30);
  c.string("TELESCOP", "TEST");
  c.string("OBJECT", "SKY");
  c.raw("EPOCH", d.epoch);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string number = std::to_string(i + 1), name = parameters[i].first;
    const bool is_first_date = name == "DATE" && (i == 0 || parameters[i - 1].first != "DATE");
    c.string("PTYPE" + number, name);
    c.number("PSCAL" + number, i < 3 ? scale : d.integers ? 1.0 / 4096 : 1);
    c.number("PZERO" + number, is_first_date ? 2457000.5 : 0);
  }
  for (std::size_t group = 0; group < 6; ++group) {
    const auto put = [&](double value) {
      data += d.integers ? big(static_cast<std::uint32_t>(std::llround(value)), 4) : f32(value);
    };
    for (std::size_t i = 0; i < parameters.size(); ++i)
      put(parameters[i].second(group) * (d.integers && i >= 3 ? 4096 : 1));
    for (std::size_t i = 0; i < d.n_if; ++i)
      for (std::size_t chan = 0; chan < d.n_chan; ++chan)
        for (std::size_t s = 0; s < n_stokes; ++s) {
          const Value v = value_of(d.integers ? 0 : group, i, chan, s);
          put(v.re);
          put(v.im);
          if (d.weights) put(v.weight);
        }
  }
  std::string rows;
  for (int ant = 0; ant < 3; ++ant) {
    const double lon = std::atan2(kCentre[1], kCentre[0]);
    Vec3 p = kRelative[ant];
    if (d.geocentric)
      p = kCentre + Vec3{std::cos(lon) * p[0] - std::sin(lon) * p[1],
                         std::sin(lon) * p[0] + std::cos(lon) * p[1], p[2]};
    rows += text("A" + std::to_string(ant + 1), 8) + f64(p[0]) + f64(p[1]) + f64(p[2]) + big(ant + 1, 4);
  }
  std::string file = c.block() + padded(data);
  file +=
      table("AIPS AN", 1, {{"ANNAME", "8A"}, {"STABXYZ", "3D"}, {"NOSTA", "1J"}}, 36, rows, [&](Cards& k) {
        for (int i = 0; i < 3; ++i)
          k.number(std::string("ARRAY") + "XYZ"[i], d.geocentric ? 0 : kCentre[static_cast<std::size_t>(i)]);
        k.string("TIMSYS", d.atomic_time ? "IAT" : "UTC");
        k.number("IATUTC", 35);
      });
  if (d.n_if > 1) {
    std::string row = big(1, 4);
    for (std::size_t i = 0; i < d.n_if; ++i) row += f64(10e6 * double(i));
    for (std::size_t i = 0; i < d.n_if; ++i) row += f32(80e3);
    for (std::size_t i = 0; i < d.n_if; ++i) row += big(i == 1 ? 0xFFFFFFFFu : 1, 4);
    const std::string n = std::to_string(d.n_if);
    file += table("AIPS FQ", 1,
                  {{"FRQSEL", "1J"}, {"IF FREQ", n + "D"}, {"CH WIDTH", n + "E"}, {"SIDEBAND", n + "J"}},
                  row.size(), row, [](Cards&) {});
  }
  if (d.several_sources) {
    const std::string row = big(4, 4) + text("FOUR", 16) + f64(10) + f64(20) + f64(2000) + big(7, 4) +
                            text("SEVEN", 16) + f64(-20) + f64(-40) + f64(2000);
    file += table("AIPS SU", 1,
                  {{"ID. NO.", "1J"}, {"SOURCE", "16A"}, {"RAEPO", "1D"}, {"DECEPO", "1D"}, {"EPOCH", "1D"}},
                  44, row, [](Cards&) {});
  }
  return file;
}

struct Taken {
  UvfitsRows rows;
  MsDescription description;
  UvfitsCounts counts;
};

Taken take(const std::string& path, const UvfitsOptions& options = {}) {
  UvfitsReader reader(path, options);
  Taken taken;
  taken.description = reader.description();
  BOOST_REQUIRE(reader.read(taken.rows, 100));
  UvfitsRows none;
  BOOST_TEST(!reader.read(none, 100));
  taken.counts = reader.counts();
  return taken;
}

void check(const Dialect& d, const Taken& taken, bool absolute = false) {
  const UvfitsRows& rows = taken.rows;
  const MsDescription& set = taken.description;
  const auto tight = boost::test_tools::tolerance(1e-12);
  BOOST_REQUIRE(rows.baselines.size() == 6u);
  BOOST_REQUIRE(rows.data.size() == d.n_if);
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
    BOOST_TEST(rows.exposure_s[g] == (d.no_inttim ? 8 : 2 + double(g)));
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
          BOOST_TEST(rows.weight[i](g, chan, product) == float(weight));
          if (finite)
            BOOST_TEST((rows.data[i](g, chan, product) ==
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

std::string complaint(const std::string& path, const UvfitsOptions& options = {}) {
  try {
    UvfitsReader reader(path, options);
    UvfitsRows rows;
    while (reader.read(rows, 2)) {
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

bool has(const std::string& all, const std::string& part) {
  return all.find(part) != all.npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(dialects) {
  const reference::Scratch scratch;
  for (const Dialect& d :
       {Dialect{}, Dialect{.uu = "UU---SIN"}, Dialect{.uu = "UU--", .two_dates = true},
        Dialect{.antenna_numbers = true}, Dialect{.geocentric = true}, Dialect{.if_name = ""},
        Dialect{.if_name = "", .n_if = 1}, Dialect{.big_baselines = true}, Dialect{.atomic_time = true},
        Dialect{.weights = false}, Dialect{.several_sources = true}}) {
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
  const Dialect none{.no_inttim = true};
  const std::string name = scratch.file("a", uvfits(none));
  BOOST_CHECK_THROW(take(name), UsageError);
  check(none, take(name, {.absolute_weights = false, .integration_s = 8}));
}

BOOST_AUTO_TEST_CASE(weights_and_what_is_no_number) {
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

BOOST_AUTO_TEST_CASE(scaled_integers) {
  const reference::Scratch scratch;
  const Taken taken = take(scratch.file("a", uvfits({.integers = true})));
  for (std::size_t g = 0; g < 6; ++g) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      BOOST_TEST(std::abs(std::abs(taken.rows.uvw_m(g, axis)) -
                          std::abs(kUvw_s[axis]) * double(g + 1) * kSpeedOfLight_m_s) <
                 0.16);  // half of 1e-9 s
    BOOST_TEST(taken.rows.exposure_s[g] == 2 + double(g));
    if (g < 5) BOOST_TEST(taken.rows.data[1](g, 2, 0).real() == float(value_of(0, 1, 2, 0).re));
  }
}

BOOST_AUTO_TEST_CASE(messages) {
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
  BOOST_TEST(has(complaint(scratch.file("x", uvfits({.epoch = "1950.0"}))), "J2000"));
  BOOST_TEST(has(complaint(scratch.file("x", uvfits({.uu = "UU-L-SIN"}))), "wavelengths"));
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

BOOST_AUTO_TEST_CASE(a_measurement_set_of_several_windows_and_fields) {
  const reference::Scratch scratch;
  const Dialect d{.several_sources = true};
  const Taken taken = take(scratch.file("a", uvfits(d)));
  const std::string path = scratch.path("a.ms");
  {
    MeasurementSetWriter writer(path, taken.description, false);
    MsWriteRows out;
    out.uvw_m = View<const double, 2>(taken.rows.uvw_m.data(), {6, 3});
    out.baselines = &taken.rows.baselines;
    out.row_time_mjd_s = taken.rows.time_mjd_s;
    out.row_interval_s = out.row_exposure_s = taken.rows.exposure_s;
    out.row_field = taken.rows.field;
    for (std::size_t i = 0; i < 2; ++i) {
      out.window = static_cast<int>(i);
      out.data = View<const std::complex<float>, 3>(taken.rows.data[i].data(), {6, 3, 4});
      out.weight = View<const float, 3>(taken.rows.weight[i].data(), {6, 3, 4});
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
      BOOST_TEST(rows.interval_s[row] == taken.rows.exposure_s[row]);
      for (std::size_t chan = 0; chan < 3; ++chan)
        for (std::size_t p = 0; p < 4; ++p) {
          BOOST_TEST(rows.weight(row, chan, p) == taken.rows.weight[window](row, chan, p));
          if (rows.weight(row, chan, p) > 0)
            BOOST_TEST((rows.data(row, chan, p) == taken.rows.data[window](row, chan, p)));
        }
    }
  }
  BOOST_TEST(n == 12u);
}
