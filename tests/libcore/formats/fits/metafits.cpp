// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/fits/metafits.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(metafits)

namespace {

const std::string kMetafits = APSYN_TEST_DATA "/1090008640.metafits";

struct Scratch {
  std::string folder =
      (std::filesystem::temp_directory_path() / ("metafits." + std::to_string(getpid()))).string();
  Scratch() { std::filesystem::create_directory(folder); }
  ~Scratch() { std::filesystem::remove_all(folder); }
  std::string file(const std::string& name, const std::string& bytes) const {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

/// Where TILEDATA has the numbers of a column: the last byte of row 0's, and the bytes from row to row.
struct ColumnBytes {
  std::size_t last = 0, row = 0;
};

ColumnBytes column_bytes(const std::string& bytes, const std::string& name) {
  const std::size_t header = bytes.rfind("XTENSION", bytes.find("'TILEDATA"));
  ColumnBytes found;
  std::size_t at = header;
  bool wanted = false;
  for (; bytes.substr(at, 8) != "END     "; at += 80) {
    const std::string card = bytes.substr(at, 80);
    if (card.starts_with("TTYPE")) wanted = card.find("'" + name + " ") != card.npos;
    if (!card.starts_with("TFORM")) continue;
    const std::string form = card.substr(card.find('\'') + 1);
    const auto count = static_cast<std::size_t>(std::isdigit(form[0]) ? std::stoi(form) : 1);
    const char letter = form[form.find_first_not_of("0123456789")];
    const std::size_t each = letter == 'A' ? 1 : letter == 'I' ? 2 : letter == 'D' ? 8 : 4;
    found.row += count * each;
    if (wanted) found.last = found.row - 1;
  }
  found.last += (at + 80 - header + 2879) / 2880 * 2880 + header;
  return found;
}

}  // namespace

// Either row of a tile flags it.
BOOST_AUTO_TEST_CASE(a_flagged_polarisation_flags_its_tile) {
  const Scratch scratch;
  const std::string bytes = read_text_file(kMetafits);
  const ColumnBytes flag = column_bytes(bytes, "Flag");
  for (const std::size_t flagged_row : {0, 1, 2}) {
    std::string changed = bytes;
    for (std::size_t row = 0; row < 2; ++row)
      changed[flag.last + row * flag.row] = row == flagged_row ? '\1' : '\0';
    const ArrayLayout layout = read_metafits(scratch.file("a.metafits", changed));
    BOOST_TEST(layout.antennas[75].flagged == (flagged_row < 2));  // rows 0 and 1
  }
}

BOOST_AUTO_TEST_CASE(tiles_are_in_rising_order) {
  const ArrayLayout layout = read_metafits(kMetafits);
  BOOST_REQUIRE(layout.antennas.size() == 128u);
  BOOST_TEST(layout.telescope == "MWA");
  BOOST_REQUIRE(layout.site.has_value());
  BOOST_TEST(std::abs(layout.site->lat_rad / kRadPerDeg + 26.7033194) < 1e-7);
  // The file starts with input 0 = antenna 75 = Tile104: values as the table shows them.
  const Antenna& tile = layout.antennas[75];
  BOOST_TEST(tile.name == "Tile104");
  BOOST_TEST(std::abs(tile.enu_m[0] + 585.675) < 1e-4);
  BOOST_TEST(std::abs(tile.enu_m[1] + 101.53) < 1e-4);
  BOOST_TEST(std::abs(tile.enu_m[2] - (375.212 - 377.827)) < 1e-4);
  BOOST_TEST(std::abs(tile.cable_delay_s + 756.49 / kSpeedOfLight_m_s) < 1e-15);
  BOOST_TEST(layout.antennas[0].name == "Tile011");
  BOOST_TEST(layout.antennas[127].name == "Tile168");
  const ArrayLayout built_in = builtin_array("mwa-128t");
  for (std::size_t ant = 0; ant < 128; ++ant) {
    BOOST_TEST(layout.antennas[ant].name == built_in.antennas[ant].name);
    const Vec3 d = layout.antennas[ant].enu_m - built_in.antennas[ant].enu_m;
    BOOST_TEST(std::sqrt(dot(d, d)) < 1e-3);
  }
}

BOOST_AUTO_TEST_CASE(layouts_are_found_by_name_or_file) {
  const Scratch scratch;
  BOOST_TEST(load_layout("best-2").antennas.size() == 32u);
  BOOST_TEST(load_layout(kMetafits).antennas.size() == 128u);
  BOOST_TEST(load_layout(scratch.file("a.csv", "name,x,y,z\nq,6378137,0,0\n")).antennas.size() == 1u);
  BOOST_CHECK_THROW(load_layout(scratch.folder + "/absent.csv"), FailureError);
  BOOST_CHECK_THROW(load_layout(scratch.folder + "/absent.metafits"), FailureError);
  // No file name is a program: CFITSIO would write a copy for this one.
  const std::string bytes = read_text_file(kMetafits);
  BOOST_TEST(load_layout(scratch.file("a(b).metafits", bytes)).antennas.size() == 128u);
  BOOST_TEST(load_layout(scratch.file("x[1]+1.fits", bytes)).antennas.size() == 128u);
  std::size_t n_files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch.folder)) ++n_files;
  BOOST_TEST(n_files == 3u);
}

BOOST_AUTO_TEST_CASE(truncated_metafits_are_refused_and_damage_does_no_harm) {
  const Scratch scratch;
  const std::string bytes = read_text_file(kMetafits);
  std::mt19937 random(7);
  // The table's data end before the last padding.
  for (int i = 0; i < 200; ++i) {
    const std::size_t cut = std::uniform_int_distribution<std::size_t>(0, 45000)(random);
    BOOST_CHECK_EXCEPTION(read_metafits(scratch.file("cut.fits", bytes.substr(0, cut))), Error,
                          [](const Error& e) { return e.status() == ExitStatus::malformed; });
  }
  // Damage may go unnoticed in a number; it must not crash or end in another kind of error.
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    for (int n = 0; n < 8; ++n)
      damaged[std::uniform_int_distribution<std::size_t>(0, i % 2 ? 17279 : damaged.size() - 1)(random)] =
          static_cast<char>(random());
    try {
      read_metafits(scratch.file("damaged.fits", damaged));
    } catch (const Error& error) {
      BOOST_TEST((error.status() == ExitStatus::malformed));
    }
  }
  std::string renamed = bytes;
  renamed.replace(renamed.find("TILEDATA"), 8, "TILEDATE");
  BOOST_CHECK_THROW(read_metafits(scratch.file("renamed.fits", renamed)), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
