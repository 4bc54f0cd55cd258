// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/imager.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/settings.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/cli/tool.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/kept_on_device.h"
#include "tools/imaging/open_images.h"
#include "tools/imaging/options.h"
#include "tools/imaging/rank_share.h"

namespace apsyn::imaging {
namespace {

/// Memory of what is done to a block beyond reading it. With intervals of time it is done to the rows of each
/// by itself, copied, as many at a time as there are threads; only the survey looks at all rows.
std::uint64_t block_work_bytes(const Imager& imager, const Survey& found) {
  constexpr double kUneven = 1.25;  // intervals of as many integrations have different numbers of rows
  constexpr std::uint64_t kSurveyedRow = 80;
  const BlockSizes& blocks = found.blocks;
  const std::size_t n_intervals = imager.cleans ? 1 : imager.options.imaging.intervals_out;
  if (n_intervals == 1) return blocks.work_bytes();
  const double at_once = kUneven * imager.threads() * found.n_rows_read() / static_cast<double>(n_intervals),
               share =
                   std::min(1.0, at_once / static_cast<double>(std::max<std::uint64_t>(1, blocks.n_rows)));
  return std::max(
      blocks.n_rows * kSurveyedRow,
      static_cast<std::uint64_t>(share * static_cast<double>(blocks.work_bytes() + blocks.block_bytes())));
}

/// Bytes needed besides the gridders: visibilities that are kept or being worked on, weights, and the program
/// itself.
std::uint64_t bytes_beside_gridders(const Imager& imager, const PreparedGroup& own) {
  const BlockSizes& blocks = own.found.blocks;
  // Copies of a block: two when visibilities are not kept (one read ahead, one in use), one when they come
  // from a file, and one for residuals.
  std::uint64_t n_copies = imager.cleans ? 1 : 0;
  if (imager.source.bytes() == 0)
    n_copies += 2;
  else if (imager.filed_bytes > 0)
    n_copies += 1;
  // Fragmentation: malloc() loses memory between the arrays of blocks from a file. 4 to 12 MB of 27 MB were
  // measured.
  const std::uint64_t lost = std::min<std::uint64_t>(10'000'000, imager.filed_bytes / 2);
  return program_bytes(imager.options.inputs.size()) + own.weights->bytes() + lost +
         n_copies * blocks.block_bytes() + block_work_bytes(imager, own.found) + imager.source.bytes() +
         imager.whole_band_bytes + kept_row_bytes(own.noted.rows);
}

/// Memory that gridding residuals takes in addition to other_bytes when they are predicted at the same time.
std::uint64_t predicting_bytes(const Imager& imager, const PreparedGroup& own) {
  IdgSetup gridding = imager.setup();
  gridding.psf = PsfPlane::none;
  std::uint64_t bytes = 0;
  for (std::size_t f = 0; f < own.fields.size(); ++f)
    bytes += gridder_memory(own.fields[f].plan, gridding).bytes(own.n_layers) +
             degridder_memory(own.fields[f].plan, prediction_setup(imager))
                 .bytes(predicted_layers(imager, own, f).n);
  return bytes;
}

/// Memory of a run. `unused`: memory of the fields' gridders, one of each, that they never touch.
std::uint64_t run_bytes(const Imager& imager, const PreparedGroup& own, std::uint64_t unused) {
  std::uint64_t bytes =
      own.intervals.n_open > 0
          ? own.intervals.bytes - own.intervals.n_open * unused
          : std::max(own.passes.host.bytes(own.layers_per_pass()) - unused, own.between_bytes);
  if (imager.cleans && predicts_while_gridding(imager, own))
    bytes = std::max(bytes, predicting_bytes(imager, own) - unused);
  bytes += own.other_bytes;
  if (imager.calibrates) {
    const std::uint64_t kept = plan_kept(imager, own).bytes;
    if (kept <= imager.tool.common().max_memory_bytes) bytes = std::max(bytes, kept);
  }
  return bytes;
}

/// A few pixels across an image, that tell whether stations respond alike.
AtermGrid probe_grid(const Field& field, const ImageGeometry& image) {
  constexpr std::size_t kSide = 4;
  const double step_rad = image.cell_rad / kSide;
  return {field.centre, kSide, step_rad * static_cast<double>(image.n_x),
          step_rad * static_cast<double>(image.n_y)};
}

/// Counts the slots of A-terms that baselines share, for a plan of a CPU: that of a GPU does not depend on
/// them.
void count_slots(const Imager& imager, const ChannelGroup& group, const AtermGrid& probe, const Survey& found,
                 AtermScreens& screens, IdgWorkload& work) {
  if (imager.device.kind != Device::Kind::cpu) return;
  BlockTimes all{INFINITY, -INFINITY};
  for (const BlockTimes& block : found.blocks.times) {
    all.min_mjd_s = std::fmin(all.min_mjd_s, block.min_mjd_s);
    all.max_mjd_s = std::fmax(all.max_mjd_s, block.max_mjd_s);
  }
  const std::vector<double> channel_hz = channels_of(imager, group);
  if (!std::isfinite(all.max_mjd_s - all.min_mjd_s) || channel_hz.empty()) return;
  const auto slots = screens.count_shared_slots(probe, all.min_mjd_s, all.max_mjd_s, channel_hz);
  const double n_intervals = work.is_interval ? static_cast<double>(imager.options.imaging.intervals_out) : 1;
  work.n_row_slots = std::ceil(static_cast<double>(slots.n_row_slots) / n_intervals);
  work.n_chan_slots = static_cast<double>(slots.n_chan_slots);
}

/// What gridding a field's blocks would do.
struct BlockCounts {
  double n_subgrids = 0;         ///< of all blocks
  std::size_t max_subgrids = 0;  ///< of one block
};

/// `intervals`: empty where images are of all times.
BlockCounts count_blocks(Imager& imager, PreparedGroup& prepared, std::size_t f, const Field& field,
                         Gridder& gridder, std::span<const TimeInterval> intervals) {
  BlockCounts counts;
  BlockMover move;
  const auto count = [&](const ImagingBlock& block) {
    prepared.weights->apply(block, imager.threads(), imager.weighted);
    GridBlock whole = move(block, imager.weighted, field);
    if (imager.options.psf_only) whole.data = {};
    prepared.fields[f].for_each_part(block, whole, [&](const GridBlock& part) {
      const std::size_t n = gridder.count(part).n_subgrids;
      counts.n_subgrids += static_cast<double>(n);
      counts.max_subgrids = std::max(counts.max_subgrids, n);
    });
  };
  std::vector<std::size_t> row;
  ImagingBlock rows;
  for_each_block(imager, prepared.group, [&](const ImagingBlock& block) {
    if (intervals.empty()) return count(block);
    const BlockTimes times = times_of_block(block);
    for (const TimeInterval& interval : intervals) {
      find_rows(block, times, interval, row);
      if (row.empty()) continue;
      copy_rows(block, row, rows);
      count(rows);
    }
  });
  return counts;
}

void print_field(Imager& imager, const PreparedGroup& prepared, std::size_t f, const BlockCounts& counts) {
  const FieldGridder& own = prepared.fields[f];
  for (const std::string& line : own.describe()) imager.tool.print(line);
  const double n_visibilities = prepared.found.n_visibilities;
  if (own.planes) return imager.tool.print(fmt::format("{:.0f} visibilities", n_visibilities));
  const IdgPlan& plan = own.plan;
  const std::size_t layers = prepared.passes.layers, passes = (plan.n_layers + layers - 1) / layers;
  imager.tool.print(fmt::format("{:.0f} visibilities, {:.0f} subgrids of {:.0f} each, {} layers in {} pass{}",
                                n_visibilities, counts.n_subgrids,
                                n_visibilities / std::max(1.0, counts.n_subgrids), plan.n_layers, passes,
                                passes == 1 ? "" : "es"));
}

/// Grids the blocks of `source`, in as many passes as the layers take, and sums their weights.
void grid_blocks(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields, ImagingSource& source,
                 OpenImages& open) {
  Progress progress(imager.tool, "gridding", own.found.n_visibilities * static_cast<double>(own.n_passes()),
                    "vis");
  BlockMover move;
  double done = 0;
  for (std::size_t first = 0; first < own.n_layers; first += own.layers_per_pass()) {
    open.begin_pass(own, first);
    source.rewind(own.group);
    while (const ImagingBlock* block = source.next(imager.block_bytes)) {
      imager.tool.stage("grid");
      open.add(imager, own, fields, *block, imager.weighted, move);
      progress.update(done += imager.rows_for_each() *
                              static_cast<double>(block->data.extent(0) * block->data.extent(1)));
    }
    imager.tool.stage("layers");
    open.end_pass();
    imager.tool.stage("grid");
  }
}

}  // namespace

IdgSetup prediction_setup(const Imager& imager) {
  IdgSetup setup{.n_data_planes = imager.n_data_planes(), .n_threads = imager.threads()};
  std::vector<std::string> names;
  for (const PlaneRecipe& plane : imager.planes) names.push_back(plane.name);
  if (imager.aterms()) predict_through_aterms(setup, names, imager.options.inputs[0]);
  return setup;
}

DegridDemand prediction_demand(const Imager& imager, const PreparedGroup& own) {
  const ImageGeometry& image = own.fields[0].plan.image;
  const std::uint64_t most = imager.tool.common().max_memory_bytes,
                      image_bytes = sizeof(double) * imager.n_data_planes() * image.n_x * image.n_y;
  return {.grid_memory = imager.grid_memory,
          .beside_bytes =
              2 * image_bytes + (imager.aterms() ? memory_for_data(most) / (8 * own.fields.size()) : 0),
          .other_bytes = own.other_bytes,
          .max_bytes = most,
          .n_visibilities = own.found.n_visibilities};
}

void plan_passes(Imager& imager, PreparedGroup& own) {
  const std::uint64_t most = imager.tool.common().max_memory_bytes;
  own.passes = place_passes(imager, own.group, own.fields);
  const std::size_t n_layers = own.passes.layers;
  const auto layers = [&] {
    own.other_bytes = bytes_beside_gridders(imager, own);
    own.between_bytes = std::max(imager.between_bytes, own.weights->finish_bytes());
    for (const FieldGridder& field : own.fields)
      if (imager.cleans)
        own.between_bytes =
            std::max(own.between_bytes, place_degridder(imager.device, field.plan, prediction_setup(imager),
                                                        prediction_demand(imager, own))
                                            .memory.bytes(1));
    const std::uint64_t left = most - std::min(most, own.other_bytes);
    const std::size_t fit = left < own.between_bytes ? 0 : layers_within(own.passes.host, left, n_layers);
    return imager.ranks.size == 1 ? fit : min_of_ranks(fit);
  };
  own.passes.layers = layers();
  if (own.passes.layers == 0) {
    constexpr std::uint64_t kSmallBlock = 1'000'000;
    imager.block_bytes = kSmallBlock;
    imager.source.keep_none();
    own.found.blocks = {};
    for_each_block(imager, own.group,
                   [&](const ImagingBlock& block) { own.found.blocks.add(block, block.data.extent(2)); });
    own.passes.layers = layers();
  }
  if (own.passes.layers > 0) return;
  const bool one = own.fields.size() == 1;
  throw UsageError(
      "{}",
      memory_shortage(
          most, static_cast<double>(std::max(own.passes.host.bytes(1), own.between_bytes) + own.other_bytes),
          one ? "this image needs" : "these images need",
          one ? "allow more, or make it smaller" : "allow more, or make them smaller"));
}

PreparedGroup prepare_group(Imager& imager, const ChannelGroup& group, const std::vector<Field>& fields,
                            const ImageWeights* whole_band) {
  const ImagingOptions& wanted = imager.options.imaging;
  PreparedGroup own;
  own.group = group;
  own.weights = whole_band;
  imager.tool.stage("weights");
  if (whole_band == nullptr) {
    own.own_weights = make_weights(imager);
    own.weights = own.own_weights.get();
  }
  const std::uint64_t block_bytes = imager.block_bytes;
  const BeyondGrid beyond = imager.beyond;
  own.kept = keep_while_surveying(imager, fields);
  std::optional<Survey> found;
  if (own.kept) found = survey_keeping(imager, group, fields, own.own_weights.get(), *own.kept, own.noted);
  if (!found) {
    own.kept.reset();
    own.noted = {};
    imager.block_bytes = block_bytes;
    found = survey(imager, group, fields, own.own_weights.get());
  }
  own.found = std::move(*found);
  if (imager.own_rows) {
    own.found.sum_over_ranks();
    if (own.own_weights) sum_over_ranks(*own.own_weights);
  }
  if (own.found.n_visibilities == 0) return own;
  // Plans are made by one thread, weights meanwhile by the others.
  std::future<void> finished;
  if (own.own_weights) {
    imager.beyond.add(own.own_weights->beyond());
    finished = std::async(imager.threads() > 1 ? std::launch::async : std::launch::deferred,
                          [&] { own.own_weights->finish(imager.threads()); });
  }

  imager.tool.stage("plan");
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const ImageGeometry image{gridded_n_x(imager.options), gridded_n_y(imager.options), wanted.cell_rad};
    std::unique_ptr<AtermScreens> screens = open_screens(imager);
    IdgWorkload work =
        own.found.workload(f, imager.n_planes(), imager.device, imager.cleans ? 1 : wanted.intervals_out);
    if (screens) count_slots(imager, group, probe_grid(fields[f], image), own.found, *screens, work);
    const IdgPlan plan = make_idg_plan(image, idg_settings(wanted), work);
    own.fields.emplace_back(fields[f], plan, std::move(screens),
                            memory_for_data(imager.tool.common().max_memory_bytes) / (8 * fields.size()));
    FieldGridder& field = own.fields.back();
    // Where layers are to lie says that there are to be some.
    if (imager.device.kind == Device::Kind::cpu || !imager.grid_memory)
      field.planes = planes_instead(plan, idg_settings(wanted),
                                    {work, own.found.n_rows_of_interval(wanted.intervals_out)});
    if (own.kept && wanted.intervals_out > 1 && !field.planes) {
      log_verbose("images of these intervals need subgrids: the visibilities are read again");
      imager.keeps_intervals = false;
      imager.block_bytes = block_bytes;
      imager.beyond = beyond;
      own.kept.reset();
      return prepare_group(imager, group, fields, whole_band);
    }
    own.shares.push_back(imager.own_rows ? RankShare{{0, field.n_layers()}}
                         : field.planes || (imager.cleans && fields.size() > 1)
                             ? share_rows(imager.ranks, field.n_layers())
                             : own.found.share(imager.ranks, f, plan, work));
    own.n_layers = std::max(own.n_layers, own.shares[f].layers.n);
    for (const std::string& line : field.describe()) log_verbose("{}", line);
  }
  if (finished.valid()) finished.get();
  keep_if_layers_fit(imager, own);
  plan_passes(imager, own);
  if (own.passes.on_gpu)
    log_verbose("{}", describe(*own.passes.on_gpu, imager.device, own.passes.layers, own.passes.host));
  return own;
}

