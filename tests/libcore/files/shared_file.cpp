// SPDX-License-Identifier: GPL-3.0-or-later
// Many threads write one file: in memory, where its pages are mapped, and elsewhere.
#include "libcore/files/shared_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "libcore/files/descriptor.h"
#include "libcore/system/parallel.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(shared_file)

namespace {

using enum SharedFile::InMemory;

/// A file of `bytes` bytes 0xee, in a folder of its own.
struct Scratch {
  std::string folder, path;
  Descriptor fd;

  Scratch(const std::string& parent, std::size_t bytes) {
    folder = parent + "/apsyn-shared-file.XXXXXX";
    BOOST_REQUIRE(::mkdtemp(folder.data()) != nullptr);
    path = folder + "/file";
    std::ofstream(path) << std::string(bytes, '\xee');
    fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    BOOST_REQUIRE(fd >= 0);
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  std::string contents() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

bool in_memory(const std::string& folder) {
  struct statfs system {};
  return ::statfs(folder.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

char byte_at(std::size_t at) {
  return static_cast<char>(at % 251);
}

/// Pieces of many lengths, in no order, from all threads; what lies between them keeps its value.
void write_and_compare(const std::string& parent, std::size_t bytes, SharedFile::InMemory in_memory,
                       bool grows = false) {
  Scratch scratch(parent, grows ? 5000 : bytes);
  std::string expected(bytes, grows ? '\0' : '\xee');
  std::fill_n(expected.begin(), 5000, '\xee');
  struct Piece {
    std::size_t first, n;
  };
  std::vector<Piece> pieces;
  const std::size_t lengths[] = {1, 300'000, 4095, 3'000'000, 131'072, 200'000};
  for (std::size_t at = 17, i = 0; at < bytes; ++i) {
    const std::size_t n = std::min(lengths[i % std::size(lengths)], bytes - at);
    pieces.push_back({at, n});
    for (std::size_t k = at; k < at + n; ++k) expected[k] = byte_at(k);
    at += n + i % 3 * 100;
  }
  BOOST_REQUIRE(pieces.size() % 7 != 0);
  {
    SharedFile file(scratch.fd, 0, grows ? bytes : 0, in_memory);
    parallel_for(4, pieces.size(), [&](std::size_t item, unsigned) {
      const Piece& piece = pieces[item * 7 % pieces.size()];  // 7 and their number have no common factor
      std::string text(piece.n, 0);
      for (std::size_t k = 0; k < piece.n; ++k) text[k] = byte_at(piece.first + k);
      if (file.write(piece.first, text.data(), piece.n) != 0) throw std::runtime_error("not written");
    });
  }
  BOOST_TEST((scratch.contents() == expected));
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_write_a_file_in_memory) {
  if (!in_memory("/dev/shm")) BOOST_TEST_MESSAGE("/dev/shm is no memory here: the same path as on a disk");
  for (const auto in_memory : {mapped, written, both, as_fits}) {
    write_and_compare("/dev/shm", 20'000'000, in_memory);
    write_and_compare("/dev/shm", 1'000'000, in_memory);  // smaller than a window
  }
}

BOOST_AUTO_TEST_CASE(threads_write_a_file_on_a_disk) {
  write_and_compare(std::filesystem::temp_directory_path(), 20'000'000, mapped);
}

BOOST_AUTO_TEST_CASE(a_file_grows_to_what_is_shared) {
  for (const auto in_memory : {mapped, written, both})
    write_and_compare("/dev/shm", 20'000'000, in_memory, true);
  write_and_compare(std::filesystem::temp_directory_path(), 20'000'000, mapped, true);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_file_is_shared) {
  for (const auto in_memory : {mapped, both}) {
    Scratch scratch("/dev/shm", 30'000'000);
    SharedFile file(scratch.fd, 5'000'001, 20'000'000, in_memory);
    const std::string text(300'000, 'x');
    const std::vector<std::size_t> places = {0,          4'900'000,  5'000'001, 12'345'678,
                                             24'800'000, 29'700'000, 7'000'000, 8'000'000};
    parallel_for(4, places.size(), [&](std::size_t i, unsigned) {
      if (file.write(places[i], text.data(), text.size()) != 0) throw std::runtime_error("not written");
    });
    std::string expected(30'000'000, '\xee');
    for (const std::size_t at : places) expected.replace(at, text.size(), text);
    BOOST_TEST((scratch.contents() == expected));
  }
}

BOOST_AUTO_TEST_CASE(a_file_grows_behind_its_end) {
  Scratch scratch("/dev/shm", 3'000'000);
  SharedFile file(scratch.fd, mapped);
  const std::string text(400'000, 'x');
  BOOST_TEST(file.write(2'900'000, text.data(), text.size()) == 0);
  const std::string found = scratch.contents();
  BOOST_TEST(found.size() == 3'300'000);
  BOOST_TEST((found.substr(2'900'000) == text));
}

BOOST_AUTO_TEST_CASE(windows_of_several_files_are_told_apart) {
  Scratch one("/dev/shm", 5'000'000), other("/dev/shm", 5'000'000);
  SharedFile first(one.fd, mapped), second(other.fd, mapped);
  const std::string a(200'000, 'a'), b(200'000, 'b');
  for (std::size_t i = 0; i < 10; ++i) {
    BOOST_TEST(first.write(i * 400'000, a.data(), a.size()) == 0);
    BOOST_TEST(second.write(i * 400'000, b.data(), b.size()) == 0);
  }
  const std::string of_one = one.contents(), of_other = other.contents();
  for (std::size_t i = 0; i < 10; ++i) {
    BOOST_TEST((of_one.substr(i * 400'000, 200'000) == a));
    BOOST_TEST((of_other.substr(i * 400'000, 200'000) == b));
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_told) {
  Scratch scratch("/dev/shm", 3'000'000);
  Descriptor read_only;
  read_only.reset(::open(scratch.path.c_str(), O_RDONLY | O_CLOEXEC));
  SharedFile file(read_only, mapped);
  const std::string text(400'000, 'x');
  BOOST_TEST(file.write(0, text.data(), text.size()) == EBADF);
  BOOST_TEST((scratch.contents() == std::string(3'000'000, '\xee')));
}

namespace {

/// 16 MiB of memory, which this process alone sees.
bool mount_disk(const std::string& folder) {
  const uid_t user = ::getuid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", folder.c_str(), "tmpfs", 0, "size=16m") == 0;
}

/// Fills a file of twice the size of a file system in memory from four threads, and returns what is wrong.
const char* fill_small_disk(const std::string& folder, SharedFile::InMemory in_memory) {
  constexpr std::size_t kBytes = 32u << 20, kPiece = 200'000;
  const std::string path = folder + "/file";
  Descriptor fd;
  fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd < 0 || ::ftruncate(fd, kBytes) != 0) return "no file";
  std::vector<int> errors(kBytes / kPiece, -1);
  {
    SharedFile file(fd, in_memory);
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (std::size_t piece = 0; (piece = next++) < errors.size();)
          errors[piece] = file.write(piece * kPiece, std::string(kPiece, 'x').data(), kPiece);
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::size_t n_whole = 0;
  for (std::size_t piece = 0; piece < errors.size(); ++piece) {
    if (errors[piece] == ENOSPC) continue;
    if (errors[piece] != 0) return "another error than a full disk";
    ++n_whole;
    std::string found(kPiece, 0);
    if (::pread(fd, found.data(), kPiece, static_cast<off_t>(piece * kPiece)) != kPiece ||
        found != std::string(kPiece, 'x'))
      return "a piece that was written is not in the file";
  }
  return n_whole == errors.size() ? "the disk was never full"
         : n_whole == 0           ? "nothing was written"
                                  : nullptr;
}

}  // namespace

// A page that the system cannot give is an error, not the end of the process.
BOOST_AUTO_TEST_CASE(a_full_disk_is_told) {
  constexpr int kNoDisk = 77;
  for (const auto in_memory : {mapped, written, both}) {
    Scratch scratch("/dev/shm", 1);
    const pid_t child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {  // the disk is its own, and goes with it
      if (!mount_disk(scratch.folder)) ::_exit(kNoDisk);
      const char* const wrong = fill_small_disk(scratch.folder, in_memory);
      if (wrong != nullptr) std::fprintf(stderr, "%s\n", wrong);
      ::_exit(wrong == nullptr ? 0 : 1);
    }
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNoDisk)
      BOOST_TEST_MESSAGE("no name space of its own to mount a disk in");
    else
      BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

// The columns of a set are written in turn: neither keeps more than a few windows of each file in memory.
BOOST_AUTO_TEST_CASE(files_that_are_filled_in_turn_leave_memory) {
  if (!in_memory("/dev/shm")) return;
  constexpr std::size_t kBytes = 64u << 20, kPiece = 256u << 10;
  const auto resident_bytes = [] {
    std::ifstream in("/proc/self/statm");
    std::size_t size = 0, pages = 0;
    in >> size >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  Scratch one("/dev/shm", kBytes), two("/dev/shm", kBytes);
  {
    SharedFile first(one.fd, mapped), second(two.fd, mapped);
    const std::string text(kPiece, 'x');
    const std::size_t before = resident_bytes();
    std::size_t most = 0;
    for (std::size_t at = 0; at < kBytes; at += kPiece) {
      BOOST_TEST(first.write(at, text.data(), text.size()) == 0);
      BOOST_TEST(second.write(at, text.data(), text.size()) == 0);
      most = std::max(most, resident_bytes() - std::min(before, resident_bytes()));
    }
    BOOST_TEST_MESSAGE("resident at most " << most << " bytes more");
    // Two windows of 2 MiB of each: 8 MiB; 128 MiB if none were let go. The system's count lags behind.
    BOOST_TEST(most < std::size_t{12 << 20});
    BOOST_TEST(most > std::size_t{5 << 20});
  }
  BOOST_TEST(one.contents() == std::string(kBytes, 'x'));
  BOOST_TEST(two.contents() == one.contents());
}

BOOST_AUTO_TEST_SUITE_END()
