// SPDX-License-Identifier: GPL-3.0-or-later
// What happens in a trial stays there, but for what tells that a set is damaged.
#include "libcore/formats/ms/probe.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <stdexcept>
#include <vector>

#include "libcore/base/error.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(probe)

namespace {

auto says(const std::string& text) {
  return [text](const DataError& error) {
    const std::string what = error.what();
    return what.find("some.ms: ") == 0 && what.find(text) != std::string::npos;
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_damage_shows) {
  int n_looks = 0;
  BOOST_CHECK_NO_THROW(probe_in_subprocess("some.ms", [&] { ++n_looks; }));
  BOOST_TEST(n_looks == 0);  // in this process
  BOOST_CHECK_NO_THROW(probe_in_subprocess("some.ms", [] { throw DataError("an ordinary complaint"); }));
  BOOST_CHECK_NO_THROW(probe_in_subprocess("some.ms", [] { throw 1; }));
}

BOOST_AUTO_TEST_CASE(a_death_is_told) {
  // Boost.Test handles these signals, and would go on with the tests that follow in the child.
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL})
    BOOST_CHECK_EXCEPTION(probe_in_subprocess("some.ms",
                                              [&] {
                                                std::signal(signal, SIG_DFL);
                                                std::raise(signal);
                                              }),
                          DataError, says("gives up"));
  const auto terminate = [] {
    std::signal(SIGABRT, SIG_DFL);
    std::terminate();
  };
  BOOST_CHECK_EXCEPTION(probe_in_subprocess("some.ms", terminate), DataError, says("gives up"));
}

BOOST_AUTO_TEST_CASE(memory_is_limited_by_the_size_of_the_files) {
  const auto take = [](std::size_t bytes) {
    return [bytes] {
      const std::vector<char> taken(bytes, 1);
      if (std::count(taken.begin(), taken.end(), 1) == 0) throw std::logic_error("no memory");
    };
  };
  BOOST_CHECK_NO_THROW(probe_in_subprocess("some.ms", take(200u << 20)));
  BOOST_CHECK_THROW(probe_in_subprocess("some.ms", take(400u << 20)), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
