// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/stream_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/average/average.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/imaging/visibility_sink.h"
#include "libcore/measures/coordinates.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "libcore/voltage/array_delays.h"
#include "tools/transform/joined_sets.h"

namespace apsyn::transform {
namespace {

using average::RowShape;

UtcTime later(const UtcTime& time, double seconds) {
  return add_picoseconds(time, static_cast<__int128>(std::llround(seconds * 1e12)));
}

void refuse(const Options& options) {
  const ImagingOptions& selection = options.selection;
  if (!selection.fields.empty() || !selection.field_names.empty() || !selection.spws.empty())
    throw UsageError("{}: a stream has one field and one window: leave --field and --spw out",
                     options.inputs[0]);
  if (options.column_given) throw UsageError("{}: a stream has no --column", options.inputs[0]);
  if (options.bda_loss > 0)
    throw UsageError("{}: --bda is for Measurement Sets: write one of the stream first, and average it then",
                     options.inputs[0]);
  if (options.selects_uvw())
    throw UsageError("{}: --min-uvw and --max-uvw are for Measurement Sets: a stream has no coordinates",
                     options.inputs[0]);
  if (options.inputs.size() > 1)
    throw UsageError("{}: streams are not joined: give one, or Measurement Sets", options.inputs[1]);
}

/// The integrations with their middles in the range of times, and in the numbers of --interval.
void select_times(StreamPlan& plan, const Options& options) {
  const double step_s = plan.in.integration_s, start_s = plan.in.start.mjd_seconds();
  const ImagingOptions& selection = options.selection;
  plan.first_index = selection.first_interval;
  plan.end_index = selection.n_intervals < 0 ? INT64_MAX : selection.first_interval + selection.n_intervals;
  constexpr double kMost = 1e15;
  const auto number = [&](double time_s) {
    return static_cast<std::int64_t>(std::ceil(std::clamp((time_s - start_s) / step_s - 0.5, -kMost, kMost)));
  };
  if (std::isfinite(options.min_time_mjd_s))
    plan.first_index = std::max(plan.first_index, number(options.min_time_mjd_s));
  if (std::isfinite(options.max_time_mjd_s))
    plan.end_index = std::min(plan.end_index, number(std::nextafter(options.max_time_mjd_s, 1e300)));
}

class StreamPass {
 public:
  StreamPass(const Options& options, const StreamPlan& plan, unsigned n_threads)
      : plan_(plan),
        n_threads_(n_threads),
        n_group_(options.average_channels),
        in_{plan.n_channels, plan.in.products.size()},
        out_{plan.out.channel_hz.size(), plan.in.products.size()},
        sums_(plan.baselines.size()),
        scratch_(std::max(1u, n_threads)) {
    channel_hz_.assign(
        plan.in.channel_hz.begin() + static_cast<std::ptrdiff_t>(plan.first_channel),
        plan.in.channel_hz.begin() + static_cast<std::ptrdiff_t>(plan.first_channel + plan.n_channels));
    record_.data.resize({plan.baselines.size(), out_.n_chan, out_.n_product});
    record_.weight.resize(record_.data.shape());
    moves_ = options.centre && !(plan.in.phase_centre && *plan.in.phase_centre == *options.centre);
    if (moves_) frame_.emplace(*plan.in.layout.site);
    for (average::CellSums& sums : sums_) sums.reset(plan.n_average > 1 ? out_.size() : 0);
  }

  /// The first integration of those that are averaged with it.
  std::int64_t group_of(std::int64_t index) const {
    return (index - plan_.first_index) / static_cast<std::int64_t>(plan_.n_average);
  }

  /// Adds an integration to the sums, or makes it the record of the output.
  void add(const VisibilityRecord& from) {
    Vec3 away{};
    if (moves_) {
      const UtcTime middle =
          later(sample_time(plan_.in.start, from.index, plan_.in.integration_s), plan_.in.integration_s / 2);
      const Vec3 to = frame_->uvw_rotation(middle, *plan_.out.phase_centre)[2];
      const Vec3 old =
          plan_.in.phase_centre ? frame_->uvw_rotation(middle, *plan_.in.phase_centre)[2] : Vec3{0, 0, 1};
      away = to - old;
    }
    constexpr std::size_t kAtOnce = 16;
    const std::size_t n = plan_.baselines.size();
    parallel_for(n_threads_, (n + kAtOnce - 1) / kAtOnce, [&](std::size_t item, unsigned thread) {
      for (std::size_t b = item * kAtOnce; b < std::min(n, (item + 1) * kAtOnce); ++b)
        add_baseline(from, b, away, scratch_[thread]);
    });
    ++n_added_;
  }

