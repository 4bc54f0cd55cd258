// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS files of three antennas and six groups in several dialects, byte by byte, for tests.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/error.h"
#include "libcore/formats/uvfits/uvfits.h"

namespace apsyn::support {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline std::string big(std::uint64_t value, int n_bytes) {
  std::string bytes;
  for (int i = n_bytes - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
inline std::string f32(double value) {
  return big(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}
inline std::string f64(double value) {
  return big(std::bit_cast<std::uint64_t>(value), 8);
}
inline std::string text(std::string value, std::size_t width) {
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
    bytes += text(text(key, 8) + "= '" + text(value, std::max<std::size_t>(8, value.size())) + "'", 80);
  }
  std::string block() const {
    std::string all = bytes + text("END", 80);
    all.resize((all.size() + 2879) / 2880 * 2880, ' ');
    return all;
  }
};

inline std::string padded(std::string data) {
  data.resize((data.size() + 2879) / 2880 * 2880, '\0');
  return data;
}

struct Column {
  std::string name, form;
};

inline std::string table(const std::string& name, int version, const std::vector<Column>& columns,
                         std::size_t width, const std::string& rows,
                         const std::function<void(Cards&)>& more) {
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
  bool big_baselines = false, atomic_time = false, no_inttim = false, one_time = false, weights = true,
       integers = false;
  bool left_handed = false;  ///< XYZHAND: Y is written with the other sign
  bool mounts = false;       ///< MNTSTA 0, 4 and 9, DIAMETER 25, 26 and 27 m
  bool two_setups = false;   ///< FREQSEL 3 of the first two groups, and 8, 20 MHz higher; with two IFs
  std::size_t n_if = 2, n_chan = 3;
  std::vector<int> stokes = {-5, -6, -7, -8};
  std::string epoch = "2000.0";
};

inline const Vec3 kCentre{-2559454.0, 5095372.0, -2849057.0};
inline const Vec3 kRelative[] = {{10, 20, 30}, {-100, 50, 7}, {3, -400, 200}};

struct Value {
  double re, im, weight;
};
inline Value value_of(std::size_t group, std::size_t i, std::size_t chan, std::size_t stokes) {
  const double n = double(((group * 5 + i) * 7 + chan) * 11 + stokes);
  if (group == 2 && i == 0 && chan == 1) return {1, 2, -4};
  if (group == 3 && i == 0 && chan == 2 && stokes == 0) return {kNan, 2, 4};
  if (group == 4 && i == 0 && chan == 0) return {5, 2, std::numeric_limits<double>::infinity()};
  return {n + 1, -2 * n - 1, 1 + 0.5 * n};
}
inline constexpr int kFirst[] = {1, 1, 2, 2, 1, 3}, kSecond[] = {2, 3, 3, 2, 2, 1};
inline constexpr double kUvw_s[] = {1.5e-7, -2.5e-7, 3.25e-8};

inline std::string uvfits(const Dialect& d) {
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
  parameters.emplace_back("DATE",
                          [&](std::size_t g) { return 0.25 + (d.one_time ? 0 : double(g / 2) / 1024); });
  if (d.two_dates) parameters.emplace_back("DATE", [](std::size_t) { return 1.0 / 4096; });
  if (!d.no_inttim) parameters.emplace_back("INTTIM", [](std::size_t g) { return 2 + double(g); });
  if (d.several_sources) parameters.emplace_back(d.source, [](std::size_t g) { return g < 3 ? 7 : 4; });
  if (d.two_setups) parameters.emplace_back("FREQSEL", [](std::size_t g) { return g < 2 ? 3 : 8; });

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
    if (d.left_handed) p[1] = -p[1];
    rows += text("A" + std::to_string(ant + 1), 8) + f64(p[0]) + f64(p[1]) + f64(p[2]) + big(ant + 1, 4);
    if (d.mounts)
      rows += big(std::vector<unsigned>{0, 4, 9}[static_cast<std::size_t>(ant)], 4) + f32(25 + float(ant));
  }
  std::vector<Column> columns{{"ANNAME", "8A"}, {"STABXYZ", "3D"}, {"NOSTA", "1J"}};
  if (d.mounts) columns.insert(columns.end(), {{"MNTSTA", "1J"}, {"DIAMETER", "1E"}});
  std::string file = c.block() + padded(data);
  file += table("AIPS AN", 1, columns, d.mounts ? 44 : 36, rows, [&](Cards& k) {
    for (int i = 0; i < 3; ++i)
      k.number(std::string("ARRAY") + "XYZ"[i], d.geocentric ? 0 : kCentre[static_cast<std::size_t>(i)]);
    k.string("TIMSYS", d.atomic_time ? "IAT" : "UTC");
    k.number("IATUTC", 35);
    if (d.left_handed) k.string("XYZHAND", "LEFT");
  });
  if (d.n_if > 1) {
    std::string all;
    std::size_t width = 0;
    for (const auto& [number, offset_hz] : d.two_setups
                                               ? std::vector<std::pair<int, double>>{{3, 0}, {8, 20e6}}
                                               : std::vector<std::pair<int, double>>{{1, 0}}) {
      std::string row = big(static_cast<std::uint64_t>(number), 4);
      for (std::size_t i = 0; i < d.n_if; ++i) row += f64(10e6 * double(i) + offset_hz);
      for (std::size_t i = 0; i < d.n_if; ++i) row += f32(80e3);
      for (std::size_t i = 0; i < d.n_if; ++i) row += big(i == 1 ? 0xFFFFFFFFu : 1, 4);
      width = row.size();
      all += row;
    }
    const std::string n = std::to_string(d.n_if);
    file += table("AIPS FQ", 1,
                  {{"FRQSEL", "1J"}, {"IF FREQ", n + "D"}, {"CH WIDTH", n + "E"}, {"SIDEBAND", n + "J"}},
                  width, all, [](Cards&) {});
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

/// What the reader says of a file, or "none".
inline std::string complaint(const std::string& path, const UvfitsOptions& options = {}) {
  try {
    UvfitsReader reader(path, options);
    FileRows rows;
    FileVisibilities cells;
    while (reader.read(rows, cells, 2)) {
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

inline bool has(const std::string& all, const std::string& part) {
  return all.find(part) != all.npos;
}

}  // namespace apsyn::support
