// SPDX-License-Identifier: GPL-3.0-or-later
// A table of gains that is replaced, damaged and taken away while it is in use.
#include "libcore/array/followed_gains.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <filesystem>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(followed_gains)

namespace {

ArrayLayout two_antennas() {
  return parse_antennas_csv("name,east,north,up\nant0,0,0,0\nant1,1,0,0\n", "a.csv");
}

/// Warnings while it lives.
struct Warnings {
  std::vector<std::string> texts;
  Warnings() {
    set_log_sink([this](LogLevel level, const std::string& text) {
      if (level == LogLevel::warning) texts.push_back(text);
    });
  }
  ~Warnings() { set_log_sink({}); }
};

struct Follower {
  Scratch scratch;
  Warnings warnings;
  std::string path = scratch.path("gains.csv");

  FollowedGains open() const { return FollowedGains(path, two_antennas(), 1, 1); }
  /// Rows in place of the file, by renaming.
  void replace(const std::string& rows) const {
    scratch.file("new.csv", "antenna,gain_amplitude,phase_rad\n" + rows);
    std::filesystem::rename(scratch.path("new.csv"), path);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_is_read_once) {
  const Follower f;
  f.replace("0,2,0\n");
  FollowedGains gains = f.open();
  BOOST_TEST(gains.gains()(0, 0, 0) == 2.0);
  BOOST_TEST(!gains.look(1));
  f.replace("0,3,0\n1,0.5,0\n");
  BOOST_TEST(gains.look(2));
  BOOST_TEST(gains.gains()(0, 0, 0) == 3.0);
  BOOST_TEST(gains.gains()(1, 0, 0) == 0.5);
  BOOST_TEST(!gains.look(3));
  f.replace("0,3,0\n1,0.5,0\n");  // another file of the same gains
  BOOST_TEST(!gains.look(4));
  BOOST_TEST(f.warnings.texts.empty());
}

BOOST_AUTO_TEST_CASE(gains_are_1_until_there_is_a_file) {
  const Follower f;
  FollowedGains gains = f.open();
  BOOST_TEST(f.warnings.texts.size() == 1u);
  BOOST_TEST(!gains.look(1));
  BOOST_TEST(gains.gains()(1, 0, 0) == 1.0);
  f.replace("1,4,0\n");
  BOOST_TEST(gains.look(2));
  BOOST_TEST(gains.gains()(1, 0, 0) == 4.0);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_used_leave_the_former_gains_and_are_warned_of_once) {
  const Follower f;
  f.replace("0,2,0\n");
  FollowedGains gains = f.open();
  for (int i = 0; i < 3; ++i) {
    f.replace("0,zero,0\n");
    BOOST_TEST(!gains.look(1));
  }
  BOOST_TEST(f.warnings.texts.size() == 1u);
  BOOST_TEST(f.warnings.texts.at(0).find("line 2: gain_amplitude 'zero'") != std::string::npos);
  for (int i = 0; i < 2; ++i) {
    f.replace("0,nan,nan\n1,nan,nan\n");
    BOOST_TEST(!gains.look(2));
  }
  std::filesystem::remove(f.path);
  BOOST_TEST(!gains.look(3));
  BOOST_TEST(!gains.look(3));
  BOOST_TEST(f.warnings.texts.size() == 3u);
  BOOST_TEST(gains.gains()(0, 0, 0) == 2.0);
  f.replace("0,5,0\n");
  BOOST_TEST(gains.look(4));
  BOOST_TEST(gains.gains()(0, 0, 0) == 5.0);
  f.replace("0,zero,0\n");  // a cause of before, after good gains
  BOOST_TEST(!gains.look(5));
  BOOST_TEST(f.warnings.texts.size() == 4u);
}

BOOST_AUTO_TEST_CASE(antennas_that_lose_or_regain_their_gain_are_named) {
  const Follower f;
  f.replace("0,2,0\n");
  FollowedGains gains = f.open();
  f.replace("0,2,0\nant1,nan,nan\n");
  BOOST_TEST(gains.look(1.5));
  BOOST_TEST(std::isnan(gains.gains()(1, 0, 0).real()));
  BOOST_TEST(
      f.warnings.texts.at(0).find("from 1.500 s of the data on antennas without gains are left out: ant1") !=
      std::string::npos);
  f.replace("0,3,0\nant1,nan,nan\n");
  BOOST_TEST(gains.look(2));
  BOOST_TEST(f.warnings.texts.size() == 1u);
  f.replace("0,3,0\nant1,1,0\n");
  BOOST_TEST(gains.look(3));
  BOOST_TEST(f.warnings.texts.at(1).find("all antennas have gains") != std::string::npos);
}

// A file that is wrong from the beginning is a mistake in the command line.
BOOST_AUTO_TEST_CASE(a_malformed_file_at_the_start_is_an_error) {
  const Follower f;
  f.replace("0,zero,0\n");
  BOOST_CHECK_THROW(f.open(), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
