// SPDX-License-Identifier: GPL-3.0-or-later
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/base/view.h"
#include "libcore/files/checksum.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "libcore/system/produce_consume.h"
#include "libcore/system/stages.h"
#include "libcore/system/worker_pool.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(core)

BOOST_AUTO_TEST_CASE(view_is_row_major_and_checks_its_span) {
  std::vector<int> values(24);
  std::iota(values.begin(), values.end(), 0);
  View<int, 3> view(std::span<int>(values), {2, 3, 4});
  BOOST_TEST(view(1, 2, 3) == 23);
  BOOST_TEST(view[1](2, 0) == 20);
  BOOST_TEST(view[1][0][3] == 15);
  BOOST_CHECK_THROW((View<int, 2>(std::span<int>(values), {5, 5})), std::length_error);
  BOOST_CHECK_THROW((Buffer<double, 2>({SIZE_MAX / 2, 3})), std::bad_array_new_length);
}

BOOST_AUTO_TEST_CASE(buffer_is_aligned_zeroed_and_keeps_its_memory) {
  Buffer<float, 2> buffer({3, 5});
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0u);
  buffer.fill(7);
  const float* before = buffer.data();
  buffer.resize({2, 2});
  BOOST_TEST(buffer.data() == before);
  for (float value : buffer) BOOST_TEST(value == 0.0f);
}

BOOST_AUTO_TEST_CASE(crc32c_gives_the_published_check_values) {
  Crc32c whole, parts;
  whole.add("123456789", 9);
  parts.add("1234", 4);
  parts.add("56789", 5);
  BOOST_TEST(whole.value() == 0xE3069283u);
  BOOST_TEST(parts.value() == whole.value());
  std::vector<unsigned char> zeros(32, 0);
  Crc32c zero;
  zero.add(zeros.data(), zeros.size());
  BOOST_TEST(zero.value() == 0x8A9136AAu);  // RFC 3720, appendix B.4
}

BOOST_AUTO_TEST_CASE(crc32c_of_long_and_of_joined_runs_is_that_bit_by_bit) {
  std::vector<unsigned char> bytes(100'003);
  std::minstd_rand random(5);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() >> 8);
  const auto bit_by_bit = [&](std::size_t first, std::size_t end) {
    std::uint32_t state = ~0u;
    for (std::size_t i = first; i < end; ++i) {
      state ^= bytes[i];
      for (int bit = 0; bit < 8; ++bit) state = state & 1 ? state >> 1 ^ 0x82F63B78u : state >> 1;
    }
    return ~state;
  };
  const auto sum = [&](std::size_t first, std::size_t end) {
    Crc32c crc;
    crc.add(bytes.data() + first, end - first);
    return crc.value();
  };
  const std::uint32_t whole = bit_by_bit(0, bytes.size());
  for (const std::size_t cut :
       {0u, 1u, 7u, 8u, 4096u, 24'575u, 24'576u, 24'577u, 73'728u, 99'999u, 100'003u}) {
    BOOST_TEST(sum(0, cut) == bit_by_bit(0, cut));
    BOOST_TEST(sum(cut, bytes.size()) == bit_by_bit(cut, bytes.size()));
    BOOST_TEST(crc32c_combine(sum(0, cut), sum(cut, bytes.size()), bytes.size() - cut) == whole);
  }
}

BOOST_AUTO_TEST_CASE(tasks_are_all_run_by_whoever_is_there) {
  std::atomic<int> sum{0}, threads_at_once{0}, most{0};
  for (const unsigned n_threads : {1u, 2u, 5u}) {
    sum = most = 0;
    TaskGroup group(n_threads);
    for (int i = 1; i <= 100; ++i)
      group.run([&, i](unsigned thread) {
        if (thread >= n_threads) sum = -100'000;
        const int now = ++threads_at_once;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        sum += i;
        // a task may wait for work of its own
        parallel_for(3, 4, [&](std::size_t, unsigned) { ++sum; });
        --threads_at_once;
      });
    group.wait();
    BOOST_TEST(sum == 5050 + 400);
    BOOST_TEST(most <= static_cast<int>(n_threads));
  }
  TaskGroup failing(3);
  for (int i = 0; i < 20; ++i)
    failing.run([&](unsigned) {
      ++sum;
      throw DataError("no");
    });
  sum = 0;
  BOOST_CHECK_THROW(failing.wait(), DataError);
  BOOST_TEST(failing.failed());
}

/// Numbers from a source through two stages, with two places for those on their way; the last stage may take
/// none while the stage after it, which takes every third, is at work.
struct Relay {
  static constexpr int kNumbers = 200;
  int next = 0, n_on_way = 0, failing = -1;
  std::deque<int> doubled, summed;
  std::vector<int> seen;
  std::atomic<int> n_running{0}, most_running{0}, n_cut_short{0};
  int reading = 0, doubling = 0, summing = 0, last = 0;
  bool is_summing = false;

