// SPDX-License-Identifier: GPL-3.0-or-later
// The shape of a coarse channel's passband, which the filterbank of the receivers gives all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace apsyn::mwa_fits {

/// Gains of visibilities (of power, not of voltages), [fine channel] of a coarse channel, from a CSV with the
/// columns channel, counted from 0, and gain. Signals of both tiles passed the same filter, so that a
/// visibility and its noise are gain times those of a flat band: divided by it, its weight is gain^2 times
/// what it was. 0: no signal passes. FailureError as read_text_file; DataError for files that have not one
/// gain for each of the n_fine channels, or gains that are below 0, below 1e-6 but not 0, or above 1e6.
std::vector<double> read_passband(const std::string& path, std::size_t n_fine);

}  // namespace apsyn::mwa_fits
