// SPDX-License-Identifier: GPL-3.0-or-later
// From the options and the header to what is searched, and the memory it takes.
#pragma once

#include <string>
#include <vector>

#include "kernels/dedisperse/dedisperse.h"
#include "kernels/excise/excise.h"
#include "kernels/search/series.h"
#include "libcore/formats/filterbank/channels.h"
#include "libcore/formats/filterbank/reader.h"
#include "tools/search-transients/options.h"

namespace apsyn {

struct SearchPlan {
  DedispersionPlan dedispersion;
  ExciseSettings excise;
  IntensityKind intensity = IntensityKind::first;
  std::vector<std::size_t> widths;  ///< samples of the input
  std::vector<SeriesPlan> series;   ///< of each level
  std::vector<double> dm;           ///< of each trial
  std::size_t block = 0;            ///< input samples that are cleaned together, whole segments
  std::size_t segment = 0;          ///< of series, input samples; where they are averaged it can be longer
  std::size_t gulp = 0;             ///< input samples that are searched together, whole blocks
  double threshold = 8;
  double memory_bytes = 0, device_bytes = 0;
  std::size_t longest_width() const { return widths.back(); }
  std::size_t coarsest() const { return dedispersion.levels.back().factor; }
  /// What the samples' history holds: a gulp, the delays behind it, three blocks before it, which candidates
  /// that end now may be in, and the one and a half that come last.
  std::size_t history() const { return gulp + dedispersion.max_delay_samples() + 5 * block; }
};

/// UsageError for options that make no sense, FailureError when the memory does not suffice.
SearchPlan make_plan(const Tool& tool, const SearchOptions& options, const SampleReader& reader,
                     const Device& device);
/// In words, for --dry-run and -v.
std::vector<std::string> describe(const SearchPlan& plan, const SampleReader& reader);

/// "1:256", "1,2,5", "0.5ms:20ms": samples, ascending.
std::vector<std::size_t> parse_widths(const std::string& text, double sample_s);
struct DmRange {
  double low = 0, high = 0;
};
DmRange parse_dm_range(const std::string& text);
/// --dm-range and --dm-step. UsageError for ranges and steps that make no sense, or more than a million
/// trials.
std::vector<TrialLevel> choose_trials(const DispersionBand& band, const SearchOptions& options,
                                      std::size_t max_factor);

}  // namespace apsyn
