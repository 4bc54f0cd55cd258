// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of the libraries to whoever runs them. The tool scaffolding installs a sink that writes
// "tool: level: message" on stderr; without a sink messages are dropped. Safe from any thread.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <utility>

namespace apsyn {

enum class LogLevel { verbose, info, warning, error };

using LogSink = std::function<void(LogLevel, const std::string&)>;
void set_log_sink(LogSink sink);
void log_message(LogLevel level, const std::string& message);

template <class... Args>
void log_verbose(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::verbose, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> text, Args&&... args) {
  log_message(LogLevel::warning, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace apsyn
