// SPDX-License-Identifier: GPL-3.0-or-later
// Pipes between two processes, GB/s and processor seconds of both for a GB: what OutputFile writes, by
// write() and by pages that are handed over; and what VoltageReader takes from a producer that only splices.
//   bench_pipes [GB [THREADS]]
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "libcore/files/checksum.h"
#include "libcore/files/pipes.h"
#include "libcore/streams/stream_payload.h"
#include "libcore/streams/voltage_stream.h"

using namespace apsyn;

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

double cpu_seconds(int whose) {
  rusage usage{};
  ::getrusage(whose, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// `write` in this process, `read` in another, whose standard input is the pipe.
void measure(const std::string& what, double gigabytes, const std::function<void(int)>& write,
             const std::function<void()>& read) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::exit(1);
  const double cpu = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t reader = ::fork();
  if (reader == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]), ::close(ends[1]);
    read();
    std::_Exit(0);
  }
  ::close(ends[0]);
  write(ends[1]);
  ::close(ends[1]);
  int status = 0;
  ::waitpid(reader, &status, 0);
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{:<52} {:6.2f} GB/s {:7.3f} s/GB{}\n", what, gigabytes / s,
             (cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - cpu) / gigabytes,
             status == 0 ? "" : " FAILED");
  std::fflush(stdout);
}

template <class Write>
void write_all(const std::vector<char>& from, std::size_t n_bytes, Write&& write) {
  for (std::size_t done = 0; done < n_bytes;) {
    const std::size_t at = done % from.size();
    const auto taken = write(from.data() + at, std::min(from.size() - at, n_bytes - done));
    if (taken <= 0) std::exit(1);
    done += static_cast<std::size_t>(taken);
  }
}

/// Pages of a ring that never changes.
void splice_all(int fd, const std::vector<char>& ring, std::size_t n_bytes) {
  write_all(ring, n_bytes, [&](const char* at, std::size_t n) {
    iovec piece{const_cast<char*>(at), std::min<std::size_t>(n, 128u << 10)};
    return ::vmsplice(fd, &piece, 1, 0);
  });
}

void read_stream(unsigned n_threads, bool four_bit) {
  VoltageReader reader("-");
  reader.use_threads(n_threads);
  if (four_bit) reader.keep_4bit();
  VoltageBlock block;
  while (reader.read(block, 4096)) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double gigabytes = argc > 1 ? std::atof(argv[1]) : 4;
  const unsigned n_threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2;
  const auto n_bytes = static_cast<std::size_t>(gigabytes * 1e9) / kBlock * kBlock;
  const std::vector<char> block(kBlock, 1);
  const auto drain = [] {
    enlarge_pipe(STDIN_FILENO);
    std::vector<char> bytes(kBlock);
    while (::read(STDIN_FILENO, bytes.data(), bytes.size()) > 0) {
    }
  };
  measure(
      "write(), 64 kB pipe", gigabytes,
      [&](int fd) {
        write_all(block, n_bytes, [&](const char* at, std::size_t n) { return ::write(fd, at, n); });
      },
      [] {
        std::vector<char> bytes(kBlock);
        while (::read(STDIN_FILENO, bytes.data(), bytes.size()) > 0) {
        }
      });
  measure(
      "write(), 1 MB pipe", gigabytes,
      [&](int fd) {
        enlarge_pipe(fd);
        write_all(block, n_bytes, [&](const char* at, std::size_t n) { return ::write(fd, at, n); });
      },
      drain);
  measure(
      "pages handed over", gigabytes,
      [&](int fd) {
        PipePages pages(fd);
        write_all(block, n_bytes, [&](const char* at, std::size_t n) { return pages.write(at, n); });
      },
      drain);

  // The stream's bytes, its trailer included, are made once.
  VoltageHeader header;
  header.sample_s = 1e-4;
  header.n_chan = 128, header.n_ant = 32, header.n_pol = 2;
  std::vector<char> ring(4 * kBlock, 1);
  for (const unsigned n_bit : {8u, 4u})
    for (const bool trailer : {false, true}) {
      header.n_bit = n_bit;
      header.trailer = trailer;
      header.file_size = trailer ? std::nullopt : std::optional<std::uint64_t>(n_bytes);
      const std::string text = format_voltage_header(header);
      Crc32c crc;
      if (trailer) write_all(ring, n_bytes, [&](const char* at, std::size_t n) { return crc.add(at, n), n; });
      const std::string end = trailer ? format_trailer(n_bytes, crc.value()) : "";
      for (const unsigned threads : {1u, n_threads})
        measure(
            fmt::format("spliced to VoltageReader, {} bit{}, {} threads", n_bit, trailer ? ", trailer" : "",
                        threads),
            gigabytes,
            [&](int fd) {
              enlarge_pipe(fd);
              if (::write(fd, text.data(), text.size()) < 0) std::exit(1);
              splice_all(fd, ring, n_bytes);
              if (::write(fd, end.data(), end.size()) < 0) std::exit(1);
            },
            [&] { read_stream(threads, n_bit == 4); });
    }
}
