// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "kernels/common/free_memory.h"
#include "kernels/search/boxcar.h"
#include "libcore/base/csv.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "tools/search-transients/device_search.h"

namespace apsyn {
namespace {

constexpr std::size_t kMinBlock = 4096, kMaxFactor = 16, kMinSegment = 512;
constexpr std::size_t kMaxGulp = 65536;
/// The picture, and what is cut out of the data for it.
constexpr double kPlotBytes = 40e6;
/// Raw blocks that are under way between reading and searching.
constexpr double kRawBlocks = 7;
/// What the process takes by itself.
constexpr double kFixedBytes = 12e6;

std::size_t parse_width(std::string_view text, double sample_s, const std::string& all) {
  double samples = 0;
  if (const auto number = finite_number(text))
    samples = *number == std::floor(*number) ? *number : 0;
  else
    samples = std::round(parse_duration(text) / sample_s);
  if (!(samples >= 1 && samples <= 1048576))
    throw UsageError(
        "--widths {}: '{}' is not 1 to 1048576 whole samples: write for example 1:256 or 1ms:50ms", all,
        text);
  return static_cast<std::size_t>(samples);
}

/// Samples that medians need: as many as tell the noise to 4 %, and 16 times the longest filter.
std::size_t min_segment(const std::vector<std::size_t>& widths) {
  return std::max(kMinSegment, std::bit_ceil(16 * widths.back()));
}

/// Input samples of a segment: a power of two.
std::size_t segment_samples(const std::string& baseline, double sample_s, std::size_t least,
                            std::size_t automatic) {
  if (baseline == "auto") return automatic;
  const double seconds = parse_duration(baseline), samples = std::floor(seconds / sample_s);
  if (!(samples >= static_cast<double>(least)))
    throw UsageError(
        "--baseline {}: medians need 512 samples and 16 times the longest filter, {} here: give shorter "
        "--widths or a longer baseline",
        baseline, format_duration(static_cast<double>(least) * sample_s));
  constexpr double kMaxSegment = 1 << 26;
  return std::bit_floor(static_cast<std::size_t>(std::min(samples, kMaxSegment)));
}

/// Widths of a level: in its samples, at least one.
std::vector<std::size_t> level_widths(const std::vector<std::size_t>& widths, std::size_t factor) {
  std::vector<std::size_t> result;
  for (std::size_t width : widths) {
    const std::size_t w = std::max<std::size_t>(1, (width + factor / 2) / factor);
    if (result.empty() || result.back() < w) result.push_back(w);
  }
  return result;
}

/// `n_samples` of the input, if that is known: fewer than there is room for fill it so far.
double memory_of(const SearchPlan& plan, const FilterbankInput& input, std::optional<std::size_t> n_samples,
                 unsigned n_threads) {
  const double n_chan = static_cast<double>(plan.excise.n_chan),
               n = n_samples ? static_cast<double>(*n_samples) : INFINITY,
               block = std::min(n, static_cast<double>(plan.block)),
               gulp = std::min(n, static_cast<double>(plan.gulp));
  double bytes = kFixedBytes + static_cast<double>(cuda_program_bytes());
  bytes += 1.5 * std::min(n, kRawBlocks * block) * static_cast<double>(input.bytes_per_sample());
  bytes += n_chan * 1.5 * block;  // a clean block
  std::vector<double> outs;
  for (std::size_t level = 0; level < plan.dedispersion.levels.size(); ++level) {
    const TrialLevel& l = plan.dedispersion.levels[level];
    const double factor = static_cast<double>(l.factor);
    bytes += n_chan * static_cast<double>(plan.history()) / factor;
    bytes += static_cast<double>(l.dm.size()) * block / factor * 4;  // the last segment of each series
  }
  for (const DedispersionBatch& batch : plan.dedispersion.batches) {
    outs.push_back(static_cast<double>(batch.dm.size()) * gulp /
                   static_cast<double>(plan.dedispersion.levels[batch.level].factor));
    bytes += static_cast<double>(batch.uses.size() * sizeof(PartialUse));
    for (const PartialSum& sum : batch.sums) bytes += 64 + 4 * static_cast<double>(sum.offset.size());
  }
  const double per_thread = static_cast<double>(plan.dedispersion.scratch_bytes()) + 64 * 1.5 * block * 4 +
                            6 * (gulp + 2 * block) * 4;
  const auto n_busy = std::min<std::size_t>(n_threads, plan.dedispersion.batches.size());
  std::sort(outs.rbegin(), outs.rend());
  bytes += 5 * std::accumulate(outs.begin(), outs.begin() + static_cast<std::ptrdiff_t>(n_busy), 0.0);
  return bytes + static_cast<double>(n_busy) * per_thread;
}

}  // namespace

std::vector<std::size_t> parse_widths(const std::string& text, double sample_s) {
  std::vector<std::size_t> widths;
  if (const auto colon = text.find(':'); colon != std::string::npos) {
    const std::size_t low = parse_width(trim(std::string_view(text).substr(0, colon)), sample_s, text),
                      high = parse_width(trim(std::string_view(text).substr(colon + 1)), sample_s, text);
    if (high < low) throw UsageError("--widths {}: the range is empty", text);
    for (std::size_t width : default_widths(high))
      if (width >= low) widths.push_back(width);
    if (widths.empty()) widths.push_back(high);
  } else {
    for (std::string_view part : split(text, ',')) widths.push_back(parse_width(part, sample_s, text));
    std::sort(widths.begin(), widths.end());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  }
  return widths;
}

DmRange parse_dm_range(const std::string& text) {
  const auto colon = text.find(':');
  const auto low = finite_number(std::string_view(text).substr(0, colon));
  const auto high =
      colon == std::string::npos ? low : finite_number(std::string_view(text).substr(colon + 1));
  if (!low || !high || *low < 0 || *high < *low || *high > 1e6)
    throw UsageError("--dm-range {}: write LOW:HIGH in pc cm^-3, 0 <= LOW <= HIGH, for example 0:1000", text);
  return {*low, *high};
}

std::vector<TrialLevel> choose_trials(const DispersionBand& band, const SearchOptions& options,
                                      std::size_t max_factor) {
  TrialSettings settings;
  const DmRange range = parse_dm_range(options.dm_range);
  settings.dm_low = range.low, settings.dm_high = range.high;
  settings.max_factor = max_factor;
  if (options.dm_step != "auto") {
    const auto step = finite_number(options.dm_step);
    if (!step || !(*step > 0))
      throw UsageError("--dm-step {}: write auto or a step above 0 in pc cm^-3", options.dm_step);
    settings.dm_step = *step;
    if ((range.high - range.low) / *step > 1e6)
      throw UsageError("--dm-step {}: that makes more than a million trials", options.dm_step);
  }
  try {
    return plan_trials(band, settings);
  } catch (const std::length_error&) {
    throw UsageError(
        "--dm-range {}: that needs more than a million trials: narrow the range or give --dm-step",
        options.dm_range);
  }
}

SearchPlan make_plan(const Tool& tool, const SearchOptions& options, const SampleReader& reader,
                     const Device& device) {
  const FilterbankHeader& header = reader.header();
  SearchPlan plan;
  plan.intensity = parse_intensity(options.intensity, header.n_if, reader.input().products);
  plan.widths = parse_widths(options.widths.empty() ? "1:256" : options.widths, header.sample_s);
  plan.threshold = options.threshold;
  // A spectrum of fewer bits may be 0 by chance.
  constexpr std::size_t kFewestBits = 32;
  plan.excise = {header.n_chan, options.rfi_sigma, options.zero_dm, tool.common().threads,
                 reader.input().bits() * header.n_chan >= kFewestBits};

  const DispersionBand band{header.first_hz, header.step_hz, header.n_chan, header.sample_s};
  if (header.n_chan > (std::size_t{1} << 17))
    throw UsageError("{}: {} channels, at most 131072 can be dedispersed", reader.name(), header.n_chan);
  const std::vector<TrialLevel> levels = choose_trials(band, options, kMaxFactor);
  // Delays are kept as 32-bit numbers of samples.
  constexpr double kMaxDelay = 2e9;
  double max_delay = 0;
  for (const TrialLevel& level : levels)
    if (!level.dm.empty())
      max_delay =
          std::max(max_delay, level.dm.back() * std::max(std::abs(band.delay_per_dm(0)),
                                                         std::abs(band.delay_per_dm(band.n_chan - 1))));
  if (!(max_delay < kMaxDelay))
    throw UsageError(
        "--dm-range {}: delays of {:.3g} samples, at most {:.3g} can be followed: narrow the range",
        options.dm_range, max_delay, kMaxDelay);
  plan.dedispersion = plan_dedispersion(band, levels);
  for (const TrialLevel& level : levels) plan.dm.insert(plan.dm.end(), level.dm.begin(), level.dm.end());
  const std::size_t finest = levels.front().factor;
  const std::size_t automatic =
      std::max({kMinBlock, std::bit_ceil(16 * plan.longest_width()), 2 * kMinSegment * plan.coarsest()});
  plan.segment = segment_samples(options.baseline, header.sample_s,
                                 finest * min_segment(level_widths(plan.widths, finest)), automatic);
  plan.block = std::max(plan.segment, automatic);
  for (const TrialLevel& level : levels) {
    const std::vector<std::size_t> widths = level_widths(plan.widths, level.factor);
    const std::size_t segment = std::max(plan.segment / level.factor, min_segment(widths));
    plan.series.push_back(plan_series(std::min(segment, plan.block / level.factor), widths, plan.threshold));
  }

  std::size_t n_block = std::max<std::size_t>(1, kMaxGulp / plan.block);
  if (reader.n_samples()) n_block = std::min<std::size_t>(n_block, *reader.n_samples() / plan.block + 1);
  for (;; n_block /= 2) {
    plan.gulp = n_block * plan.block;
    plan.memory_bytes = memory_of(plan, reader.input(), reader.n_samples(), tool.common().threads) +
                        (options.plot.empty() ? 0 : kPlotBytes);
    const bool on_device = device.kind == Device::Kind::cuda;
    plan.device_bytes = on_device ? static_cast<double>(device_search_bytes(plan, reader.input())) : 0;
    const bool device_suffices =
        !on_device || plan.device_bytes <= 0.9 * static_cast<double>(cuda_free_memory_bytes(device.index));
    if (device_suffices && plan.memory_bytes <= static_cast<double>(tool.common().max_memory_bytes))
      return plan;
    if (n_block == 1 && !device_suffices)
      throw DeviceError(
          "{}: searching --dm-range {} needs {} of the device's memory: narrow the range or "
          "the --widths, or use --device cpu",
          reader.name(), options.dm_range, format_bytes(plan.device_bytes));
    if (n_block == 1)
      throw FailureError("{}: {}", reader.name(),
                         memory_shortage(tool.common().max_memory_bytes, plan.memory_bytes,
                                         fmt::format("searching --dm-range {} needs", options.dm_range),
                                         "allow more, narrow the range or lower --threads"));
  }
}

std::vector<std::string> describe(const SearchPlan& plan, const SampleReader& reader) {
  const FilterbankHeader& header = reader.header();
  std::vector<std::string> lines;
  const double last_hz = reader.input().channel_hz(header.n_chan - 1);
  lines.push_back(fmt::format(
      "input: {}, {} channels from {:.6g} to {:.6g} MHz, {} bits, {} IF, samples of {}{}", header.source,
      header.n_chan, header.first_hz * 1e-6, last_hz * 1e-6, reader.input().bits(), header.n_if,
      format_duration(header.sample_s),
      reader.n_samples()
          ? fmt::format(", {} of them: {}", *reader.n_samples(),
                        format_duration(static_cast<double>(*reader.n_samples()) * header.sample_s))
          : std::string()));
  for (const TrialLevel& level : plan.dedispersion.levels)
    lines.push_back(fmt::format("trials: {} from DM {:.6g} to {:.6g}, {} sample{} averaged", level.dm.size(),
                                level.dm.front(), level.dm.back(), level.factor,
                                level.factor == 1 ? "" : "s"));
  lines.push_back(fmt::format(
      "dedispersion: {} trials, {} sub-bands, delays up to {}", plan.dm.size(), plan.dedispersion.n_subband(),
      format_duration(static_cast<double>(plan.dedispersion.max_delay_samples()) * header.sample_s)));
  lines.push_back(fmt::format("filters: {} widths from {} to {}", plan.widths.size(),
                              format_duration(static_cast<double>(plan.widths.front()) * header.sample_s),
                              format_duration(static_cast<double>(plan.widths.back()) * header.sample_s)));
  lines.push_back(fmt::format("baseline: medians of {}",
                              format_duration(static_cast<double>(plan.segment) * header.sample_s)));
  lines.push_back(fmt::format("memory: {}, {} cleaned and {} searched at a time",
                              format_bytes(plan.memory_bytes),
                              format_duration(static_cast<double>(plan.block) * header.sample_s),
                              format_duration(static_cast<double>(plan.gulp) * header.sample_s)));
  if (plan.device_bytes > 0)
    lines.push_back(fmt::format("device memory: {}", format_bytes(plan.device_bytes)));
  return lines;
}

}  // namespace apsyn
