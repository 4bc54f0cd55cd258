// SPDX-License-Identifier: GPL-3.0-or-later
// casacore's own messages and exceptions, brought into ours. For libcore/measures and libcore/formats/ms
// only.
#pragma once

#include <exception>
#include <mutex>
#include <string>

#include "libcore/base/error.h"

namespace apsyn {

/// Routes casacore's global log to log_message: its warnings as warnings, the rest as verbose. Cheap; every
/// entry into casacore calls it.
void adopt_casacore_log();

/// The text with other than printable ASCII as '?': casacore quotes what damaged files hold.
std::string printable(const std::string& text);
/// What an exception of casacore says, printable, to stand in the middle of a sentence: a file's name that it
/// does not know is left out with what introduces it ("... read for file ").
std::string reason_of(const std::exception& error);

/// What casacore's measures throw, with what helps: their tables are a package of their own.
FailureError measures_failure(const std::exception& error);

/// casacore measures share unguarded static tables: whoever uses them holds this.
std::recursive_mutex& casacore_measures_mutex();

/// While one lives on this thread, casacore messages of the thread are dropped.
class CasacoreSilence {
 public:
  CasacoreSilence();
  ~CasacoreSilence();
  CasacoreSilence(const CasacoreSilence&) = delete;
};

}  // namespace apsyn
