// SPDX-License-Identifier: GPL-3.0-or-later
// Samples of powers from whatever file holds them.
#pragma once

#include <memory>
#include <string>

#include "libcore/formats/filterbank/reader.h"

namespace apsyn {

/// A SIGPROC filterbank ("-": standard input), or a regular file that begins as FITS does and must be PSRFITS
/// of search mode. Throws as FilterbankReader and PsrfitsReader.
std::unique_ptr<SampleReader> open_samples(const std::string& path);

}  // namespace apsyn
