// SPDX-License-Identifier: GPL-3.0-or-later
// Errors that end a tool, each with its exit status. Messages read "file: offending value: cure".
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace apsyn {

enum class ExitStatus { success = 0, failure = 1, usage = 2, malformed = 3, device = 4 };

class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message) : std::runtime_error(message), status_(status) {}
  ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

/// I/O or numeric failure, or no usable data: exit status 1.
class FailureError : public Error {
 public:
  template <class... Args>
  explicit FailureError(fmt::format_string<Args...> text, Args&&... args)
      : Error(ExitStatus::failure, fmt::format(text, std::forward<Args>(args)...)) {}
};

/// A wrong option or combination of options: exit status 2.
class UsageError : public Error {
 public:
  template <class... Args>
  explicit UsageError(fmt::format_string<Args...> text, Args&&... args)
      : Error(ExitStatus::usage, fmt::format(text, std::forward<Args>(args)...)) {}
};

/// Malformed input data: exit status 3.
class DataError : public Error {
 public:
  template <class... Args>
  explicit DataError(fmt::format_string<Args...> text, Args&&... args)
      : Error(ExitStatus::malformed, fmt::format(text, std::forward<Args>(args)...)) {}
};

/// A compute device that is missing or failed: exit status 4.
class DeviceError : public Error {
 public:
  template <class... Args>
  explicit DeviceError(fmt::format_string<Args...> text, Args&&... args)
      : Error(ExitStatus::device, fmt::format(text, std::forward<Args>(args)...)) {}
};

/// The reader of our output has gone away; tools end as SIGPIPE ends them.
class BrokenPipe : public std::runtime_error {
 public:
  BrokenPipe() : std::runtime_error("the reader of the output has gone away") {}
};

}  // namespace apsyn