  void enter() {
    const int now = ++n_running;
    for (int before = most_running; before < now && !most_running.compare_exchange_weak(before, now);) {
    }
    std::atomic<int> n_items{0};
    parallel_for(3, 4, [&](std::size_t, unsigned) {
      ++n_items;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
    n_cut_short += n_items != 4;  // Boost.Test takes what one thread says
    --n_running;
  }

  std::vector<Stage> stages() {
    return {{"sum",
             [&] {
               if (summed.empty()) return false;
               is_summing = true;
               summing = summed.front();
               summed.pop_front();
               return true;
             },
             [&] { enter(); },
             [&] {
               last += summing;
               is_summing = false;
             }},
            {"double",
             [&] {
               if (doubled.empty() || (doubled.front() % 3 == 0 && (is_summing || !summed.empty())))
                 return false;
               doubling = doubled.front();
               doubled.pop_front();
               return true;
             },
             [&] {
               enter();
               if (doubling == failing) throw DataError("number {}", failing);
             },
             [&] {
               seen.push_back(2 * doubling);
               if (doubling % 3 == 0) summed.push_back(doubling);
               --n_on_way;
             }},
            {"read",
             [&] {
               if (next == kNumbers || n_on_way == 2) return false;
               ++n_on_way;
               reading = next++;
               return true;
             },
             [&] { enter(); }, [&] { doubled.push_back(reading); }}};
  }
};

BOOST_AUTO_TEST_CASE(stages_go_on_beside_each_other_in_order) {
  for (const unsigned n_threads : {1u, 2u, 5u}) {
    Relay relay;
    std::vector<Stage> stages = relay.stages();
    run_stages(n_threads, stages);
    BOOST_TEST_REQUIRE(relay.seen.size() == std::size_t{Relay::kNumbers});
    for (int i = 0; i < Relay::kNumbers; ++i) BOOST_TEST(relay.seen[static_cast<std::size_t>(i)] == 2 * i);
    BOOST_TEST(relay.last == 3 * 66 * 67 / 2);
    BOOST_TEST(relay.n_cut_short == 0);
    BOOST_TEST(relay.most_running <= static_cast<int>(std::min(3u, n_threads)));
    BOOST_TEST((relay.most_running > 1) == (n_threads > 1));
    for (const Stage& stage : stages) BOOST_TEST(stage.busy_s > 0);
  }
  for (const unsigned n_threads : {1u, 3u}) {
    Relay relay;
    relay.failing = 50;
    std::vector<Stage> stages = relay.stages();
    BOOST_CHECK_THROW(run_stages(n_threads, stages), DataError);
    BOOST_TEST(relay.seen.size() == 50u);
  }
}

BOOST_AUTO_TEST_CASE(times_never_drift) {
  const UtcTime start = parse_utc("2026-02-28-23:59:59.5");
  BOOST_TEST(format_dada_utc(start) == "2026-02-28-23:59:59");
  BOOST_TEST(format_fits_utc(start, 3) == "2026-02-28T23:59:59.500");
  BOOST_TEST(format_fits_utc(add_picoseconds(start, 500'000'000'000)) == "2026-03-01T00:00:00.000");
  BOOST_TEST(parse_utc("1858-11-17-00:00:00").mjd == 0);
  BOOST_TEST(parse_utc("2000-01-01T12:00:00").mjd == 51544);
  const std::int64_t n = std::int64_t(1) << 40;
  const UtcTime late = sample_time(start, n, 0.78125e-6);
  BOOST_TEST((late == add_picoseconds(start, static_cast<__int128>(n) * 781250)));
  BOOST_TEST(seconds_between(start, sample_time(start, n, 51.2e-6)) == static_cast<double>(n) * 51.2e-6);
  BOOST_TEST(std::abs(seconds_between(start, from_mjd_seconds(start.mjd_seconds()))) < 1e-6);
  for (const char* text : {"", "2026-13-01-00:00:00", "2026-02-29-00:00:00", "2026-01-01-24:00:00",
                           "2026-01-01", "2026-01-01-00:00:00.x", "2026-01-01-00:00:00,5"})
    BOOST_CHECK_THROW(parse_utc(text), DataError);
}

BOOST_AUTO_TEST_CASE(parallel_for_works_within_and_beside_others) {
  std::atomic<int> visits{0};
  auto nested = [&] {
    parallel_for(
        4, 20, [&](std::size_t, unsigned) { parallel_for(3, 10, [&](std::size_t, unsigned) { ++visits; }); });
  };
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) nested();
  });
  for (int i = 0; i < 50; ++i) nested();
  other.join();
  BOOST_CHECK_EQUAL(visits, 2 * 50 * 20 * 10);
}

BOOST_AUTO_TEST_CASE(parallel_for_visits_each_item_once_and_passes_errors_on) {
  for (unsigned threads : {1u, 2u, 7u}) {
    std::vector<int> visits(1000, 0);
    parallel_for(threads, visits.size(), [&](std::size_t item, unsigned) { ++visits[item]; });
    BOOST_TEST(std::count(visits.begin(), visits.end(), 1) == 1000);
    auto failing = [](std::size_t item, unsigned) {
      if (item == 50) throw DataError("item {}", item);
    };
    BOOST_CHECK_THROW(parallel_for(threads, 100, failing), DataError);
  }
}

/// One byte at the start of each huge page within, and nothing beside: what lies before and after is in use.
BOOST_AUTO_TEST_CASE(touching_new_memory_leaves_what_lies_around_it) {
  Buffer<std::uint8_t, 1> memory({5 * kHugePageBytes});
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, kHugePageBytes - 1, 4 * kHugePageBytes + 1})
    for (const unsigned n_threads : {1u, 2u, 5u}) {
      memory.fill(0x5a);
      const std::size_t n = std::min(3 * kHugePageBytes, memory.size() - first - 1);
      touch_pages(n_threads, std::as_writable_bytes(memory.view().span().subspan(first, n)));
      std::size_t want = 0, around = 0;
      for (std::size_t page = 0; page < 5; ++page)
        want += page * kHugePageBytes >= first && page * kHugePageBytes < first + n ? 1 : 0;
      for (std::size_t i = 0; i < memory.size(); ++i)
        around += memory(i) != 0x5a && (i < first || i >= first + n || i % kHugePageBytes != 0) ? 1 : 0;
      BOOST_TEST(around == 0u);
      BOOST_TEST(static_cast<std::size_t>(std::count(memory.begin(), memory.end(), 0)) ==
                 (n_threads > 1 ? want : 0));
    }
}

