// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace apsyn {
namespace {

std::mutex terminal_mutex;
std::string shown_line;

constexpr const char* kEraseLine = "\r\033[K";

void write_stderr(const std::string& text) {
  const char* at = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    const ssize_t n = ::write(STDERR_FILENO, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody is left to tell
    at += n;
    left -= static_cast<std::size_t>(n);
  }
}

}  // namespace

void write_message(const std::string& lines) {
  std::lock_guard lock(terminal_mutex);
  write_stderr((shown_line.empty() ? "" : kEraseLine) + lines + shown_line);
}

void show_progress_line(const std::string& line) {
  std::lock_guard lock(terminal_mutex);
  if (line.empty() && shown_line.empty()) return;
  write_stderr(kEraseLine + line);
  shown_line = line;
}

}  // namespace apsyn
