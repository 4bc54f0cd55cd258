// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

#include "libcore/core/checksum.h"
#include "libcore/core/device.h"
#include "libcore/core/error.h"
#include "libcore/core/feed.h"
#include "libcore/core/output.h"
#include "libcore/core/parallel.h"
#include "libcore/core/time.h"
#include "libcore/core/view.h"

using namespace apsyn;
namespace fs = std::filesystem;

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

BOOST_AUTO_TEST_CASE(crc32c_of_published_check_values) {
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

BOOST_AUTO_TEST_CASE(outputs_appear_complete_or_not_at_all) {
  const fs::path folder = fs::temp_directory_path() / ("apsyn-output-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string target = folder / "a(b)[1].txt";
  {
    OutputFile dropped(target, false);
    dropped.write("half", 4);
    BOOST_TEST(!fs::exists(target));
    BOOST_TEST(fs::exists(target + ".part"));
  }
  BOOST_TEST(!fs::exists(target + ".part"));
  {
    OutputFile kept(target, false);
    kept.write("whole", 5);
    kept.write_at(0, "W", 1);
    kept.commit();
  }
  std::string text;
  std::ifstream kept_file(target);
  std::getline(kept_file, text);
  BOOST_TEST(text == "Whole");
  BOOST_CHECK_THROW(OutputFile(target, false), UsageError);
  BOOST_CHECK_THROW(OutputFile((folder / "none" / "x").string(), false), FailureError);
  const std::string set = folder / "set.ms";
  for (int round = 0; round < 2; ++round) {
    PendingOutput pending(set, round > 0);
    fs::create_directories(pending.part());
    std::ofstream(pending.part() + "/table.dat") << round;
    pending.commit();
  }
  std::ifstream table(set + "/table.dat");
  std::getline(table, text);
  BOOST_TEST(text == "1");
  fs::create_directories(fs::path(folder) / "thesis" / "chapters");
  BOOST_CHECK_THROW(check_output(folder / "thesis", true), UsageError);
  BOOST_CHECK_THROW(check_output("/dev/null", true), UsageError);
  fs::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(two_runs_do_not_write_the_same_part) {
  const std::string target = (fs::temp_directory_path() / fmt::format("apsyn-twice-{}", ::getpid())).string();
  const auto content = [](const std::string& path) {
    std::string text;
    std::ifstream file(path);
    std::getline(file, text);
    return text;
  };
  {
    OutputFile first(target, false);
    first.write("first", 5);
    BOOST_CHECK_THROW(OutputFile(target, false), UsageError);
    BOOST_TEST(content(target + ".part") == "first");
    first.commit();
  }
  BOOST_TEST(content(target) == "first");
  {  // a folder, as Measurement Sets are
    PendingOutput set(target + ".ms", false);
    fs::create_directories(set.part());
    set.hold_part();
    BOOST_CHECK_THROW(PendingOutput(target + ".ms", false), UsageError);
    BOOST_TEST(fs::exists(set.part()));
  }
  BOOST_TEST(!fs::exists(target + ".ms.part"));
  {  // where locks are none, the part may have become another's: it is neither renamed nor removed
    PendingOutput mine(target, true);
    std::ofstream(mine.part()) << "mine";
    mine.hold_part();
    fs::remove(mine.part());
    std::ofstream(mine.part()) << "other";
    BOOST_CHECK_THROW(mine.commit(), UsageError);
  }
  BOOST_TEST(content(target) == "first");
  BOOST_TEST(content(target + ".part") == "other");
  OutputFile again(target, true);  // nobody holds it
  again.write("again", 5);
  again.commit();
  BOOST_TEST(content(target) == "again");
  fs::remove(target);
}

BOOST_AUTO_TEST_CASE(outputs_do_not_replace_inputs) {
  const std::string input = (fs::temp_directory_path() / fmt::format("apsyn-input-{}", ::getpid())).string();
  const std::string link = input + "-link";
  std::ofstream(input) << "precious";
  fs::create_symlink(input, link);
  protect_inputs({"-", input + "-gone", link});
  for (const std::string& name :
       {input, link, (fs::path(input).parent_path() / "." / fs::path(input).filename()).string()}) {
    BOOST_CHECK_THROW(check_output(name, true), UsageError);
    BOOST_CHECK_THROW(OutputFile(name, true), UsageError);
  }
  check_output(input + "-other", false);
  protect_inputs({});
  check_output(input, true);
  fs::remove(link);
  fs::remove(input);
}

// Removal blocks all outputs for good, so a child does it. Without hold_interrupts() in OutputFile's
// constructor the part would appear after the watcher has looked for it.
BOOST_AUTO_TEST_CASE(an_interrupt_waits_for_a_part_that_is_being_made) {
  const std::string target = (fs::temp_directory_path() / fmt::format("apsyn-held-{}", ::getpid())).string();
  const pid_t child = ::fork();
  if (child == 0) {
    PendingOutput pending(target, true);
    std::atomic<bool> removed = false;
    bool early = false;
    std::thread watcher;
    {
      const auto hold = pending.hold_interrupts();
      watcher = std::thread([&] {
        remove_pending_outputs();
        removed = true;
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      early = removed;
      std::ofstream(pending.part()) << "late";
    }
    watcher.join();
    ::_exit(early ? 1 : fs::exists(pending.part()) ? 2 : 0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  fs::remove(target + ".part");
}

BOOST_AUTO_TEST_CASE(parallel_for_within_and_beside_others) {
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
        int next = 0;
        const auto fill = [&](int& item) {
          if (fail_at == 0 && next == 400) throw DataError("item {}", next);
          item = next++;
          return item < 1000;
        };
        const auto use = [&](int& item) {
          if (fail_at == 1 && item == 400) throw DataError("item {}", item);
          ++visits[static_cast<std::size_t>(item)];
          item = -1;  // to be filled again
        };
        if (fail_at >= 0) {
          BOOST_CHECK_THROW(feed(std::span(items), threads, fill, use), DataError);
          continue;
        }
        feed(std::span(items), threads, fill, use);
        BOOST_TEST(std::count(visits.begin(), visits.end(), 1) == 1000);
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
