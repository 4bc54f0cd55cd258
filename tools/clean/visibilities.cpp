// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/visibilities.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/idg/settings.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/image/image.h"
#include "libcore/imaging/buffered_source.h"
#include "libcore/imaging/intervals.h"
#include "libcore/imaging/source.h"
#include "libcore/imaging/visibility_store.h"
#include "libcore/sky/projection.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"
#include "tools/clean/columns.h"
#include "tools/clean/products.h"
#include "tools/clean/region_mask.h"
#include "tools/clean/source_list.h"
#include "tools/imaging/calibration/calibrated_source.h"
#include "tools/imaging/calibration/self_calibration.h"
#include "tools/imaging/device_choice.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/group_share.h"
#include "tools/imaging/imager.h"
#include "tools/imaging/images.h"
#include "tools/imaging/major_cycles.h"
#include "tools/imaging/options.h"
#include "tools/imaging/residual_source.h"
#include "tools/imaging/residuals_on_device.h"
#include "tools/imaging/survey.h"

namespace apsyn::clean {
namespace {

/// Of an imager that makes the images of every cycle, and of the one that makes the first, with the PSF.
Imager make_imager(Tool& tool, const imaging::Options& options, ImagingSource& source, const Device& device) {
  // A block in work takes several times its bytes.
  const std::uint64_t most = max_block_bytes(device, 64'000'000);
  Imager imager{
      tool,
      options,
      source,
      planes_of(options, source.info()),
      device,
      wanted_grid_memory(options.imaging, device),
      std::clamp<std::uint64_t>(memory_for_data(tool.common().max_memory_bytes) / 16, 1'000'000, most)};
  imager.ranks = tool.ranks();
  imager.cleans = true;
  return imager;
}

std::string folder_of(const std::string& output) {
  const std::string folder = std::filesystem::path(output).parent_path();
  return folder.empty() ? "." : folder;
}

/// PSF and dirty image of one group, or the residual that an earlier run left, of data that `calibration`,
/// which may be null, first calibrates against that run's model.
void make_first_images(Imager& imager, Sky& sky, std::size_t g, ImagingSource& data, const Products& products,
                       const std::string& part, calibrate::SelfCalibration* calibration) {
  const std::size_t slot = sky.slot(g);
  if (sky.groups[g].residuals) {
    FieldImages* field = imager.ranks.root() ? &sky.images[0] : nullptr;
    if (products.resume && field != nullptr)
      take_true_model(read_true_model(products, sky.fields[0], part), slot, *field);
    make_first_images_on_device(imager, sky.groups[g], slot, products.resume, field);
    return;
  }
  std::vector<GroupImages> sums;
  std::vector<Buffer<double, 3>> models;
  if (products.resume) {
    for (const Field& field : sky.fields) models.push_back(read_true_model(products, field, part));
    std::optional<ResidualSource> residuals;
    if (calibration != nullptr)
      residuals.emplace(imager, sky.groups[g], sky.fields, *calibration, models, folder_of(products.name));
    else
      residuals.emplace(imager, sky.groups[g], sky.fields, data, models, folder_of(products.name));
    sums = make_images(imager, sky.groups[g], sky.fields, *residuals);
  } else {
    sums = make_images(imager, sky.groups[g], sky.fields, data);
  }
  if (!imager.ranks.root()) return;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    FieldImages& field = sky.images[f];
    take_sums(sums[f], imager, slot, field);
    if (products.resume) take_true_model(models[f], slot, field);
  }
}

/// Geometric mean of a beam's widths, in pixels, of every field; 0 when scales and local noise do not need
/// it.
std::vector<double> beam_widths_pixels(const Products& products, const Sky& sky,
                                       const std::vector<BandBeams>& beams,
                                       const DeconvolutionSettings& settings) {
  const bool needed = settings.algorithm == CleanAlgorithm::multiscale || settings.local_rms_beams > 0;
  std::vector<double> widths(sky.fields.size(), 0);
  for (std::size_t f = 0; needed && f < widths.size(); ++f) {
    const RestoringBeam beam =
        products.restores
            ? beams[f].parts[0]
            : restoring_beam(products, mean_psf(sky.images[f], 0, 1, products.imager.threads()).view()[0][0]);
    widths[f] = std::sqrt(beam.major_rad * beam.minor_rad) / products.imager.options.imaging.cell_rad;
  }
  return widths;
}

/// The first plane of which nothing is left within the range of uv, or no text.
std::string plane_without_weight(Imager& imager, const PreparedGroup& group) {
  // With A-terms every plane is made of all products, whose weights are the same.
  const std::size_t n = imager.aterms() ? 1 : imager.planes.size();
  std::size_t n_missing = n;
  std::vector<bool> missing(n, true);
  imager.source.rewind(group.group);
  while (const ImagingBlock* block = n_missing > 0 ? imager.source.next(imager.block_bytes) : nullptr) {
    group.weights->apply(*block, imager.threads(), imager.weighted);
    const std::size_t step = imager.weighted.extent(2);
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t i = p; missing[p] && i < imager.weighted.size(); i += step)
        if (imager.weighted.data()[i] > 0) {
          missing[p] = false;
          --n_missing;
        }
  }
  // Other processes' rows may have what these have not.
  if (imager.own_rows)
    for (std::size_t p = 0; p < n; ++p) missing[p] = min_of_ranks(missing[p] ? 1 : 0) == 1;
  const auto first = std::find(missing.begin(), missing.end(), true);
  return first == missing.end() ? "" : imager.planes[static_cast<std::size_t>(first - missing.begin())].name;
}

