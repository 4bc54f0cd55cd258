// SPDX-License-Identifier: GPL-3.0-or-later
// Damaged files are answered by an error that names them, whatever libhdf5 makes of their bytes.
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(damage)

namespace {

/// Whether it was good.
bool answered(const Scratch& scratch, const std::string& bytes) {
  const std::string path = scratch.file("damaged.h5", bytes);
  try {
    read_h5parm(path);
    return true;
  } catch (const DataError& error) {
    BOOST_TEST(std::string(error.what()).starts_with(path + ": "));
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(truncated_files_are_refused) {
  const Scratch scratch;
  write_h5parm(scratch.path("good.h5"),
               some_solutions::solutions(some_solutions::table(SolutionType::gain, {}, 1)));
  const std::string good = scratch.read("good.h5");
  BOOST_TEST(answered(scratch, good));
  for (std::size_t n = 0; n < good.size(); n += 1 + good.size() / 40)
    BOOST_TEST(!answered(scratch, good.substr(0, n)));
}

BOOST_AUTO_TEST_CASE(files_with_wrong_bytes_never_end_the_program) {
  const Scratch scratch;
  write_h5parm(scratch.path("good.h5"),
               some_solutions::solutions(some_solutions::table(SolutionType::gain, {1, 2, 1, 2, {}}, 1)));
  const std::string good = scratch.read("good.h5");
  std::mt19937 random(1);
  std::size_t n_refused = 0;
  constexpr std::size_t kTrials = 300;
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    n_refused += !answered(scratch, bad);
  }
  BOOST_TEST(n_refused > kTrials / 20);  // many bytes are padding, or digits of a number
}

BOOST_AUTO_TEST_CASE(other_files_are_named_as_such) {
  const Scratch scratch;
  BOOST_TEST(!answered(scratch, ""));
  BOOST_TEST(!answered(scratch, "antenna,gain_amplitude,phase_rad\n"));
  BOOST_CHECK_THROW(read_h5parm(scratch.path("none.h5")), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
