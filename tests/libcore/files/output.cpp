// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/files/output.h"

using namespace apsyn;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(output)

// What outputs ask of the system is recorded: these take the place of the C library's.
namespace {

std::vector<std::string> calls;  ///< "sync a.part", "rename a.part -> a", with file names alone
int rename_that_fails = 0;       ///< counts down to it; 0: none
bool knows_exchange = true;      ///< whether the file system does

std::string name_of(const char* path) {
  return fs::path(path).filename();
}

int note_rename(const char* from, const char* to, unsigned flags) {
  if (!knows_exchange && flags == RENAME_EXCHANGE) {
    errno = EINVAL;
    return -1;
  }
  if (rename_that_fails > 0 && --rename_that_fails == 0) {
    errno = EIO;
    return -1;
  }
  calls.push_back("rename " + name_of(from) + " -> " + name_of(to));
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

}  // namespace

extern "C" {
int fsync(int fd) {
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd));
  struct stat status {};
  ::fstat(fd, &status);
  calls.push_back("sync " + (S_ISDIR(status.st_mode) ? "folder" : path.filename().string()) +
                  (status.st_size > 0 ? "" : ", empty"));
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
int rename(const char* from, const char* to) noexcept {
  return note_rename(from, to, 0);
}
int renameat2(int, const char* from, int, const char* to, unsigned flags) noexcept {
  return note_rename(from, to, flags);
}
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
    pending.create_folder();
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
    set.create_folder();
    BOOST_CHECK_THROW(PendingOutput(target + ".ms", false), UsageError);
    BOOST_TEST(fs::exists(set.part()));
  }
  BOOST_TEST(!fs::exists(target + ".ms.part"));
  {  // where locks are none, the part may have become another's: it is neither renamed nor removed
    PendingOutput mine(target, true);
    ::close(mine.create_file());
    fs::remove(mine.part());
    std::ofstream(mine.part()) << "other";
    BOOST_CHECK_THROW(mine.commit(), UsageError);
  }
  BOOST_TEST(content(target) == "first");
  BOOST_TEST(content(target + ".part") == "other");
  BOOST_CHECK_THROW(OutputFile(target, true), UsageError);  // nobody writes it, but it is not ours
  fs::remove(target + ".part");
  OutputFile again(target, true);
  again.write("again", 5);
  again.commit();
  BOOST_TEST(content(target) == "again");
  fs::remove(target);
}

