// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/base/log.h"

#include <mutex>

namespace apsyn {
namespace {

std::mutex& log_mutex() {
  static std::mutex mutex;
  return mutex;
}
LogSink& log_sink() {
  static LogSink sink;
  return sink;
}

}  // namespace

void set_log_sink(LogSink sink) {
  std::lock_guard lock(log_mutex());
  log_sink() = std::move(sink);
}

void log_message(LogLevel level, const std::string& message) {
  std::lock_guard lock(log_mutex());
  if (log_sink()) log_sink()(level, message);
}

}  // namespace apsyn