/// Plans every group; those without data are left out.
Sky prepare_sky(Imager& imager, const std::vector<ChannelGroup>& groups, const GroupShare& share,
                const ImageWeights* whole_band) {
  Sky sky;
  sky.share = share;
  sky.fields = fields_of(imager.options, imager.source.info());
  std::vector<PreparedGroup> prepared(groups.size());
  std::vector<std::string> missing(groups.size());
  std::vector<double> is_usable(groups.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    PreparedGroup& group = prepared[g];
    group.group = groups[g];
    if (!share.makes(g)) continue;
    group = prepare_group(imager, groups[g], sky.fields, whole_band);
    if (!group.fields.empty()) missing[g] = plane_without_weight(imager, group);
    if (!missing[g].empty()) group.fields.clear();
    is_usable[g] = group.fields.empty() ? 0 : 1;
  }
  if (share.is_shared()) {
    add_for_all(is_usable);
    sum_over_ranks(imager.beyond);
  }
  warn_of_beyond(imager, imager.beyond);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (imager.tool.common().dry_run) print_plan(imager, prepared[g], sky.fields);
    if (is_usable[g] == 0) {
      const std::string of_plane =
          imager.planes.size() > 1 && !missing[g].empty() ? " for " + missing[g] : "";
      if (groups.size() == 1 && !imager.tool.common().dry_run)
        throw FailureError(
            "{}: no usable data{}: everything is flagged, of weight 0 or outside of the uv range",
            imager.options.inputs[0], of_plane);
      log_warning("{}: no usable data{}: channel group {} at {} is left out", imager.options.inputs[0],
                  of_plane, g, format_frequency(groups[g].centre_hz()));
      continue;
    }
    sky.groups.push_back(std::move(prepared[g]));
    sky.group_numbers.push_back(g);
  }
  return sky;
}

void write_source_lists(const Products& products, const Sky& sky, const MajorCycles& cycles,
                        const DeconvolutionSettings& settings) {
  if (!products.source_list) return;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    const FieldImages& field = sky.images[f];
    const ImageInfo info = info_of(products.imager, sky.fields[f], sky.groups[0].group, {"I"});
    // Of the true sky, as images are of the one that the beam lets through.
    std::vector<ModelComponent> components = cycles.components(f);
    if (field.beam.size() > 0)
      for (ModelComponent& component : components)
        for (std::size_t i = 0; i < component.flux_jy.size(); ++i)
          component.flux_jy[i] /= field.beam(i / field.n_planes(), component.y, component.x);
    write_source_list(products.source_list_path(sky.fields[f]), components, info,
                      {field.n_planes(), field.n_y(), field.n_x()}, cycles.groups(f), settings,
                      products.overwrite);
  }
}

/// No beam is narrower than the longest baseline makes it.
double min_beam_pixels(const Imager& imager) {
  const ImagingInfo& info = imager.source.info();
  const double longest_m = imaging::longest_baseline_m(info);
  if (!(longest_m > 0) || info.channel_hz.empty()) return 0;
  constexpr double kNarrowest = 0.5;  // of wavelength over baseline
  return kNarrowest * kSpeedOfLight_m_s / info.channel_hz.back() / longest_m /
         imager.options.imaging.cell_rad;
}

