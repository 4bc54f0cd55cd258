// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions of hyperdrive, written card by card after its description of the format.
#include <fmt/core.h>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(hyperdrive)

namespace {

using Complex = std::complex<double>;

std::string padded(std::string text, char filler) {
  text.resize((text.size() + 2879) / 2880 * 2880, filler);
  return text;
}

std::string header(const std::vector<std::string>& cards) {
  std::string text;
  for (const std::string& card : cards) text += fmt::format("{:<80}", card);
  return padded(text + fmt::format("{:<80}", "END"), ' ');
}

std::string number_card(const std::string& key, long value) {
  return fmt::format("{:<8}= {:>20}", key, value);
}
std::string text_card(const std::string& key, const std::string& value) {
  return fmt::format("{:<8}= '{:<8}'", key, value);
}

void append(std::string& bytes, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 0xff);
}

/// A binary table of one column.
std::string table(const std::string& name, const std::string& column, const std::string& form,
                  std::size_t row_bytes, std::size_t n_rows, const std::string& data) {
  return header({text_card("XTENSION", "BINTABLE"), number_card("BITPIX", 8), number_card("NAXIS", 2),
                 number_card("NAXIS1", static_cast<long>(row_bytes)),
                 number_card("NAXIS2", static_cast<long>(n_rows)), number_card("PCOUNT", 0),
                 number_card("GCOUNT", 1), number_card("TFIELDS", 1), text_card("TTYPE1", column),
                 text_card("TFORM1", form), text_card("EXTNAME", name)}) +
         padded(data, '\0');
}

/// 1 time, 2 tiles, 3 channels; the inverse of tile t, channel c is diag(t + 1, (c + 1) i), tile 1's second
/// channel is NaN.
std::string file(bool with_tables) {
  std::string data;
  for (std::size_t tile = 0; tile < 2; ++tile)
    for (std::size_t chan = 0; chan < 3; ++chan)
      for (std::size_t element = 0; element < 8; ++element) {
        const double t = static_cast<double>(tile + 1), c = static_cast<double>(chan + 1);
        append(data, tile == 1 && chan == 1 ? std::nan("") : element == 0 ? t : element == 7 ? c : 0.0);
      }
  std::string text = header(
      {fmt::format("{:<8}= {:>20}", "SIMPLE", "T"), number_card("BITPIX", 8), number_card("NAXIS", 0)});
  text += header({text_card("XTENSION", "IMAGE"), number_card("BITPIX", -64), number_card("NAXIS", 4),
                  number_card("NAXIS1", 8), number_card("NAXIS2", 3), number_card("NAXIS3", 2),
                  number_card("NAXIS4", 1), number_card("PCOUNT", 0), number_card("GCOUNT", 1),
                  text_card("EXTNAME", "SOLUTIONS")}) +
          padded(data, '\0');
  if (!with_tables) return text;
  std::string frequencies;
  for (const double freq_hz : {150e6, 151e6, 152e6}) append(frequencies, freq_hz);
  text += table("TILES", "TileName", "8A", 8, 2, "Tile011 Tile012 ");
  text += table("CHANBLOCKS", "Freq", "1D", 8, 3, frequencies);
  return text;
}

Solutions read(const std::string& path, std::vector<std::string> names, std::size_t n_chan) {
  SolutionReadOptions options;
  options.context = SolutionContext{std::move(names), {}, 5e9, 5e9 + 8};
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    options.context->freq_hz.push_back(200e6 + 1e6 * static_cast<double>(chan));
  return read_solutions(path, options);
}

}  // namespace

BOOST_AUTO_TEST_CASE(tiles_are_found_by_name_and_channels_by_frequency) {
  const Scratch scratch;
  const std::string path = scratch.file("h.fits", file(true));
  const Solutions solutions = read(path, {"Tile012", "Tile011", "Tile099"}, 7);
  const SolutionTable& table = solutions.tables.at(0);
  BOOST_TEST(solutions.antennas[1].name == "Tile012");
  BOOST_TEST(table.freq_hz == (std::vector<double>{150e6, 151e6, 152e6}));
  BOOST_TEST_REQUIRE(table.values.extent(4) == 2u);
  BOOST_TEST(std::abs(table.values(0, 0, 1, 2, 0) - 0.5) < 1e-15);
  BOOST_TEST(std::abs(table.values(0, 0, 1, 2, 1) - 1.0 / Complex(0, 3)) < 1e-15);
  BOOST_TEST(table.weight(0, 0, 1, 1, 0) == 0);
  BOOST_TEST(table.weight(0, 0, 0, 1, 0) == 1);
}

BOOST_AUTO_TEST_CASE(without_tables_they_are_those_of_the_data) {
  const Scratch scratch;
  const std::string path = scratch.file("h.fits", file(false));
  const Solutions solutions = read(path, {"x", "y"}, 6);
  BOOST_TEST(solutions.antennas[1].name == "y");
  BOOST_TEST(solutions.tables[0].freq_hz == (std::vector<double>{200.5e6, 202.5e6, 204.5e6}));
  BOOST_CHECK_THROW(read(path, {"x", "y", "z"}, 6), DataError);
  BOOST_CHECK_THROW(read(path, {"x", "y"}, 5), DataError);
}

BOOST_AUTO_TEST_CASE(truncated_files_are_refused) {
  const Scratch scratch;
  const std::string good = file(false);  // tables behind it may be missing
  for (std::size_t n = 0; n < good.size() - 2880 + 8 * 48; n += 240)
    BOOST_CHECK_THROW(read(scratch.file("h.fits", good.substr(0, n)), {"Tile011", "x"}, 6), Error);
}

BOOST_AUTO_TEST_SUITE_END()
