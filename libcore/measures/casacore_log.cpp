// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/measures/casacore_log.h"

#include <casacore/casa/Logging/LogFilter.h>
#include <casacore/casa/Logging/LogMessage.h>
#include <casacore/casa/Logging/LogSink.h>
#include <casacore/casa/Logging/LogSinkInterface.h>

#include <string_view>

#include "libcore/base/log.h"
#include "libcore/system/system_error.h"

namespace apsyn {
namespace {

thread_local int silence_depth = 0;

class ForwardingSink : public casacore::LogSinkInterface {
 public:
  ForwardingSink() : LogSinkInterface(casacore::LogFilter(casacore::LogMessage::NORMAL)) {}
  casacore::Bool postLocally(const casacore::LogMessage& message) override {
    if (silence_depth > 0 || !filter().pass(message)) return false;
    const LogLevel level =
        message.priority() >= casacore::LogMessage::WARN ? LogLevel::warning : LogLevel::verbose;
    log_message(level, printable("casacore: " + message.message()));
    return true;
  }
  casacore::String id() const override { return "apsyn"; }
};

}  // namespace

void adopt_casacore_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    casacore::LogSinkInterface* sink = new ForwardingSink;  // casacore takes ownership
    casacore::LogSink::globalSink(sink);
  });
}

std::string printable(const std::string& text) {
  std::string result = text;
  for (char& c : result)
    if (c < ' ' || c > '~') c = c == '\n' ? ' ' : '?';
  return result;
}

std::string reason_of(const std::exception& error) {
  std::string text = printable(error.what());
  const auto drop = [&](std::string_view end) {
    const bool there = text.ends_with(end);
    if (there) text.resize(text.size() - end.size());
    return there;
  };
  while (drop(" ") || drop(":") || drop(" for file")) continue;
  return text;
}

FailureError measures_failure(const std::exception& error) {
  const std::string reason = reason_of(error);
  const char* cure = cure_of_system_error(reason);
  return FailureError(
      "casacore measures: {}: {}", reason,
      cure == nullptr
          ? "install the Debian package casacore-data-tai-utc or set measures.directory in ~/.casarc"
          : cure);
}

std::recursive_mutex& casacore_measures_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

CasacoreSilence::CasacoreSilence() {
  ++silence_depth;
}
CasacoreSilence::~CasacoreSilence() {
  --silence_depth;
}

}  // namespace apsyn
