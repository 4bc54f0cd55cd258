// SPDX-License-Identifier: GPL-3.0-or-later
// idg-grid: Measurement Sets or a visibility stream -> NAME-dirty.fits and NAME-psf.fits.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/idg/settings.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"
#include "libcore/imaging/buffered_source.h"
#include "libcore/imaging/intervals.h"
#include "libcore/imaging/source.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "libcore/visibility/imaging.h"
#include "tools/idg-grid/options.h"
#include "tools/idg-grid/outputs.h"
#include "tools/idg-grid/time_cubes.h"
#include "tools/imaging/device_choice.h"
#include "tools/imaging/field.h"
#include "tools/imaging/imager.h"
#include "tools/imaging/images.h"
#include "tools/imaging/intervals/images.h"
#include "tools/imaging/intervals/kept_images.h"
#include "tools/imaging/intervals/plan.h"
#include "tools/imaging/kept_on_device.h"
#include "tools/imaging/options.h"
#include "tools/imaging/survey.h"

using namespace apsyn;
using namespace apsyn::idg_grid;

namespace {

/// "channel group 2 at 150 MHz", "interval 17", or both, for messages.
std::string describe_part(std::size_t group, const std::vector<ChannelGroup>& groups, std::size_t interval,
                          std::size_t n_intervals) {
  const std::string of_band = groups.size() == 1 ? ""
                                                 : fmt::format("channel group {} at {}", group,
                                                               format_frequency(groups[group].centre_hz()));
  if (n_intervals == 1) return of_band;
  return fmt::format("interval {}{}{}", interval, of_band.empty() ? "" : " of ", of_band);
}

/// The images of the whole band, [interval][field]; those of intervals without data have no weights.
void write_whole_band(const Imager& imager, const std::vector<Field>& fields,
                      const std::vector<std::vector<GroupImages>>& images, const TimeAxis& axis) {
  const ChannelGroup band = split_channels(imager.source.info(), 1)[0];
  const std::size_t n_intervals = images.size();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::string part = fields[f].suffix + "-MFS";
    std::optional<TimeCubes> cube;
    if (imager.options.time_cube) cube.emplace(imager, part, fields[f], band, n_intervals, axis);
    for (std::size_t k = 0; k < n_intervals; ++k) {
      if (images[k][f].weight_sum.empty()) continue;
      if (cube)
        cube->write(k, images[k][f]);
      else
        write_images(imager, interval_name(k, n_intervals) + part, fields[f], images[k][f], band,
                     imager.threads());
    }
    if (cube) cube->commit();
  }
}

/// --psf-interval: the PSF of one interval for all of them, with the weights of the group's images.
void write_one_psf(Imager& imager, const PreparedGroup& images, const std::vector<Field>& fields,
                   const TimeInterval& interval, const std::vector<double>& times_mjd_s) {
  PreparedGroup group = prepare_group(imager, images.group, fields, images.weights);
  const std::span<const TimeInterval> alone(&interval, 1);
  if (!group.fields.empty()) plan_intervals(imager, group, alone);
  if (imager.tool.common().dry_run) return print_plan(imager, group, fields, alone);
  bool any = false;
  const auto take = [&](std::size_t, std::vector<GroupImages>& psfs) {
    any = psfs[0].weight_sum[0] > 0;
    for (std::size_t f = 0; any && imager.ranks.root() && f < fields.size(); ++f) {
      psfs[f].times = times_of_interval(imager.source.info(), interval, times_mjd_s);
      write_images(imager, fields[f].suffix, fields[f], psfs[f], images.group, imager.threads());
    }
  };
  if (!group.fields.empty()) make_interval_images(imager, group, fields, imager.source, alone, take);
  if (!any)
    throw FailureError("{}: --psf-interval {}: it has no usable data: choose another one",
                       imager.options.inputs[0], *imager.options.psf_interval);
}