/// What the program takes beside kProgramBytes.
constexpr std::uint64_t kCleanBytes = 14'000'000;

/// What a GPU needs to clean planes that are searched together: these, their PSFs and how they transform, and
/// one transform at work; twice the image's side each way.
std::uint64_t cleaning_on_device(const DeconvolutionSettings& how, std::size_t n_groups, std::size_t n_planes,
                                 double n_pixels) {
  const double together = static_cast<double>((how.join_channels ? n_groups : 1) *
                                              (how.join_polarizations ? n_planes : 1)),
               n_scales = how.algorithm != CleanAlgorithm::multiscale ? 0
                          : how.scales_pixels.empty()                 ? 12
                                                      : static_cast<double>(how.scales_pixels.size()) + 1;
  constexpr double kPlaneBytes = 40, kScaleBytes = 64, kWorkBytes = 96;
  return static_cast<std::uint64_t>(n_pixels *
                                    (kWorkBytes + kPlaneBytes * together + kScaleBytes * n_scales));
}

/// What lies in two images is found in both and taken out of the visibilities twice.
void warn_of_overlaps(const std::vector<Field>& fields, const ImagingOptions& imaging) {
  const double width_rad = imaging.cell_rad * static_cast<double>(imaging.n_x),
               height_rad = imaging.cell_rad * static_cast<double>(imaging.n_y);
  for (std::size_t a = 0; a < fields.size(); ++a)
    for (std::size_t b = a + 1; b < fields.size(); ++b) {
      const DirectionCosines apart = project(fields[a].centre, fields[b].centre);
      if (apart.n <= 0 || std::abs(apart.l) >= width_rad || std::abs(apart.m) >= height_rad) continue;
      return log_warning(
          "the images f{} and f{} overlap: each takes out of the visibilities what lies in both, so that "
          "its flux is shared between them: choose centres that are farther apart, or smaller images",
          a, b);
    }
}

/// What the sets and options say before the first visibility is read.
void report_input(const VisibilityOptions& options, const ImagingInfo& info,
                  const std::vector<Field>& fields) {
  log_info("weighting: {}", describe_weighting(options.imager.imaging));
  warn_of_far_fields(options.imager, info);
  warn_of_overlaps(fields, options.imager.imaging);
}

/// Everything that cannot be written is refused here, before any long work.
void check_outputs(const Tool& tool, const VisibilityOptions& options, const Products& products,
                   const std::vector<Field>& fields, std::size_t n_groups) {
  if (!tool.common().dry_run) check_products(products, fields, n_groups);
  check_columns(options.columns, options.imager);
  if (!tool.common().dry_run && !options.calibrate_solutions.empty())
    check_output(options.calibrate_solutions, tool.common().overwrite);
}

void report_store(const VisibilityStore& store, const std::string& folder) {
  if (store.file_bytes() == 0) return;
  log_info("{} of visibilities are kept in memory, {} in a temporary file in {}",
           format_bytes(static_cast<double>(store.bytes())),
           format_bytes(static_cast<double>(store.file_bytes())), folder);
}

/// Dirty images and PSFs of all groups, in which the first process cleans.
void start_images(Imager& imager, Sky& sky, ImagingSource& data, const Products& products,
                  std::size_t n_groups, calibrate::SelfCalibration* calibration) {
  if (imager.ranks.root())
    for (std::size_t f = 0; f < sky.fields.size(); ++f) sky.images.emplace_back(imager, sky.n_slots());
  for (const GroupRound& round : rounds_of(sky)) {
    for (std::size_t g = round.first; g < round.end; ++g)
      if (sky.makes(g))
        make_first_images(imager, sky, g, data, products, part_name(sky.group_numbers[g], n_groups),
                          calibration);
    for (std::size_t g = round.first; g < round.end; ++g) hand_in_first_images(sky, g, products.resume);
  }
  for (FieldImages& field : sky.images)
    for_pixels(imager.threads(), field.residual.size(), [&](std::size_t first, std::size_t last) {
      std::copy(field.residual.data() + first, field.residual.data() + last, field.dirty.data() + first);
    });
  if (calibration != nullptr && products.resume) calibration->end_entry();
}

