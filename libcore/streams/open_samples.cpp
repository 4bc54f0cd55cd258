// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/open_samples.h"

#include <filesystem>

#include "libcore/formats/psrfits/psrfits.h"
#include "libcore/streams/detect.h"

namespace apsyn {

std::unique_ptr<SampleReader> open_samples(const std::string& path) {
  std::error_code error;
  // A pipe's beginning cannot be looked at and read again.
  if (path != "-" && std::filesystem::is_regular_file(path, error) && is_fits_file(path))
    return std::make_unique<PsrfitsReader>(path);
  return std::make_unique<FilterbankReader>(path);
}

}  // namespace apsyn