BOOST_AUTO_TEST_CASE(pipeline_keeps_order_and_ends_on_the_first_error) {
  for (int fail_stage = -1; fail_stage < 3; ++fail_stage) {
    int next = 0;
    std::vector<int> written;
    auto maybe_fail = [&](int stage, int value) {
      if (stage == fail_stage && value == 40) throw DataError("stage {}", stage);
    };
    auto read = [&](int& item) {
      maybe_fail(0, next);
      item = next++;
      return item < 100;
    };
    auto compute = [&](int& item) {
      maybe_fail(1, item);
      item *= 2;
    };
    auto write = [&](int& item) {
      maybe_fail(2, item / 2);
      written.push_back(item);
    };
    auto run = [&] {
      run_pipeline<int>(
          2, [] { return 0; }, read, compute, write);
    };
    if (fail_stage >= 0) {
      BOOST_CHECK_THROW(run(), DataError);
      continue;
    }
    run();
    BOOST_TEST(written.size() == 100u);
    for (int i = 0; i < 100; ++i) BOOST_TEST(written[static_cast<std::size_t>(i)] == 2 * i);
  }
}

BOOST_AUTO_TEST_CASE(what_one_thread_fetches_others_use_once) {
  for (const unsigned threads : {0u, 1u, 5u})
    for (const std::size_t n_items : {1u, 2u, 7u})
      for (const int fail_at : {-1, 0, 1}) {
        std::vector<int> items(n_items, -1), visits(1000, 0);
        std::atomic<bool> doubled{false};
        int next = 0;
        const auto fill = [&](int& item) {
          if (fail_at == 0 && next == 400) throw DataError("item {}", next);
          item = next++;
          return item < 1000;
        };
        std::vector<std::atomic<int>> users(threads + 1);
        const auto use = [&](int& item, unsigned thread) {
          BOOST_REQUIRE_LE(thread, threads);
          if (users[thread].fetch_add(1) != 0) doubled = true;
          if (fail_at == 1 && item == 400) throw DataError("item {}", item);
          ++visits[static_cast<std::size_t>(item)];
          item = -1;  // to be filled again
          --users[thread];
        };
        if (fail_at >= 0) {
          BOOST_CHECK_THROW(produce_consume(std::span(items), threads, fill, use), DataError);
          continue;
        }
        produce_consume(std::span(items), threads, fill, use);
        BOOST_TEST(std::count(visits.begin(), visits.end(), 1) == 1000);
        BOOST_TEST(!doubled);  // two uses at once under one thread's number
      }
}

BOOST_AUTO_TEST_CASE(devices_never_fall_back) {
  BOOST_TEST((choose_device("cpu", CudaSupport::available, 2).kind == Device::Kind::cpu));
  BOOST_CHECK_THROW(choose_device("cuda", CudaSupport::none, 2), DeviceError);
  BOOST_CHECK_THROW(choose_device("gpu", CudaSupport::none, 2), UsageError);
  BOOST_CHECK_THROW(choose_device("cuda:x", CudaSupport::available, 2), UsageError);
  if (cuda_device_count() == 0)
    BOOST_CHECK_THROW(choose_device("cuda:0", CudaSupport::available, 2), DeviceError);
}

BOOST_AUTO_TEST_SUITE_END()
