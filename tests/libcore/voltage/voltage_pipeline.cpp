// SPDX-License-Identifier: GPL-3.0-or-later
// Gulps through read, work and write: nothing is lost, doubled or out of order, however long a write takes,
// and what fails in any step ends all.
#include "libcore/voltage/voltage_pipeline.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(voltage_pipeline)

namespace {

constexpr int kGulps = 200;

/// Numbers the gulps; every `period` of them give two results, and the end gives one.
struct Steps {
  int n_read = 0, n_worked = 0;
  std::atomic<int> n_read_so_far{0};
  std::vector<int> written;
  StreamSteps<int> steps;

  explicit Steps(int period) {
    steps.read = [this](VoltageBlock& block) {
      if (n_read == kGulps) return false;
      block.first_sample = n_read++;
      n_read_so_far = n_read;
      return true;
    };
    steps.work = [this, period](StreamItem<int>& item) {
      item.n_results = 0;
      if (!item.last) BOOST_CHECK_EQUAL(item.block.first_sample, n_worked);
      const int number = n_worked++;
      const auto add = [&](int value) {
        item.place() = value;
        ++item.n_results;
      };
      if (item.last) return add(-1);
      if (number % period != 0) return;
      add(2 * number);
      add(2 * number + 1);
    };
    steps.write = [this](StreamItem<int>& item) {
      written.insert(written.end(), item.results.begin(),
                     item.results.begin() + static_cast<std::ptrdiff_t>(item.n_results));
    };
  }
};

std::vector<int> wanted(int period) {
  std::vector<int> values;
  for (int number = 0; number < kGulps; number += period)
    values.insert(values.end(), {2 * number, 2 * number + 1});
  values.push_back(-1);
  return values;
}

}  // namespace

BOOST_AUTO_TEST_CASE(results_are_written_once_and_in_order) {
  for (const int period : {1, 2, 7, 50, 1000}) {
    Steps made(period);
    run_stream(made.steps);
    BOOST_TEST(made.written == wanted(period), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(reading_goes_on_while_a_result_is_written) {
  Steps made(100);
  const auto write = made.steps.write;
  bool went_on = true;
  made.steps.write = [&](StreamItem<int>& item) {
    // More gulps than there are items, before the next result comes.
    const int until = made.n_read_so_far < 50 ? 90 : 0;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (made.n_read_so_far < until && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    went_on = went_on && made.n_read_so_far >= until;
    write(item);
  };
  run_stream(made.steps);
  BOOST_TEST(went_on);
  BOOST_TEST(made.written == wanted(100), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_block_is_filled_again_when_nobody_reads_it) {
  Steps made(7);
  const auto read = made.steps.read;
  const auto work = made.steps.work;
  std::atomic<int> n_given{0}, n_waited{0}, n_early{0};
  std::vector<std::atomic<bool>> in_use(kGulps);  // by the gulp that a block held last
  made.steps.read = [&](VoltageBlock& block) {
    if (block.n_time > 0 && in_use[static_cast<std::size_t>(block.first_sample)]) ++n_early;
    block.n_time = 1;
    return read(block);
  };
  made.steps.work = [&](StreamItem<int>& item) {
    const auto gulp = static_cast<std::size_t>(item.block.first_sample);
    work(item);
    if (item.last || gulp % 2 == 1) return;
    in_use[gulp] = true;
    ++n_given;
    item.wait_until_free = [&, gulp] {
      in_use[gulp] = false;
      ++n_waited;
    };
  };
  run_stream(made.steps);
  BOOST_TEST(n_early == 0);
  BOOST_TEST(n_given == kGulps / 2);
  BOOST_TEST(n_waited >= n_given - 3);  // the last three blocks of these are not filled again
  BOOST_TEST(made.written == wanted(7), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_ends_all) {
  for (const char* step : {"read", "work", "write"}) {
    Steps made(1);
    const auto fails_at = [&](const char* name, int count) {
      if (std::string(name) == step && count == 20) throw std::runtime_error(step);
    };
    const auto read = made.steps.read;
    const auto work = made.steps.work;
    const auto write = made.steps.write;
    made.steps.read = [&](VoltageBlock& block) { return fails_at("read", made.n_read), read(block); };
    made.steps.work = [&](StreamItem<int>& item) { fails_at("work", made.n_worked), work(item); };
    made.steps.write = [&](StreamItem<int>& item) {
      fails_at("write", static_cast<int>(made.written.size()) / 2), write(item);
    };
    BOOST_CHECK_EXCEPTION(run_stream(made.steps), std::runtime_error,
                          [&](const std::runtime_error& error) { return std::string(error.what()) == step; });
    BOOST_TEST(made.written.size() <= 42u);
  }
}

BOOST_AUTO_TEST_SUITE_END()