  /// The mean of what was added. Weights are shares of the whole interval.
  const VisibilityRecord& finish(std::int64_t group) {
    record_.index = group;
    const std::size_t n_cells = out_.size();
    if (plan_.n_average > 1)
      for (std::size_t b = 0; b < plan_.baselines.size(); ++b) {
        average::finish_row(sums_[b], record_.data.data() + b * n_cells, record_.weight.data() + b * n_cells);
        sums_[b].reset(n_cells);
      }
    for (std::size_t b = 0; b < plan_.baselines.size(); ++b)
      for (std::size_t chan = 0; chan < out_.n_chan; ++chan) {
        const std::size_t n_chan = std::min(n_group_, in_.n_chan - chan * n_group_);
        const float share = 1 / static_cast<float>(n_chan * plan_.n_average);
        for (std::size_t p = 0; p < out_.n_product; ++p) record_.weight(b, chan, p) *= share;
      }
    n_added_ = 0;
    return record_;
  }
  std::size_t n_added() const { return n_added_; }

 private:
  struct Scratch {
    std::vector<std::complex<float>> turned, data;
    std::vector<float> weight;
  };

  void add_baseline(const VisibilityRecord& from, std::size_t number, const Vec3& away, Scratch& scratch) {
    const std::size_t baseline = plan_.baselines[number], n_cells = out_.size();
    const std::complex<float>* data = &from.data(baseline, plan_.first_channel, 0);
    const float* weight = &from.weight(baseline, plan_.first_channel, 0);
    if (moves_) {
      const auto& antennas = plan_.in.layout.antennas;
      const Baseline pair = plan_.in.baselines[baseline];
      const Vec3 apart = antennas[static_cast<std::size_t>(pair.ant1)].enu_m -
                         antennas[static_cast<std::size_t>(pair.ant2)].enu_m;
      scratch.turned.resize(in_.size());
      average::turn_row(data, in_, channel_hz_.data(), dot(apart, away), scratch.turned.data());
      data = scratch.turned.data();
    }
    std::complex<float>* to = record_.data.data() + number * n_cells;
    float* to_weight = record_.weight.data() + number * n_cells;
    if (plan_.n_average > 1) {
      scratch.data.resize(n_cells);
      scratch.weight.resize(n_cells);
      to = scratch.data.data();
      to_weight = scratch.weight.data();
    }
    if (n_group_ > 1) {
      average::average_channels(data, weight, in_, n_group_, to, to_weight);
    } else if (plan_.n_average == 1) {
      std::copy_n(data, n_cells, to);
      std::copy_n(weight, n_cells, to_weight);
    } else {
      average::add_row(data, weight, n_cells, sums_[number]);
      return;
    }
    if (plan_.n_average > 1) average::add_row(to, to_weight, n_cells, sums_[number]);
  }

