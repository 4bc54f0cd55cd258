// SPDX-License-Identifier: GPL-3.0-or-later
// What a process of its own hands back, and how its end is told.
#include "libcore/system/isolated.h"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(isolated)

BOOST_AUTO_TEST_CASE(results_come_back_whole) {
  std::string sent(3000000, 'x');  // more than a pipe holds
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * i >> 7);
  int n_runs = 0;
  const IsolatedResult result = run_isolated({}, [&] {
    ++n_runs;
    return sent;
  });
  BOOST_TEST((result.end == IsolatedEnd::finished));
  BOOST_TEST((result.bytes == sent));
  BOOST_TEST(n_runs == 0);  // in this process
}

BOOST_AUTO_TEST_CASE(errors_are_thrown_here) {
  BOOST_CHECK_EXCEPTION(run_isolated({}, []() -> std::string { throw DataError("a.h5: {}", "damaged"); }),
                        DataError,
                        [](const DataError& error) { return std::string(error.what()) == "a.h5: damaged"; });
}

BOOST_AUTO_TEST_CASE(ends_are_told_apart) {
  const auto end = [](const IsolationLimits& limits, const std::function<std::string()>& work) {
    const IsolatedResult result = run_isolated(limits, work);
    BOOST_TEST(result.bytes.empty());
    return result.end;
  };
  // Boost.Test handles these signals, and would go on with the tests that follow in the child.
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL})
    BOOST_TEST((end({}, [&] {
                  std::signal(signal, SIG_DFL);
                  std::raise(signal);
                  return std::string();
                }) == IsolatedEnd::died));
  BOOST_TEST((end({}, []() -> std::string { throw 1; }) == IsolatedEnd::died));
  BOOST_TEST((end({16u << 20, 0}, [] {
                const std::vector<char> bytes(256u << 20, 1);
                return std::string(bytes.begin(), bytes.begin() + 1);
              }) == IsolatedEnd::out_of_memory));
  BOOST_TEST((end({256u << 20, 1}, [] {
                std::signal(SIGXCPU, SIG_DFL);
                volatile bool forever = true;
                while (forever) {
                }
                return std::string();
              }) == IsolatedEnd::out_of_time));
}

BOOST_AUTO_TEST_CASE(what_waits_for_the_last_fork_is_called_once_it_is_there) {
  int n_calls = 0;
  const auto run = [] { run_isolated({}, [] { return std::string(); }); };
  {
    const AfterLastFork hook(2, [&] { ++n_calls; });
    run();
    BOOST_TEST(n_calls == 0);
    run();
    BOOST_TEST(n_calls == 1);
    run();
    BOOST_TEST(n_calls == 1);
  }
  {
    const AfterLastFork never(1, [&] { ++n_calls; });
  }
  run();
  const AfterLastFork nothing(0, [&] { ++n_calls; });
  run();
  BOOST_TEST(n_calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()
