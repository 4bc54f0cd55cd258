// SPDX-License-Identifier: GPL-3.0-or-later
// How a tool divides and averages the channels of voltages: --channels, --pfb-taps, --window,
// --average-channels.
#pragma once

#include <string>

#include "libcore/cli/tool.h"
#include "libcore/voltage/filterbank.h"

namespace apsyn {

struct FilterbankOptions {
  std::size_t n_fine = 1, n_average = 1, n_taps = 0;
  std::string window;  ///< empty = hann
};

void add_filterbank_options(Tool& tool, FilterbankOptions& options);
/// Warns of a window that has no taps to act on.
Filterbank filterbank_of(const FilterbankOptions& options);
/// UsageError when the n_fine channels of each of n_chan do not divide by n_average.
void check_average(const FilterbankOptions& options, std::size_t n_chan);
/// UsageError when real samples (n_dim 1) of `name` are not divided: two of them make a spectrum then, of
/// which only the mean would be left.
void check_real_samples(unsigned n_dim, std::size_t n_fine, const std::string& name);

}  // namespace apsyn
