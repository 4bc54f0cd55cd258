// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms from a configuration file, apsyn-aterms(5): FITS screens and beams.
#pragma once

#include <memory>
#include <string>

#include "libcore/core/array_layout.h"
#include "libcore/core/aterms.h"

namespace apsyn {

/// The stations are those of the visibilities, in their order: a layout of the stream or of the Measurement
/// Set. The model is the product of the entries, the first to the left. DataError (file, line and cure) when
/// the configuration or a file that it names is malformed or missing; FailureError when one cannot be read.
std::unique_ptr<AtermModel> open_aterms(const std::string& path, const ArrayLayout& layout);

}  // namespace apsyn
