// SPDX-License-Identifier: GPL-3.0-or-later
// A folder of one's own for a test, and standard input or output replaced for the length of a call.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <thread>

namespace apsyn::reference {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "apsyn-test.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

 private:
  std::string folder_;
};

/// Feeds `bytes` to standard input through a pipe, in pieces of random size, while `body` runs.
inline void with_stdin(const std::string& bytes, const std::function<void()>& body) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  ::close(ends[0]);
  std::thread feeder([&] {
    std::mt19937 random(static_cast<unsigned>(bytes.size()));
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = std::min<std::size_t>(bytes.size() - at, 1 + random() % 4096);
      const ssize_t done = ::write(ends[1], bytes.data() + at, n);
      if (done <= 0) break;
      at += static_cast<std::size_t>(done);
    }
    ::close(ends[1]);
  });
  const auto restore = [&] {
    ::dup2(saved, STDIN_FILENO);  // closes the reading end, so that the feeder ends
    ::close(saved);
    feeder.join();
  };
  try {
    body();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

/// Sends standard output to the file `path` while `body` runs.
inline void with_stdout(const std::string& path, const std::function<void()>& body) {
  std::fflush(stdout);
  const int saved = ::dup(STDOUT_FILENO);
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  ::dup2(file, STDOUT_FILENO);
  ::close(file);
  const auto restore = [&] {
    std::fflush(stdout);
    ::dup2(saved, STDOUT_FILENO);
    ::close(saved);
  };
  try {
    body();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

}  // namespace apsyn::reference