/// The first process: major cycles, then images and source lists.
void clean_sky(Imager& imager, Sky& sky, ImagingSource& data, const Products& products,
               const DeconvolutionSettings& how, const Buffer<std::uint8_t, 2>& mask, std::size_t max_cycles,
               const std::vector<ChannelGroup>& groups, calibrate::SelfCalibration* calibration) {
  const auto beams = products.restores ? find_beams(products, sky) : std::vector<BandBeams>();
  DeconvolutionSettings settings = how;
  settings.device = imager.device;
  MajorCycles cycles(imager, sky, data, settings, beam_widths_pixels(products, sky, beams, how), mask,
                     folder_of(products.name));
  const LoopReport report = cycles.run(max_cycles, calibration);
  log_info("{} components in {} major cycles", report.n_components, report.n_cycles);
  write_source_lists(products, sky, cycles, how);
  write_products(products, sky, beams, groups, split_channels(data.info(), 1)[0]);
}

}  // namespace

ImageMemory plan_image_memory(const Imager& imager, const DeconvolutionSettings& settings,
                              std::size_t n_groups, std::size_t n_fields) {
  const PlaneShape shape{imager.planes.size(), imager.options.imaging.n_y, imager.options.imaging.n_x};
  const DeconvolverMemory deconvolver =
      Deconvolver::memory(settings, n_groups, shape, shape.ny, shape.nx, min_beam_pixels(imager));
  const std::uint64_t field_bytes = n_fields * FieldImages::bytes(imager, n_groups);
  ImageMemory memory;
  memory.kept_bytes =
      kCleanBytes + field_bytes + std::min(kKeptBytes, field_bytes) + n_fields * deconvolver.kept_bytes;
  if (!imager.options.imaging.weigh_groups_together)  // of the groups that wait
    memory.kept_bytes +=
        (n_groups - 1) * static_cast<std::uint64_t>(ImageWeights::bytes_for(shape.nx, shape.ny) / 2);
  // The images of one product and of its model, or a cycle of one field's deconvolver.
  const std::uint64_t n_pixels = shape.n_pol * shape.ny * shape.nx;
  memory.between_bytes =
      std::max(deconvolver.cycle_bytes - deconvolver.kept_bytes,
               2 * sizeof(double) * n_pixels +
                   kFilesTogether * fits_writing_bytes(n_pixels, sizeof(float), imager.threads()));
  return memory;
}

namespace {

/// With --calibrate: the sets but for their visibilities, and what is to be done with it.
struct CalibrationPlan {
  calibrate::CalibratedSet set;
  calibrate::SelfCalibrationSettings settings;
  std::vector<PlaneRecipe> planes;  ///< that are gridded, out of the set's products

  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const calibrate::TermOptions& entry : settings.entries)
      lines.push_back(fmt::format("calibrate {}: {} intervals", label_of(entry),
                                  calibrate::make_slots(set.integrations, entry.interval_s).size()));
    return lines;
  }
};

std::optional<CalibrationPlan> plan_calibration(const Tool& tool, const VisibilityOptions& options) {
  if (options.calibrate.empty()) return std::nullopt;
  const ImagingOptions& imaging = options.imager.imaging;
  CalibrationPlan plan;
  plan.set = calibrate::read_calibrated_set(options.imager.inputs, imaging);
  plan.settings.entries = options.calibrate;
  plan.settings.min_uv_lambda = imaging.min_uv_lambda;
  plan.settings.max_uv_lambda = imaging.max_uv_lambda;
  plan.settings.through_aterms = !imaging.aterms.empty();
  plan.settings.sums_bytes =
      std::min(plan.settings.sums_bytes, memory_for_data(tool.common().max_memory_bytes) / 8);
  plan.settings.n_threads = tool.common().threads;
  plan.settings.ranks = tool.ranks();
  plan.planes = plan.settings.through_aterms ? correlation_planes(plan.set.products)
                                             : parse_planes(imaging.planes, plan.set.products);
  return plan;
}

void write_gains(Tool& tool, const VisibilityOptions& options,
                 const calibrate::SelfCalibration& calibration) {
  if (options.calibrate_solutions.empty() || !tool.ranks().root()) return;
  tool.stage("write");
  SolutionWriteOptions settings;
  settings.overwrite = tool.common().overwrite;
  write_solutions(options.calibrate_solutions, calibration.solutions(tool.provenance()), settings);
}