LayerRange predicted_layers(const Imager& imager, const PreparedGroup& prepared, std::size_t f) {
  const IdgPlan& plan = prepared.fields[f].plan;
  const LayerRange& own = prepared.shares[f].layers;
  const std::size_t reach = plan.w_handling == WHandling::kernel ? plan.n_terms : 1;
  const std::size_t beyond = reach - 1 + (imager.device.kind == Device::Kind::cuda ? 1 : 0);
  const std::size_t first = own.first - std::min(beyond, own.first);
  return {first, std::min(plan.n_layers, own.first + own.n + beyond) - first};
}

bool predicts_while_gridding(const Imager& imager, const PreparedGroup& own) {
  return imager.device.kind == Device::Kind::cpu && own.n_passes() == 1 &&
         own.other_bytes + predicting_bytes(imager, own) <= imager.tool.common().max_memory_bytes;
}

KeptPlan plan_kept(const Imager& imager, const PreparedGroup& own) {
  KeptPlan kept;
  const IdgSetup setup = prediction_setup(imager);
  kept.bytes = own.passes.host.bytes(std::min(own.passes.layers, own.n_layers));
  for (const FieldGridder& field : own.fields) {
    kept.fields.push_back(
        plan_degrid_passes(imager.device, field.plan, setup, prediction_demand(imager, own)));
    kept.bytes = std::max(kept.bytes, kept.fields.back().memory.bytes(kept.fields.back().layers));
  }
  kept.bytes += own.other_bytes + static_cast<std::uint64_t>(own.found.load().n_visibilities) *
                                      sizeof(std::complex<float>) * setup.n_data_planes;
  return kept;
}

