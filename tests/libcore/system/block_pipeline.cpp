// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/block_pipeline.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace apsyn;

namespace {

void pause_for(std::size_t number) {
  std::this_thread::sleep_for(std::chrono::microseconds(number * 7919 % 5 * 40));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(block_pipeline)

BOOST_AUTO_TEST_CASE(blocks_go_through_all_steps_in_their_order_and_few_are_open) {
  constexpr std::size_t kBlocks = 23, kOpen = 3;
  for (const unsigned n_threads : {1u, 2u, 5u}) {
    struct Block {
      std::atomic<std::size_t> n_items{0};
      bool followed = false, ended = false;
    };
    std::vector<Block> blocks(kBlocks);
    std::vector<std::atomic<bool>> is_busy(n_threads);
    std::vector<std::size_t> first_order, last_order;
    const auto n_of = [](std::size_t block) { return block % 4 * 3; };  // some have none
    std::mutex mutex;
    const auto expect = [&](bool holds) {
      std::lock_guard lock(mutex);
      BOOST_REQUIRE(holds);
    };
    std::size_t n_prepared = 0;
    BlockSteps steps;
    steps.prepare = [&](std::size_t block) -> std::optional<std::size_t> {
      expect(block == n_prepared++);
      if (block == kBlocks) return std::nullopt;
      if (block >= kOpen) expect(blocks[block - kOpen].ended);
      pause_for(block);
      return n_of(block);
    };
    steps.work = [&](std::size_t block, std::size_t item, unsigned thread) {
      expect(thread < n_threads && !is_busy[thread].exchange(true));
      expect(item < n_of(block) && !blocks[block].followed);
      pause_for(block + item);
      ++blocks[block].n_items;
      is_busy[thread] = false;
    };
    steps.then = {{true,
                   [&](std::size_t block) {
                     expect(blocks[block].n_items == n_of(block));
                     blocks[block].followed = true;
                     first_order.push_back(block);
                     pause_for(block);
                   }},
                  {false, [&](std::size_t block) { pause_for(3 * block); }},
                  {true, [&](std::size_t block) {
                     expect(blocks[block].followed);
                     last_order.push_back(block);
                     blocks[block].ended = true;
                   }}};
    run_blocks(n_threads, kOpen, steps);
    BOOST_TEST(n_prepared == kBlocks + 1);
    for (const auto* order : {&first_order, &last_order}) {
      BOOST_REQUIRE_EQUAL(order->size(), kBlocks);
      for (std::size_t i = 0; i < kBlocks; ++i) BOOST_TEST((*order)[i] == i);
    }
  }
}

namespace {

std::string error_of(unsigned n_threads, const BlockSteps& steps) {
  try {
    run_blocks(n_threads, 4, steps);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_error_is_that_of_the_first_call_that_fails) {
  for (const unsigned n_threads : {1u, 4u})
    for (int turn = 0; turn < 20; ++turn) {
      BlockSteps steps;
      steps.prepare = [](std::size_t block) -> std::optional<std::size_t> {
        if (block == 5) throw std::runtime_error("prepare 5");
        return 8;
      };
      steps.work = [](std::size_t block, std::size_t item, unsigned) {
        if (block == 2 && item == 3) {
          pause_for(3);
          throw std::runtime_error("item 3 of block 2");
        }
        if (block == 2 && item == 6) throw std::runtime_error("item 6 of block 2");
        if (block == 3 && item == 0) throw std::runtime_error("item 0 of block 3");
      };
      steps.then = {{true, [](std::size_t block) {
                       if (block >= 2) throw std::runtime_error("a step of a block that has failed");
                     }}};
      BOOST_TEST(error_of(n_threads, steps) == "item 3 of block 2");
      // Block 3 is prepared before the items of block 2 begin.
      steps.prepare = [](std::size_t block) -> std::optional<std::size_t> {
        if (block == 3) throw std::runtime_error("prepare 3");
        return 8;
      };
      BOOST_TEST(error_of(n_threads, steps) == "item 3 of block 2");
      steps.work = [](std::size_t, std::size_t, unsigned) {};
      steps.then = {};
      BOOST_TEST(error_of(n_threads, steps) == "prepare 3");
    }
}

BOOST_AUTO_TEST_SUITE_END()
