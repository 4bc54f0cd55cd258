// SPDX-License-Identifier: GPL-3.0-or-later
// Bytes that are handed over to pipes arrive as they were, however late and through whatever they are looked
// at.
#include "libcore/files/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "libcore/files/input.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(pipes)

namespace {

struct Pipe {
  int out = -1, in = -1;
  explicit Pipe(int flags = 0) {
    int ends[2];
    BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC | flags) == 0);
    out = ends[0], in = ends[1];
  }
  ~Pipe() { close_out(), close_in(); }
  void close_out() {
    if (out >= 0) ::close(std::exchange(out, -1));
  }
  void close_in() {
    if (in >= 0) ::close(std::exchange(in, -1));
  }
};

// The byte at a place of the stream: no two megabytes are alike.
std::uint8_t expected_at(std::uint64_t at) {
  std::uint64_t hash = (at / 8 + 1) * 0x9E3779B97F4A7C15u;
  return static_cast<std::uint8_t>(hash >> (8 * (at % 8)));
}

std::vector<std::uint8_t> stream_part(std::uint64_t first, std::size_t n) {
  std::vector<std::uint8_t> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = expected_at(first + i);
  return bytes;
}

bool is_part(const std::vector<std::uint8_t>& bytes, std::size_t n, std::uint64_t first) {
  for (std::size_t i = 0; i < n; ++i)
    if (bytes[i] != expected_at(first + i)) return false;
  return true;
}

struct Written {
  std::uint64_t n_bytes = 0;
  int error = 0;
};

// Writes n_bytes in pieces of up to most, out of memory that is used again at once; what was taken before an
// error.
Written write_stream(int fd, std::uint64_t n_bytes, std::size_t most, unsigned seed) {
  PipePages pages(fd);
  std::mt19937 random(seed);
  std::vector<std::uint8_t> memory(most);
  std::uint64_t done = 0;
  while (done < n_bytes) {
    const std::size_t n = std::min<std::uint64_t>(n_bytes - done, 1 + random() % most);
    for (std::size_t i = 0; i < n; ++i) memory[i] = expected_at(done + i);
    for (std::size_t at = 0; at < n;) {
      const ssize_t taken = pages.write(memory.data() + at, n - at);
      if (taken < 0 && errno == EINTR) continue;
      if (taken < 0 && errno == EAGAIN) {
        wait_until_ready(fd, POLLOUT);
        continue;
      }
      if (taken < 0) return {done + at, errno};
      at += static_cast<std::size_t>(taken);
    }
    done += n;
  }
  return {done, 0};
}

