// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "libcore/array/array_layout.h"

namespace apsyn {

/// A built-in array's name, an antennas CSV, or a *.metafits / *.fits file. UsageError for what is neither a
/// name nor a path; FailureError and DataError as the files' readers.
ArrayLayout load_layout(const std::string& name_or_path);

}  // namespace apsyn