  const StreamPlan& plan_;
  unsigned n_threads_;
  std::size_t n_group_;
  RowShape in_, out_;
  std::vector<average::CellSums> sums_;  ///< [baseline]
  std::vector<Scratch> scratch_;
  std::vector<double> channel_hz_;
  VisibilityRecord record_;
  bool moves_ = false;
  std::optional<SkyFrame> frame_;
  std::size_t n_added_ = 0;
};

}  // namespace

StreamPlan plan_stream(const Tool& tool, const Options& options, const VisibilityHeader& header,
                       OutputKind kind) {
  refuse(options);
  StreamPlan plan;
  plan.in = header;
  plan.out = header;
  const std::string& path = options.inputs[0];
  const std::size_t n_chan = header.channel_hz.size();
  plan.first_channel = options.selection.first_channel;
  plan.n_channels = options.selection.n_channels == 0 ? n_chan - std::min(n_chan, plan.first_channel)
                                                      : options.selection.n_channels;
  if (plan.first_channel >= n_chan || plan.n_channels > n_chan - plan.first_channel)
    throw UsageError("{}: --channel-range {} {}: the stream has {} channels", path, plan.first_channel,
                     plan.first_channel + plan.n_channels, n_chan);
  MsSpectralWindow window;
  for (std::size_t i = 0; i < plan.n_channels; ++i) {
    window.channel_hz.push_back(header.channel_hz[plan.first_channel + i]);
    window.width_hz.push_back(std::abs(header.channel_width_hz));
  }
  if (plan.n_channels % options.average_channels != 0 && plan.n_channels > options.average_channels)
    throw UsageError(
        "--average-channels {}: {} channels are no multiple of it, and a stream's have one width: select "
        "with "
        "--channel-range",
        options.average_channels, plan.n_channels);
  const MsSpectralWindow averaged = averaged_window(window, options.average_channels);
  plan.out.channel_hz = averaged.channel_hz;
  plan.out.channel_width_hz = std::copysign(averaged.width_hz[0], header.channel_width_hz);

  if ((kind == OutputKind::measurement_set || options.centre) && !header.layout.site)
    throw DataError("{}: the stream does not tell its site: SITE_LAT, SITE_LON and SITE_ALT are needed",
                    path);
  if (options.centre) plan.out.phase_centre = options.centre;

  const double ratio = options.average_time_s / header.integration_s;
  plan.n_average = static_cast<std::size_t>(std::max(1.0, std::round(ratio)));
  if (options.average_time_s > 0 && std::abs(ratio - static_cast<double>(plan.n_average)) > 1e-3 * ratio)
    throw UsageError("--average-time {}: no multiple of the stream's integrations of {}",
                     format_duration(options.average_time_s), format_duration(header.integration_s));
  select_times(plan, options);
  plan.out.start = sample_time(header.start, plan.first_index, header.integration_s);
  plan.out.integration_s = header.integration_s * static_cast<double>(plan.n_average);

  const std::vector<std::vector<bool>> pairs = wanted_pairs(options, header.layout);
  plan.out.baselines.clear();
  for (std::size_t b = 0; b < header.baselines.size(); ++b) {
    const Baseline& pair = header.baselines[b];
    if (!pairs[static_cast<std::size_t>(pair.ant1)][static_cast<std::size_t>(pair.ant2)]) continue;
    plan.baselines.push_back(b);
    plan.out.baselines.push_back(pair);
  }
  if (plan.baselines.empty()) throw UsageError("{}: the selection fits no baseline", path);
  if (kind == OutputKind::stream) {
    // The antennas that are left, under new numbers.
    std::vector<int> place(header.layout.antennas.size(), -1);
    plan.out.layout.antennas.clear();
    for (const int antenna : wanted_antennas(options, header.layout)) {
      place[static_cast<std::size_t>(antenna)] = static_cast<int>(plan.out.layout.antennas.size());
      plan.out.layout.antennas.push_back(header.layout.antennas[static_cast<std::size_t>(antenna)]);
    }
    for (Baseline& pair : plan.out.baselines)
      pair = {place[static_cast<std::size_t>(pair.ant1)], place[static_cast<std::size_t>(pair.ant2)]};
  }
  for (const std::string& line : tool.provenance()) plan.out.history.push_back(line);

  const std::size_t out_cells = plan.out.channel_hz.size() * header.products.size();
  constexpr std::uint64_t kValueBytes = 12, kSumBytes = 24, kSetBytes = 14;
  // Without a set less of casacore is used: 27 MB were measured.
  constexpr std::uint64_t kStreamProgramBytes = 29u << 20;
  plan.memory_bytes = (kind == OutputKind::stream ? kStreamProgramBytes : cpu_program_bytes(1)) +
                      header.baselines.size() * n_chan * header.products.size() * kValueBytes +
                      plan.baselines.size() * out_cells *
                          (kValueBytes + (plan.n_average > 1 ? kSumBytes : 0) +
                           (kind == OutputKind::measurement_set ? kSetBytes : 0));
  if (plan.memory_bytes > tool.common().max_memory_bytes)
    throw UsageError("{}",
                     memory_shortage(tool.common().max_memory_bytes, static_cast<double>(plan.memory_bytes),
                                     "this needs", "allow more"));
  return plan;
}

double run_stream(Tool& tool, const Options& options, const std::string& path) {
  const OutputKind kind = output_kind(tool, options);
  if (kind != OutputKind::measurement_set && kind != OutputKind::stream)
    throw UsageError("-o {}: a stream becomes a Measurement Set first, and that UVH5 or UVFITS",
                     tool.common().output);
  VisibilityStreamReader reader(path);
  const StreamPlan plan = plan_stream(tool, options, reader.header(), kind);
  tool.report_plan({fmt::format("{} baselines, {} channels, {} products, integrations of {}",
                                plan.in.baselines.size(), plan.in.channel_hz.size(), plan.in.products.size(),
                                format_duration(plan.in.integration_s)),
                    fmt::format("become {} baselines, {} channels, integrations of {}", plan.baselines.size(),
                                plan.out.channel_hz.size(), format_duration(plan.out.integration_s)),
                    fmt::format("memory: {}", format_bytes(static_cast<double>(plan.memory_bytes)))});
  if (tool.common().dry_run) return 0;
  tool.stage("transform");
  if (plan.in.layout.site)
    set_finest_fringe(finest_fringe_rad(plan.in.layout, plan.in.channel_hz[plan.in.channel_hz.size() / 2]));
  StreamPass pass(options, plan, tool.common().threads);
  VisibilityRecord record;
  std::unique_ptr<VisibilitySink> sink;
  std::int64_t group = 0;
  double n_vis = 0, in_group_s = 0;
  // Makes the output when there is something for it.
  const auto write = [&](std::int64_t number) {
    if (!sink) sink = make_visibility_sink(tool.common().output, plan.out, tool.common().overwrite);
    const bool whole = pass.n_added() == plan.n_average;
    sink->write(pass.finish(number), whole ? plan.out.integration_s : in_group_s);
  };
  Progress progress(tool, "reading", 0, "vis");
  while (reader.read(record)) {
    if (record.index < plan.first_index) continue;
    if (record.index >= plan.end_index) continue;  // the rest is read all the same: it is checked at its end
    const std::int64_t number = pass.group_of(record.index);
    if (pass.n_added() > 0 && number != group) write(group);
    group = number;
    pass.add(record);
    in_group_s = static_cast<double>(pass.n_added()) * plan.in.integration_s;
    n_vis += static_cast<double>(record.data.size());
    progress.update(n_vis);
  }
  if (pass.n_added() > 0) write(group);
  if (!sink) throw FailureError("{}: no usable data: no integration fits the selection", path);
  sink->commit();
  return n_vis;
}

}  // namespace apsyn::transform