BOOST_AUTO_TEST_CASE(numbers_take_the_place_of_their_pattern) {
  BOOST_TEST(numbered_output("-o", "image-%d.fits", 0) == "image-0.fits");
  BOOST_TEST(numbered_output("-o", "%03d/a", 7) == "007/a");
  BOOST_TEST(numbered_output("-o", "a%02d", 123) == "a123");
  for (const char* pattern : {"a.fits", "%", "%5d", "%x", "%d-%d", "%0012345678d"})
    BOOST_CHECK_THROW(numbered_output("-o", pattern, 1), UsageError);
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
  BOOST_CHECK_THROW(check_output(input + "-left", true), UsageError);
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

// Removal blocks all outputs for good, so a child does it. A part that appeared after the watcher has looked
// for it would stay behind.
BOOST_AUTO_TEST_CASE(no_part_is_made_once_an_interrupt_removes_them) {
  const std::string target = (fs::temp_directory_path() / fmt::format("apsyn-held-{}", ::getpid())).string();
  const pid_t child = ::fork();
  if (child == 0) {
    PendingOutput pending(target, true);
    remove_pending_outputs();
    std::thread([&] { pending.create_file(); }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::_exit(fs::exists(pending.part()) ? 2 : 0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  fs::remove(target + ".part");
}

namespace {

/// An empty folder of the test's own.
struct Folder {
  Folder() : path(fs::temp_directory_path() / fmt::format("apsyn-outputs-{}", ::getpid())) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path / name; }
  /// "name content, ..." of all that is there, sorted.
  std::string contents() const {
    std::vector<std::string> all;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      std::string text = entry.is_directory() ? "folder" : "";
      if (!entry.is_directory()) std::getline(std::ifstream(entry.path()), text);
      all.push_back(entry.path().filename().string() + " " + text);
    }
    std::sort(all.begin(), all.end());
    std::string list;
    for (const std::string& one : all) list += (list.empty() ? "" : ", ") + one;
    return list;
  }
  fs::path path;
};

void put(const std::string& path, const std::string& text) {
  OutputFile file(path, true);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_output_is_on_the_disk_before_it_has_its_name) {
  const Folder folder;
  calls.clear();
  put(folder / "a", "new");
  const std::vector<std::string> expected{"sync a.part", "rename a.part -> a", "sync folder"};
  BOOST_TEST(calls == expected, boost::test_tools::per_element());
  calls.clear();
  {
    PendingOutput set(folder / "b.ms", false);
    set.create_folder();
    std::ofstream(set.part() + "/table.dat") << "rows";
    set.commit();
  }
  const std::vector<std::string> of_set{"sync table.dat", "sync folder", "rename b.ms.part -> b.ms",
                                        "sync folder"};
  BOOST_TEST(calls == of_set, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_group_appears_as_a_whole) {
  const Folder folder;
  put(folder / "a", "old a");
  put(folder / "b", "old b");
  {
    const OutputGroup group;
    put(folder / "a", "new a");
    put(folder / "b", "new b");
    put(folder / "c", "new c");
    BOOST_TEST(folder.contents() == "a old a, a.part new a, b old b, b.part new b, c.part new c");
    publish_outputs();
    BOOST_TEST(folder.contents() == "a new a, b new b, c new c");
    put(folder / "d", "not published");
  }
  BOOST_TEST(folder.contents() == "a new a, b new b, c new c");
}

BOOST_AUTO_TEST_CASE(when_one_of_a_group_fails_the_others_are_put_back) {
  const Folder folder;
  put(folder / "a", "old a");
  put(folder / "c", "old c");
  fs::create_directories(folder / "set.ms");
  std::ofstream(folder / "set.ms/table.dat") << "old set";
  fs::permissions(folder / "c", fs::perms::owner_read | fs::perms::owner_write);
  std::ofstream(folder / "c.old.part") << "somebody else's";
  const auto begin = [&] {
    put(folder / "a", "new a");
    put(folder / "b", "new b");
    {
      PendingOutput set(folder / "set.ms", true);
      set.create_folder();
      std::ofstream(set.part() + "/table.dat") << "new set";
      set.commit();
    }
    put(folder / "c", "new c");
  };
  const auto expect_old = [&] {
    std::string set;
    std::getline(std::ifstream(folder / "set.ms/table.dat"), set);
    BOOST_TEST(set == "old set");
    BOOST_TEST((fs::status(folder / "c").permissions() == (fs::perms::owner_read | fs::perms::owner_write)));
    BOOST_TEST(folder.contents() == "a old a, c old c, c.old.part somebody else's, set.ms folder");
  };
  for (const bool exchanges : {true, false}) {
    knows_exchange = exchanges;
    for (int failing = 1; failing <= (exchanges ? 4 : 3); ++failing) {
      {
        const OutputGroup group;
        begin();
        rename_that_fails = exchanges ? failing : 2 * failing;  // without exchange, two for one
        if (!exchanges && failing > 2) --rename_that_fails;     // b is new
        BOOST_CHECK_THROW(publish_outputs(), Error);
        rename_that_fails = 0;
      }
      expect_old();
    }
  }
  {  // the name that the old file would take meanwhile is somebody else's
    const OutputGroup group;
    begin();
    BOOST_CHECK_THROW(publish_outputs(), UsageError);
  }
  expect_old();
  fs::remove(folder / "c.old.part");
  {
    const OutputGroup group;
    begin();
    rename_that_fails = 7;  // the last
    BOOST_CHECK_THROW(publish_outputs(), FailureError);
  }
  BOOST_TEST(folder.contents() == "a old a, c old c, set.ms folder");
  {
    const OutputGroup group;
    begin();
    publish_outputs();
  }
  knows_exchange = true;
  BOOST_TEST(folder.contents() == "a new a, b new b, c new c, set.ms folder");
  BOOST_TEST((fs::status(folder / "c").permissions() == (fs::perms::owner_read | fs::perms::owner_write)));
}

BOOST_AUTO_TEST_CASE(folders_are_open_to_others_once_they_are_complete) {
  const Folder folder;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const auto mode_of = [&](const char* name) {
    struct stat found {};
    BOOST_REQUIRE(::stat((folder / name).c_str(), &found) == 0);
    return found.st_mode & 07777;
  };
  {
    PendingOutput set(folder / "new.ms", false);
    set.create_folder();
    BOOST_TEST(mode_of("new.ms.part") == 01700u);
    set.commit();
  }
  BOOST_TEST(mode_of("new.ms") == (0777u & ~mask));
  ::chmod((folder / "new.ms").c_str(), 0750);
  {
    PendingOutput set(folder / "new.ms", true);
    set.create_folder();
    set.commit();
  }
  BOOST_TEST(mode_of("new.ms") == 0750u);
  // A folder that many may write in, as /tmp, is none of ours.
  fs::create_directories(folder / "shared.ms.part");
  ::chmod((folder / "shared.ms.part").c_str(), 01777);
  std::ofstream(folder / "shared.ms.part/data") << "text";
  BOOST_CHECK_THROW(PendingOutput(folder / "shared.ms", true), UsageError);
  BOOST_TEST(fs::exists(folder / "shared.ms.part/data"));
}

BOOST_AUTO_TEST_CASE(no_file_takes_the_place_of_a_set_or_lies_in_one) {
  const Folder folder;
  fs::create_directories(folder / "obs.ms/ANTENNA");
  std::ofstream(folder / "obs.ms/table.dat") << "rows";
  fs::create_directory_symlink(folder / "obs.ms", folder / "link");
  protect_inputs({});
  for (const char* name : {"obs.ms/table.dat", "obs.ms/new.png", "obs.ms/ANTENNA/new", "link/new"})
    BOOST_CHECK_THROW(check_output(folder / name, true), UsageError);
  check_output(folder / "obs.ms", true);  // by another set
  BOOST_CHECK_THROW(OutputFile(folder / "obs.ms", true), UsageError);
  BOOST_TEST(folder.contents() == "link folder, obs.ms folder");
  const OutputGroup group;
  check_output(folder / "x", false);
  BOOST_CHECK_THROW(check_output(folder / "x.part", false), UsageError);
}

BOOST_AUTO_TEST_CASE(what_appears_meanwhile_is_not_replaced) {
  const Folder folder;
  OutputFile late(folder / "a", false);
  late.write("mine", 4);
  std::ofstream(folder / "a") << "of another";
  BOOST_CHECK_THROW(late.commit(), FailureError);
  BOOST_TEST(folder.contents() == "a of another, a.part mine");
}

BOOST_AUTO_TEST_CASE(parts_of_others_are_not_removed) {
  const Folder folder;
  std::ofstream(folder / "a.part") << "a download";
  fs::create_directories(folder / "b.part");
  std::ofstream(folder / "b.part/thesis") << "text";
  fs::create_symlink(folder / "b.part", folder / "c.part");
  for (const char* name : {"a", "b", "c"})
    for (const bool overwrite : {false, true})
      BOOST_CHECK_THROW(OutputFile(folder / name, overwrite), UsageError);
  BOOST_TEST(folder.contents() == "a.part a download, b.part folder, c.part folder");
  BOOST_TEST(fs::exists(folder / "b.part/thesis"));
  // What a killed run has left is.
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile left(folder / "d", false);
    PendingOutput set(folder / "e.ms", false);
    set.create_folder();
    ::_exit(0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(fs::exists(folder / "d.part"));
  BOOST_TEST(fs::exists(folder / "e.ms.part"));
  put(folder / "d", "again");
  PendingOutput again(folder / "e.ms", false);
  BOOST_TEST(!fs::exists(folder / "e.ms.part"));
}

BOOST_AUTO_TEST_CASE(outputs_lie_outside_of_inputs_and_apart_from_each_other) {
  const Folder folder;
  fs::create_directories(folder / "in.ms/ANTENNA");
  std::ofstream(folder / "in.ms/table.dat") << "rows";
  fs::create_directory_symlink(folder / "in.ms", folder / "link");
  protect_inputs({folder / "in.ms"});
  for (const char* name :
       {"in.ms/table.dat", "in.ms/ANTENNA", "in.ms/ANTENNA/new", "in.ms/new", "link/new", "in.ms/"})
    BOOST_CHECK_THROW(check_output(folder / name, true), UsageError);
  protect_inputs({folder / "in.ms/ANTENNA"});
  BOOST_CHECK_THROW(check_output(folder / "in.ms", true), UsageError);
  check_output(folder / "in.ms.png", true);
  protect_inputs({});
  const OutputGroup group;
  check_output(folder / "x", false);
  BOOST_CHECK_THROW(check_output(folder / "./x", false), UsageError);
  put(folder / "x", "one");
  BOOST_CHECK_THROW(OutputFile(folder / "x", true), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