// Whether so many bytes were there.
bool read_exactly(int fd, std::uint8_t* bytes, std::size_t n) {
  for (std::size_t at = 0; at < n;) {
    const ssize_t got = ::read(fd, bytes + at, n - at);
    if (got <= 0) return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

// Sanitizers' memory beside that of the program has page faults of its own, so that write() takes over.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

bool has_huge_pages() {
  if (kSanitized) return false;
  std::string modes;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), modes);
  return !modes.empty() && modes.find("[never]") == std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_arrive_in_order) {
  for (const std::size_t most : {std::size_t{100}, std::size_t{70'000}, std::size_t{3'000'000}})
    for (const int flags : {0, O_NONBLOCK}) {
      Pipe pipe(flags);
      const std::uint64_t n_bytes = most < 1000 ? 300'000 : 20'000'000;
      std::thread writer([&] {
        write_stream(pipe.in, n_bytes, most, 1);
        pipe.close_in();
      });
      std::vector<std::uint8_t> bytes(999'999);
      std::uint64_t done = 0;
      bool good = true;
      while (true) {
        const ssize_t got = ::read(pipe.out, bytes.data(), bytes.size());
        if (got < 0 && errno == EAGAIN) {
          wait_until_ready(pipe.out, POLLIN);
          continue;
        }
        if (got <= 0) break;
        good = good && is_part(bytes, static_cast<std::size_t>(got), done);
        done += static_cast<std::uint64_t>(got);
      }
      writer.join();
      BOOST_TEST(done == n_bytes);
      BOOST_TEST(good);
    }
}

// What a reader has passed on by splice() and tee() stays as it was while the writer goes on: with a ring
// that is written again once the first pipe is empty, this fails.
BOOST_AUTO_TEST_CASE(pages_that_are_held_elsewhere_are_never_written_again) {
  constexpr std::size_t kHeld = 512u << 10, kBetween = 5u << 20;
  for (const bool tees : {false, true}) {
    Pipe pipe, held;
    enlarge_pipe(held.in);
    constexpr int kRounds = 12;
    constexpr std::uint64_t kAll = kRounds * (kHeld + kBetween);
    std::thread writer([&] {
      write_stream(pipe.in, kAll, 400'000, 7);
      pipe.close_in();
    });
    std::vector<std::uint8_t> bytes(kBetween);
    std::uint64_t at = 0;
    bool good = true;
    for (int round = 0; round < kRounds; ++round) {
      std::size_t n_held = 0;
      while (n_held < kHeld) {
        // One slot of the pipe may hold little; what is there is enough.
        const ssize_t n = tees ? ::tee(pipe.out, held.in, kHeld - n_held, 0)
                               : ::splice(pipe.out, nullptr, held.in, nullptr, kHeld - n_held, 0);
        BOOST_REQUIRE(n > 0);
        n_held += static_cast<std::size_t>(n);
        if (tees) break;
      }
      const std::uint64_t first = at;
      if (!tees) at += n_held;
      for (std::size_t left = kBetween + kHeld - (tees ? 0 : n_held); left > 0;) {
        const std::size_t n = std::min(left, bytes.size());
        BOOST_REQUIRE(read_exactly(pipe.out, bytes.data(), n));
        good = good && is_part(bytes, n, at);
        at += n;
        left -= n;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the writer fills the pipe again
      BOOST_REQUIRE(read_exactly(held.out, bytes.data(), n_held));
      good = good && is_part(bytes, n_held, first);
    }
    writer.join();
    BOOST_TEST(good);
    BOOST_TEST(at == kAll);
  }
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_is_an_error_and_not_a_signal) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  std::thread reader([&] {
    std::vector<std::uint8_t> bytes(3u << 20);
    (void)read_exactly(pipe.out, bytes.data(), bytes.size());
    pipe.close_out();
  });
  const Written written = write_stream(pipe.in, 100'000'000, 1'000'000, 3);
  reader.join();
  BOOST_TEST(written.error == EPIPE);
  BOOST_TEST(written.n_bytes < 10'000'000u);
}

BOOST_AUTO_TEST_CASE(large_pieces_are_handed_over_where_there_are_huge_pages) {
  if (!has_huge_pages()) return;
  Pipe pipe;
  PipePages pages(pipe.in);
  const std::vector<std::uint8_t> bytes = stream_part(0, 64u << 10);
  BOOST_TEST(!pages.hands_over());
  BOOST_TEST(pages.write(bytes.data(), 1000) == 1000);
  BOOST_TEST(!pages.hands_over());
  BOOST_TEST(pages.write(bytes.data(), bytes.size()) > 0);
  BOOST_TEST(pages.hands_over());
}

BOOST_AUTO_TEST_CASE(what_is_no_pipe_is_written) {
  const std::string name = "/tmp/apsyn-pipe-" + std::to_string(::getpid());
  const int fd = ::open(name.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  BOOST_TEST(write_stream(fd, 1'000'000, 300'000, 5).n_bytes == 1'000'000u);
  ::close(fd);
  ByteSource source(name);
  std::vector<std::uint8_t> bytes(1'000'001);
  BOOST_TEST(source.read(bytes.data(), bytes.size()) == 1'000'000u);
  BOOST_TEST(is_part(bytes, 1'000'000, 0));
  ::unlink(name.c_str());
}

BOOST_AUTO_TEST_CASE(a_source_waits_for_a_pipe_that_does_not) {
  Pipe pipe(O_NONBLOCK);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(pipe.out, STDIN_FILENO);
  bool all_written = true;
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const auto part = stream_part(static_cast<std::uint64_t>(i) * 1000, 1000);
      all_written = ::write(pipe.in, part.data(), part.size()) == 1000 && all_written;
    }
    pipe.close_in();
  });
  std::vector<std::uint8_t> bytes(30'000);
  {
    ByteSource source("-");
    BOOST_TEST(source.read(bytes.data(), bytes.size()) == 20'000u);
  }
  writer.join();
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  BOOST_TEST(all_written);
  BOOST_TEST(is_part(bytes, 20'000, 0));
}

BOOST_AUTO_TEST_SUITE_END()