/// Cleans what `options` select, interval `interval` of `n_intervals`, and returns the number of visibilities
/// that were gridded; nothing where there are no usable data.
std::optional<double> clean_interval(Tool& tool, const VisibilityOptions& options,
                                     const DeconvolutionOptions& how, std::size_t interval,
                                     std::size_t n_intervals) {
  tool.stage("open");
  const auto locks = lock_columns(tool, options.columns, options.imager);
  ImagingSelection selection = selection_of(options.imager.imaging, tool.common().threads);
  selection.products = !options.calibrate.empty();
  const std::optional<CalibrationPlan> plan = plan_calibration(tool, options);
  BufferedSource input(open_imaging_source(options.imager.inputs, selection), 0);
  std::optional<calibrate::CalibratedSource> planes;  // of the products
  if (plan)
    planes.emplace(input, plan->planes, calibrate::hands_of(plan->set.products, plan->set.path),
                   plan->set.integrations, plan->set.antenna_of_station, nullptr, tool.common().threads);
  ImagingSource& source = planes ? static_cast<ImagingSource&>(*planes) : input;
  const auto groups = split_channels(source.info(), options.imager.imaging.channels_out);
  const auto fields = fields_of(options.imager, source.info());
  report_input(options, source.info(), fields);
  warn_of_threshold_unit(how, source.info().flux_unit);
  constexpr double kRounds = 8;  // a few major cycles, each of which predicts and grids
  const auto n_pixels = static_cast<double>(options.imager.imaging.n_x * options.imager.imaging.n_y *
                                            planes_of(options.imager, source.info()).size());
  const Device device = choose_device(tool, {options.imager.inputs, n_pixels, kRounds});
  tool.start_device(device);
  warn_of_sub_images(how, device);
  const imaging::Options with_psf = options.imager;
  imaging::Options without_psf = options.imager;
  without_psf.no_psf = true;
  Imager planner = make_imager(tool, with_psf, source, device);
  planner.calibrates = plan.has_value();
  const GroupShare share = share_groups(planner, groups.size());
  planner.own_rows = !share.is_shared() && takes_own_rows(planner);
  const std::string name = tool.common().output + interval_name(interval, n_intervals);
  Products products{planner,         name,
                    how.resume,      tool.common().overwrite || how.resume,
                    how.restores(),  how.circular_beam,
                    given_beam(how), how.source_list};
  // The outputs of all intervals are checked before the first of them is cleaned.
  for (std::size_t k = 0; interval == 0 && k < n_intervals; ++k) {
    products.name = tool.common().output + interval_name(k, n_intervals);
    check_outputs(tool, options, products, fields, groups.size());
  }
  products.name = name;
  const Buffer<std::uint8_t, 2> mask = read_mask(how.mask, options.imager.imaging, fields[0].centre);

  tool.stage("read");
  const std::vector<ChannelGroup> own_groups = share.own(groups);
  ImageMemory images = plan_image_memory(
      planner, how.settings, tool.ranks().root() ? groups.size() : own_groups.size(), fields.size());
  if (plan)
    images.kept_bytes += calibrate::SelfCalibration::bytes(plan->set, plan->settings, groups.size(),
                                                           plan->planes.size(), planner.block_bytes);
  const std::uint64_t memory = memory_for_data(tool.common().max_memory_bytes, options.imager.inputs.size());
  // The other two thirds are for gridding and predicting, which plan with what is left.
  VisibilityStore store(input, own_groups,
                        {(memory - std::min(memory, images.kept_bytes)) / 3, planner.block_bytes,
                         folder_of(name), tool.common().threads});
  input.close();
  return_freed_memory();
  report_store(store, folder_of(name));

  std::optional<calibrate::SelfCalibration> calibration;
  if (plan) calibration.emplace(store, plan->set, plan->settings, plan->planes, groups);
  ImagingSource& data = calibration ? static_cast<ImagingSource&>(calibration->corrected()) : store;
  Imager first = make_imager(tool, with_psf, data, device),
         later = make_imager(tool, without_psf, data, device);
  first.calibrates = later.calibrates = calibration.has_value();
  first.own_rows = later.own_rows = planner.own_rows;
  if (share.is_shared()) first.ranks = later.ranks = {};
  first.beside_on_device = later.beside_on_device =
      cleaning_on_device(how.settings, groups.size(), first.planes.size(),
                         static_cast<double>(with_psf.imaging.n_x * with_psf.imaging.n_y));
  first.whole_band_bytes = images.kept_bytes;
  first.between_bytes = images.between_bytes;
  if (store.file_bytes() > 0) first.filed_bytes = store.bytes() + store.file_bytes();
  const auto whole_band = weights_of_all(first, groups, share);
  Sky sky = prepare_sky(first, groups, share, whole_band.get());
  if (const std::string cycles = describe_cycles(later, sky.groups); !cycles.empty() && !sky.groups.empty())
    tool.common().dry_run ? tool.print(cycles) : log_verbose("{}", cycles);
  if (plan) tool.report_plan(plan->describe());
  if (tool.common().dry_run) return 0;
  if (sky.groups.empty()) return std::nullopt;
  if (options.max_cycles > 0) keep_on_device(first, sky.groups, sky.fields, data);
  start_images(first, sky, data, products, groups.size(), calibration ? &*calibration : nullptr);

  later.weighted = std::move(first.weighted);
  later.block_bytes = first.block_bytes;
  if (tool.ranks().root())
    clean_sky(later, sky, data, products, how.settings, mask, options.max_cycles, groups,
              calibration ? &*calibration : nullptr);
  else
    follow_major_cycles(later, sky, data, folder_of(name), calibration ? &*calibration : nullptr);
  if (calibration) write_gains(tool, options, *calibration);
  for (PreparedGroup& group : sky.groups) group.residuals.reset();  // columns are predicted on the GPU, too
  write_columns(tool, device, options.columns, options.imager, products, sky, groups.size());
  double n_gridded = first.n_gridded + later.n_gridded;
  if (share.is_shared()) add_for_all({&n_gridded, 1});
  return n_gridded;
}

