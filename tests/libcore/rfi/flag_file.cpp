// SPDX-License-Identifier: GPL-3.0-or-later
// Flags into a file and back, row by row; files that are not of the set are refused.
#include "libcore/rfi/flag_file.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <random>

#include "libcore/base/error.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(flag_file)

namespace {

/// Rows of several sizes, of whole bytes or not, more than a chunk of the file holds.
std::vector<std::vector<std::uint8_t>> random_rows() {
  std::mt19937 random(5);
  std::vector<std::vector<std::uint8_t>> rows;
  for (int row = 0; row < 40000; ++row) {
    rows.emplace_back(row % 3 == 0 ? 256 : row % 3 == 1 ? 13 : 1);
    for (std::uint8_t& flag : rows.back()) flag = random() & 1;
  }
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_written_comes_back) {
  const reference::Scratch folder;
  const auto rows = random_rows();
  const std::string path = folder.path("flags.h5");
  FlagFileWriter writer(path, rows.size(), false);
  for (std::size_t row = 0; row < rows.size(); ++row) writer.write(row * 2, rows[row]);
  BOOST_TEST(!std::ifstream(path).good());
  writer.commit();
  FlagFileReader reader(path);
  BOOST_TEST(reader.n_set_rows() == rows.size());
  std::size_t n_different = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<std::uint8_t> found(rows[row].size(), 7);
    reader.read(row * 2, found);
    n_different += found != rows[row];
  }
  BOOST_TEST(n_different == 0);
  reader.finish();
}

BOOST_AUTO_TEST_CASE(another_set_is_noticed) {
  const reference::Scratch folder;
  const std::string path = folder.path("flags.h5");
  FlagFileWriter writer(path, 2, false);
  const std::vector<std::uint8_t> flags(8, 1);
  writer.write(0, flags);
  writer.write(1, flags);
  writer.commit();
  std::vector<std::uint8_t> found(8), longer(9);
  BOOST_CHECK_THROW(FlagFileReader(path).read(1, found), DataError);
  BOOST_CHECK_THROW(FlagFileReader(path).read(0, longer), DataError);
  BOOST_CHECK_THROW(FlagFileReader(path).finish(), DataError);
  FlagFileReader reader(path);
  reader.read(0, found);
  reader.read(1, found);
  BOOST_CHECK_THROW(reader.read(2, found), DataError);
  const std::string text = folder.path("text.h5");
  std::ofstream(text) << "nothing of the kind\n";
  BOOST_CHECK_THROW(FlagFileReader reading(text), DataError);
  BOOST_CHECK_THROW(FlagFileReader reading(folder.path("absent.h5")), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