void run(Tool& tool, const Options& asked) {
  check_options(tool, asked);
  // The PSF of one interval is made by itself, like --psf-only.
  Options options = asked, of_psf = asked;
  if (asked.psf_interval) options.no_psf = of_psf.psf_only = true, options.psf_size = 0;
  tool.stage("open");
  const double n_field_pixels = static_cast<double>(gridded_n_x(options) * gridded_n_y(options));
  const EarlyDeviceStart early(tool, {options.inputs, n_field_pixels}, options.inputs.size());
  const std::uint64_t memory = memory_for_data(tool.common().max_memory_bytes, options.inputs.size());
  BufferedSource source(
      open_imaging_source(options.inputs, selection_of(options.imaging, tool.common().threads)), memory / 4);
  const auto groups = split_channels(source.info(), options.imaging.channels_out);
  const auto fields = fields_of(options, source.info());
  log_info("weighting: {}", describe_weighting(options.imaging));
  warn_of_far_fields(options, source.info());
  const double n_pixels = n_field_pixels * static_cast<double>(planes_of(options, source.info()).size());
  const Device device = choose_device(tool, {options.inputs, n_pixels});
  tool.start_device(device);
  Imager imager{tool,
                options,
                source,
                planes_of(options, source.info()),
                device,
                wanted_grid_memory(options.imaging, device),
                std::clamp<std::uint64_t>(memory / 16, 1'000'000, max_block_bytes(device, 512'000'000))};
  Imager psf_imager{tool, of_psf, source, imager.planes, device, imager.grid_memory, imager.block_bytes};
  imager.ranks = psf_imager.ranks = tool.ranks();
  imager.own_rows = psf_imager.own_rows = takes_own_rows(imager);
  imager.plane_source = psf_imager.plane_source = source.plane_source();
  for (Imager* each : {&imager, &psf_imager}) each->between_bytes = writing_bytes(*each, fields.size());
  const std::size_t n_intervals = options.imaging.intervals_out;
  if (groups.size() > 1)
    imager.whole_band_bytes = sizeof(double) * n_intervals * fields.size() *
                              (imager.n_planes() + (imager.aterms() ? 1 : 0)) * gridded_n_x(options) *
                              gridded_n_y(options);
  std::vector<double> times_mjd_s;
  TimeAxis axis;
  std::vector<TimeInterval> intervals;  // empty: images are of all times
  const auto find_intervals = [&](const PreparedGroup* read) {
    times_mjd_s = read != nullptr && read->kept
                      ? times_of_runs(read->noted.runs)
                      : integration_times(source, split_channels(source.info(), 1)[0], imager.block_bytes);
    intervals = split_times(times_mjd_s, n_intervals);
    if (options.time_cube) axis = time_axis(intervals, times_mjd_s);
  };
  if (asked.psf_interval) imager.keeps_intervals = false;  // it reads all again
  const bool times_come_with_survey = n_intervals > 1 && keeps_intervals(imager, fields);
  if (n_intervals > 1 && !times_come_with_survey) find_intervals(nullptr);
  if (!tool.common().dry_run) check_outputs(imager, fields, groups.size(), n_intervals);
  if (!tool.common().dry_run && asked.psf_interval) check_outputs(psf_imager, fields, 1, 1);
  const auto shared_weights = weights_of_all(imager, groups);

  std::atomic<bool> any_images = false;
  std::vector<std::vector<GroupImages>> whole_band(n_intervals);  // [interval][field]
  for (std::vector<GroupImages>& of_interval : whole_band) of_interval.resize(fields.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    PreparedGroup group = prepare_group(imager, groups[g], fields, shared_weights.get());
    if (times_come_with_survey && !group.fields.empty()) find_intervals(&group);
    if (g + 1 == groups.size()) warn_of_beyond(imager, imager.beyond);
    if (!intervals.empty() && !group.fields.empty()) plan_intervals(imager, group, intervals);
    if (tool.common().dry_run) {
      print_plan(imager, group, fields, intervals);
      if (asked.psf_interval)
        write_one_psf(psf_imager, group, fields, intervals[*asked.psf_interval], times_mjd_s);
      continue;
    }
    // Of an interval; several at a time.
    std::vector<std::uint8_t> has_data(n_intervals, 0);
    const unsigned n_threads = group.intervals.gridder_threads(tool.common().threads);
    std::deque<TimeCubes> cubes;  // [field]
    if (options.time_cube && tool.ranks().root() && !group.fields.empty())
      for (const Field& field : fields)
        cubes.emplace_back(imager, field.suffix + part_name(g, groups.size()), field, groups[g], n_intervals,
                           axis);
    const auto take = [&](std::size_t k, std::vector<GroupImages>& images) {
      if (!(images[0].weight_sum[0] > 0)) return;
      has_data[k] = 1;
      if (!tool.ranks().root()) return;
      any_images = true;
      for (std::size_t f = 0; f < fields.size(); ++f) {
        if (!intervals.empty()) images[f].times = times_of_interval(source.info(), intervals[k], times_mjd_s);
        if (options.time_cube)
          cubes[f].write(k, images[f]);
        else
          write_images(imager, interval_name(k, n_intervals) + fields[f].suffix + part_name(g, groups.size()),
                       fields[f], images[f], groups[g], n_threads);
        if (groups.size() > 1) add_to(whole_band[k][f], images[f]);
      }
    };
    if (group.fields.empty()) {
      // No usable data in any interval.
    } else if (!intervals.empty()) {
      make_interval_images(imager, group, fields, source, intervals, take);
    } else {
      std::vector<GroupImages> images = make_images(imager, group, fields, source);
      tool.stage("write");
      if (g + 1 == groups.size()) {
        group.kept.reset();
        tool.end_device(device);
      }
      take(0, images);
    }
    const std::string fate = options.time_cube ? "blank" : "left out";
    for (std::size_t k = 0; k < n_intervals && groups.size() * n_intervals > 1; ++k)
      if (!has_data[k])
        log_warning("{}: no usable data: {} is {}", options.inputs[0],
                    describe_part(g, groups, k, n_intervals), fate);
    if (std::find(has_data.begin(), has_data.end(), 1) != has_data.end())
      for (TimeCubes& cube : cubes) cube.commit();
    if (asked.psf_interval && !group.fields.empty())
      write_one_psf(psf_imager, group, fields, intervals[*asked.psf_interval], times_mjd_s);
  }
  if (tool.common().dry_run || !tool.ranks().root()) return;
  if (!any_images)
    throw FailureError("{}: no usable data: everything is flagged, of weight 0 or outside of the uv range",
                       options.inputs[0]);
  if (groups.size() > 1) write_whole_band(imager, fields, whole_band, axis);
  tool.report_rate(imager.n_gridded, "vis");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("idg-grid", "make dirty images and point spread functions from visibilities");
  Options options;
  declare(tool, options);
  tool.use_ranks(Tool::RankUse::shared);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