void print_plan(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                std::span<const TimeInterval> intervals) {
  if (own.fields.empty()) {
    imager.tool.print("no usable data");
    return;
  }
  std::uint64_t unused = 0;
  {
    OpenImages open(imager, own, imager.threads());
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const BlockCounts counts = count_blocks(imager, own, f, fields[f], open.gridder(f), intervals);
      print_field(imager, own, f, counts);
      if (imager.device.kind == Device::Kind::cpu && !own.fields[f].planes)
        unused += unused_bytes(own.fields[f].plan, imager.setup(), counts.max_subgrids);
    }
  }
  if (!intervals.empty()) imager.tool.print(own.intervals.describe(intervals.size()));
  const Passes& passes = own.passes;
  imager.tool.print(
      fmt::format("memory: {}", format_bytes(static_cast<double>(run_bytes(imager, own, unused)))));
  if (passes.on_gpu) imager.tool.print(describe(*passes.on_gpu, imager.device, passes.layers, passes.host));
}

void add_weights(const Imager& imager, View<const float, 3> weight, unsigned n_threads,
                 std::vector<double>& sums) {
  // With A-terms all planes are computed from all correlations, whose weights are the same.
  std::vector<std::size_t> plane(sums.size(), 0);
  for (std::size_t p = 0; p < imager.n_data_planes() && !imager.aterms(); ++p) plane[p] = p;
  const std::size_t step = weight.extent(2), n = weight.size() / step;
  const auto add = [&](std::size_t first, std::size_t last, double* to) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t p = 0; p < sums.size(); ++p)
        to[p] += static_cast<double>(weight.data()[i * step + plane[p]]);
  };
  if (imager.device.kind == Device::Kind::cpu) return add(0, n, sums.data());
  // A GPU finishes gridding before a single thread could add the weights, so all threads add them.
  constexpr std::size_t kPart = 1 << 16;
  Buffer<double, 2> parts({(n + kPart - 1) / kPart, sums.size()});
  parallel_for(n_threads, parts.extent(0), [&](std::size_t part, unsigned) {
    add(part * kPart, std::min(n, (part + 1) * kPart), &parts(part, 0));
  });
  for (std::size_t part = 0; part < parts.extent(0); ++part)
    for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += parts(part, p);
}

std::vector<GroupImages> make_images(Imager& imager, PreparedGroup& own, const std::vector<Field>& fields,
                                     ImagingSource& source) {
  imager.tool.stage("grid");
  std::vector<GroupImages> images;
  {
    OpenImages open(imager, own, imager.threads());
    if (own.kept)
      grid_kept(imager, own, open.gridder(0), open.images()[0], open.beam(0));
    else
      grid_blocks(imager, own, fields, source, open);
    images = open.take(imager, own, fields);
  }
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes() * fields.size());
  return_freed_memory();
  return images;
}

}  // namespace apsyn::imaging