/// Distinct times of a Measurement Set, which --interval counts.
std::int64_t count_times(const std::string& path) {
  MsSelection all;
  all.autos = true;
  return static_cast<std::int64_t>(MeasurementSetReader(path, all).integrations().size());
}

/// The intervals of --intervals-out, as --interval takes them: of as equal a number of integrations as can
/// be.
std::vector<std::pair<std::int64_t, std::int64_t>> split_intervals(const imaging::Options& options) {
  const std::int64_t first = options.imaging.first_interval;
  if (options.imaging.intervals_out == 1) return {{first, options.imaging.n_intervals}};
  std::int64_t n_times = 0;
  for (const std::string& path : options.inputs) {
    if (!std::filesystem::is_directory(path))
      throw UsageError(
          "--intervals-out: {} is no Measurement Set, and a stream is read once: make a set of it with "
          "transform",
          path);
    const std::int64_t n = count_times(path);
    if (n_times != 0 && n != n_times)
      throw UsageError("--intervals-out: {} has {} integrations, {} has {}: clean them one after the other",
                       path, n, options.inputs[0], n_times);
    n_times = n;
  }
  const std::int64_t left = std::max<std::int64_t>(0, n_times - first);
  const std::int64_t n = options.imaging.n_intervals < 0 ? left : std::min(left, options.imaging.n_intervals);
  std::vector<std::pair<std::int64_t, std::int64_t>> intervals;
  for (const TimeInterval& part :
       split_integrations(static_cast<std::size_t>(n), options.imaging.intervals_out))
    intervals.emplace_back(first + static_cast<std::int64_t>(part.first), static_cast<std::int64_t>(part.n));
  return intervals;
}

}  // namespace

void clean_visibilities(Tool& tool, const VisibilityOptions& options, const DeconvolutionOptions& how) {
  check_visibilities(tool, options);
  check_calibration(options);
  keep_little_freed_memory(8 << 20);  // each cycle takes what is smaller again
  const auto intervals = split_intervals(options.imager);
  std::optional<double> n_gridded;
  for (std::size_t k = 0; k < intervals.size(); ++k) {
    VisibilityOptions own = options;
    std::tie(own.imager.imaging.first_interval, own.imager.imaging.n_intervals) = intervals[k];
    if (intervals.size() > 1) log_info("interval {} of {}", k, intervals.size());
    const std::optional<double> n = clean_interval(tool, own, how, k, intervals.size());
    if (tool.common().dry_run) {
      if (intervals.size() > 1)
        tool.print(fmt::format("the same for each of {} intervals", intervals.size()));
      return;
    }
    if (n)
      n_gridded = n_gridded.value_or(0) + *n;
    else if (intervals.size() > 1)
      log_warning("{}: no usable data: interval {} is left out", options.imager.inputs[0], k);
  }
  if (!n_gridded)
    throw FailureError("{}: no usable data: everything is flagged, of weight 0 or outside of the uv range",
                       options.imager.inputs[0]);
  if (tool.ranks().root()) tool.report_rate(*n_gridded, "vis");
}

}  // namespace apsyn::clean
