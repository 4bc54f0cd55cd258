// SPDX-License-Identifier: GPL-3.0-or-later
// How the files of an observation fit together: coarse channels side by side, integrations one after the
// other. For libcore/formats/mwa_fits only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "libcore/formats/mwa_fits/file.h"

namespace apsyn::mwa_fits {

struct Arrangement {
  /// Where the data of one time and coarse channel are.
  struct Place {
    std::size_t file = 0, integration = 0;
  };
  /// Coarse channels first .. end - 1 of those below.
  struct Window {
    std::size_t first = 0, end = 0;
  };
  Correlator correlator = Correlator::legacy;
  std::vector<CorrelatorFile> files;
  std::vector<int> coarse_channels;    ///< of which there are files, rising
  std::vector<std::int64_t> times_ms;  ///< Unix times at which integrations with data begin, rising
  std::vector<std::vector<std::optional<Place>>> places;  ///< [time][coarse channel]
  std::vector<Window> windows;  ///< one where all coarse channels are adjacent, otherwise one for each

  bool has_data(std::size_t time, const Window& window) const;
};

/// DataError, with the files and the values, where files are of both correlators, cover the same time and
/// coarse channel twice, or have times that are no multiple of an integration apart.
Arrangement arrange(std::vector<CorrelatorFile> files, const Observation& observation);

}  // namespace apsyn::mwa_fits
