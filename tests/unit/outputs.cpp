// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libcore/core/error.h"
#include "libcore/core/output.h"

using namespace apsyn;
namespace fs = std::filesystem;

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
  std::ofstream(input + "-named") << "precious, too";
  check_output(input + "-named", true);
  protect_input(input + "-named");
  BOOST_CHECK_THROW(check_output(input + "-named", true), UsageError);
  BOOST_CHECK_THROW(check_output(input, true), UsageError);
  fs::remove(input + "-named");
  // A part that a killed run has left may be what is read; and a shell may have opened standard input.
  const std::string part = input + "-left.part";
  std::ofstream(part) << "half";
  protect_inputs({part});
  BOOST_CHECK_THROW(OutputFile(input + "-left", false), UsageError);
  BOOST_TEST(fs::exists(part));
  fs::remove(part);
  protect_inputs({"-"});
  check_output(input, true);
  const int kept = ::dup(STDIN_FILENO), opened = ::open(input.c_str(), O_RDONLY);
  BOOST_REQUIRE(::dup2(opened, STDIN_FILENO) == STDIN_FILENO);
  BOOST_CHECK_THROW(check_output(input, true), UsageError);
  if (kept >= 0) ::dup2(kept, STDIN_FILENO), ::close(kept);
  ::close(opened);
  protect_inputs({});
  check_output(input, true);
  fs::remove(link);
  fs::remove(input);
}

/// A child does it, whose own limit it is. Of beams that are too many no part stays behind.
BOOST_AUTO_TEST_CASE(parts_vanish_when_all_files_are_open) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("apsyn-full-{}", ::getpid());
  fs::create_directories(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 40;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    int status = 1;
    try {
      std::vector<std::unique_ptr<OutputFile>> outputs;
      for (int i = 0; i < 50; ++i)
        outputs.push_back(std::make_unique<OutputFile>((folder / std::to_string(i)).string(), false));
    } catch (const FailureError& error) {
      status = std::string(error.what()).find("ulimit -n") == std::string::npos ? 2 : 0;
    }
    ::_exit(status);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(fs::is_empty(folder));
  fs::remove_all(folder);
}

/// check_output() alone: nothing may ever be renamed onto these.
BOOST_AUTO_TEST_CASE(names_of_open_files_are_no_outputs) {
  const std::string target =
      (fs::temp_directory_path() / fmt::format("apsyn-redirected-{}", ::getpid())).string();
  const int fd = ::open(target.c_str(), O_CREAT | O_RDWR, 0600);
  BOOST_REQUIRE(fd >= 0);
  for (const std::string& name : {fmt::format("/dev/fd/{}", fd), fmt::format("/proc/self/fd/{}", fd),
                                  std::string("/dev/null"), std::string("/dev/./null")})
    for (const bool overwrite : {false, true})
      BOOST_CHECK_EXCEPTION(check_output(name, overwrite), UsageError, [](const UsageError& error) {
        return std::string(error.what()).find("no ordinary file") != std::string::npos;
      });
  check_output(target, true);
  ::close(fd);
  fs::remove(target);
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
