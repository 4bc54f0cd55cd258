// SPDX-License-Identifier: GPL-3.0-or-later
// Damaged files of coefficients: data, or an error of ours.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(damage)

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// Whether reading gives anything; other exceptions than ours end the test.
template <class Read>
bool reads(const Read& read) {
  try {
    read();
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(damaged_elements_end_with_an_error) {
  const aterm_test::Folder folder;
  const std::string good = bytes_of(find_beam_file("HamakerHBACoeff.h5", beam_data_folders("")));
  const auto read = [&](const std::string& bytes) {
    const std::string path = folder.file("coefficients.h5", bytes);
    return reads([&] { read_hamaker_file(path); });
  };
  BOOST_TEST(read(good));
  BOOST_TEST(!read(""));
  for (std::size_t size = 0; size < good.size(); size += 200) read(good.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    for (int k = 0; k < 4; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    read(bad);
  }
}

BOOST_AUTO_TEST_CASE(damaged_grids_end_with_an_error) {
  const aterm_test::Folder folder;
  const std::string good = bytes_of(APSYN_TEST_DATA "/gridded-eep-synthetic.h5");
  const auto read = [&](const std::string& bytes) {
    const std::string path = folder.file("grid.h5", bytes);
    return reads([&] { open_gridded_eep(path)->at(104e6); });
  };
  BOOST_TEST(read(good));
  // What is no such file; axes in degrees, and one that falls.
  BOOST_TEST(!reads([&] { open_gridded_eep(APSYN_TEST_DATA "/mwa-fee-synthetic.h5"); }));
  const auto with = [&](double old, double replaced) {
    std::string changed = good;
    const std::string from(reinterpret_cast<const char*>(&old), sizeof old);
    const std::size_t at = changed.find(from);
    BOOST_TEST_REQUIRE(at != std::string::npos);
    std::memcpy(changed.data() + at, &replaced, sizeof replaced);
    return changed;
  };
  BOOST_TEST(read(with(110e6, 111e6)));
  BOOST_TEST(!read(with(110e6, 130e6)));
  BOOST_TEST(!read(with(2 * kPi, 360)));
  BOOST_TEST(!read(with(kPi / 2, 1.5)));
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    for (int k = 0; k < 8; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    read(bad);
  }
}

BOOST_AUTO_TEST_CASE(damaged_tiles_end_with_an_error) {
  const aterm_test::Folder folder;
  const std::string good = bytes_of(APSYN_TEST_DATA "/mwa-fee-synthetic.h5");
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    std::string bad = good;
    for (int k = 0; k < 30; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    const std::string path = folder.file("pattern.h5", bad);
    reads([&] { MwaFeeBeam(open_mwa_fee(path)->nearest(150e6), MwaTile()).response(1, 0.5); });
  }
}

BOOST_AUTO_TEST_SUITE_END()
