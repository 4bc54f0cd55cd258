// SPDX-License-Identifier: GPL-3.0-or-later
// One channel group: survey the data, plan, grid all fields in as many passes as the memory asks for.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/idg/average_beam.h"
#include "tools/idg-grid/field.h"
#include "tools/idg-grid/survey.h"

namespace apsyn::idg_grid {

/// What grids one field; the gridder itself comes when all fields are planned.
struct FieldGridder {
  IdgPlan plan;
  std::unique_ptr<Gridder> gridder;
  std::unique_ptr<AtermScreens> screens;
  std::unique_ptr<AverageBeam> beam;

  FieldGridder(const Imager& imager, const Field& field, const IdgPlan& planned, std::uint64_t aterm_bytes)
      : plan(planned) {
    if (!imager.aterms()) return;
    const AtermGrid grid{field.centre, plan.settings.subgrid, plan.coarse_l_rad(), plan.coarse_m_rad()};
    screens = std::make_unique<AtermScreens>(imager.options.imaging.aterms, imager.source.info(), grid,
                                             imager.threads(), aterm_bytes);
    beam = std::make_unique<AverageBeam>(plan, imager.setup());
  }

  /// Calls use(block) for the whole block, or for one run of rows after the other as their A-terms come.
  template <class Use>
  void for_each_part(const ImagingBlock& from, const GridBlock& block, Use&& use) {
    if (!screens) return use(block);
    for (std::size_t first = 0; first < block.uvw_m.extent(0);) {
      const std::size_t n = screens->prepare(from, first);
      GridBlock part = rows_of(block, first, n);
      part.station = screens->station();
      part.aterms = {screens->row_slot(), screens->chan_slot(), screens->jones()};
      use(part);
      first += n;
    }
  }
};

/// Memory of the host for all fields together, beside what the fields share.
inline IdgMemory memory_of(const Imager& imager, const ChannelGroup& group,
                           const std::vector<FieldGridder>& fields, const GridPlace* on_gpu) {
  std::vector<double> channel_hz;
  for (const double hz : imager.source.info().channel_hz)
    if (hz >= group.low_hz && hz <= group.high_hz) channel_hz.push_back(hz);
  IdgMemory sum;
  for (const FieldGridder& own : fields) {
    const std::uint64_t image_bytes = sizeof(double) * own.plan.image.n_x * own.plan.image.n_y;
    IdgMemory memory = gridder_memory(own.plan, imager.setup());
    if (on_gpu != nullptr)
      memory = host_memory(memory, on_gpu->where, imager.setup().n_planes() * image_bytes);
    sum.fixed_bytes += memory.fixed_bytes;
    sum.layer_bytes += memory.layer_bytes;
    if (own.screens) sum.fixed_bytes += own.screens->most_bytes(channel_hz) + image_bytes;
  }
  return sum;
}

/// Where the layers' grids go, and how many, of every field, at a time.
struct Passes {
  std::optional<GridPlace> on_gpu;
  IdgMemory host;
  std::size_t layers = 0;
  GridMemory where() const { return on_gpu ? on_gpu->where : GridMemory::gpu; }
};
inline Passes plan_passes(const Imager& imager, const ChannelGroup& group,
                          const std::vector<FieldGridder>& fields, std::uint64_t other_bytes) {
  Passes passes;
  for (const FieldGridder& own : fields) passes.layers = std::max(passes.layers, own.plan.n_layers);
  if (imager.device.kind == Device::Kind::cuda) {
    GridDemand demand{imager.setup().n_planes(), fields.size(), imager.grid_memory};
    for (const FieldGridder& own : fields) {
      const GridPlace place = place_grids(device_room(imager.device), own.plan, demand);
      demand.wanted = place.where;
      // A field whose layers all fit says nothing of how many fields with more of them may make at once.
      if (place.most_layers < own.plan.n_layers) passes.layers = std::min(passes.layers, place.most_layers);
      if (!passes.on_gpu) passes.on_gpu = place;
    }
    if (!passes.on_gpu->reason.empty())
      log_info("{}: the w layers stay in host memory (--grid-memory hybrid)", passes.on_gpu->reason);
  }
  passes.host = memory_of(imager, group, fields, passes.on_gpu ? &*passes.on_gpu : nullptr);
  const std::uint64_t most = imager.tool.common().max_memory_bytes;
  passes.layers = layers_within(passes.host, most - std::min(most, other_bytes), passes.layers);
  if (passes.layers == 0)
    throw UsageError("--max-memory {}: {} at least {}: allow more, or make {} smaller",
                     format_bytes(static_cast<double>(most)),
                     fields.size() == 1 ? "this image needs" : "these images need",
                     format_bytes(static_cast<double>(passes.host.bytes(1) + other_bytes)),
                     fields.size() == 1 ? "it" : "them");
  return passes;
}

inline void print_plan(Imager& imager, const ChannelGroup& group, const Field& field, FieldGridder& own,
                       const Survey& found, const ImageWeights& weights, std::size_t layers) {
  ImagingBlock block;
  BlockMover move;
  double n_subgrids = 0;
  imager.source.rewind(group);
  while (imager.source.read(block, imager.block_bytes)) {
    weights.apply(block, imager.threads());
    own.for_each_part(block, move(block, field), [&](const GridBlock& part) {
      n_subgrids += static_cast<double>(own.gridder->count(part).n_subgrids);
    });
  }
  for (const std::string& line : own.plan.describe()) imager.tool.print(line);
  const std::size_t passes = (own.plan.n_layers + layers - 1) / layers;
  imager.tool.print(fmt::format("{:.0f} visibilities, {:.0f} subgrids of {:.0f} each, {} layers in {} pass{}",
                                found.n_visibilities, n_subgrids,
                                found.n_visibilities / std::max(1.0, n_subgrids), own.plan.n_layers, passes,
                                passes == 1 ? "" : "es"));
}

/// Adds the block's weights to those of the images.
inline void add_weights(const Imager& imager, const ImagingBlock& block, std::vector<double>& sums) {
  for (std::size_t p = 0; p < sums.size(); ++p) {
    // With A-terms all planes are made of all correlations, whose weights are the same.
    const bool first = p >= imager.n_data_planes() || imager.aterms();
    const std::size_t plane = first ? 0 : p, step = block.weight.extent(2);
    for (std::size_t i = plane; i < block.weight.size(); i += step)
      sums[p] += static_cast<double>(block.weight.data()[i]);
  }
}

/// The images of one group, a field each; empty when it has no data, or with --dry-run. `whole_band`: weights
/// that are made already.
inline std::vector<GroupImages> make_images(Imager& imager, const ChannelGroup& group,
                                            const std::vector<Field>& fields,
                                            const ImageWeights* whole_band) {
  const ImagingOptions& wanted = imager.options.imaging;
  const bool dry = imager.tool.common().dry_run;
  imager.tool.stage("weights");
  ImageWeights own_weights(weight_settings(wanted), wanted.n_x, wanted.n_y, wanted.cell_rad);
  const Survey found = survey(imager, group, fields, whole_band == nullptr ? &own_weights : nullptr);
  if (found.n_visibilities == 0) {
    if (dry) imager.tool.print("no usable data");
    return {};
  }
  if (whole_band == nullptr) own_weights.finish(imager.threads());
  const ImageWeights& weights = whole_band == nullptr ? own_weights : *whole_band;

  imager.tool.stage("plan");
  std::vector<FieldGridder> gridders;
  std::size_t n_layers = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const IdgPlan plan =
        make_idg_plan({gridded_n_x(imager.options), gridded_n_y(imager.options), wanted.cell_rad},
                      idg_settings(wanted), found.workload(f, imager.n_planes(), imager.device));
    n_layers = std::max(n_layers, plan.n_layers);
    gridders.emplace_back(imager, fields[f], plan,
                          imager.tool.common().max_memory_bytes / (8 * fields.size()));
    for (const std::string& line : plan.describe()) log_verbose("{}", line);
  }
  const std::uint64_t other =
      weights.bytes() + 3 * imager.block_bytes + imager.source.bytes() + imager.whole_band_bytes;
  const Passes passes = plan_passes(imager, group, gridders, other);
  const std::size_t layers = passes.layers;
  if (passes.on_gpu) log_verbose("{}", describe(*passes.on_gpu, imager.device, layers, passes.host));
  for (FieldGridder& own : gridders)
    own.gridder = make_gridder(imager.device, own.plan, imager.setup(passes.where()));
  if (dry) {
    for (std::size_t f = 0; f < fields.size(); ++f)
      print_plan(imager, group, fields[f], gridders[f], found, weights, layers);
    imager.tool.print(
        fmt::format("memory {}", format_bytes(static_cast<double>(passes.host.bytes(layers) + other))));
    if (passes.on_gpu) imager.tool.print(describe(*passes.on_gpu, imager.device, layers, passes.host));
    return {};
  }

  imager.tool.stage("grid");
  std::vector<GroupImages> images(fields.size());
  for (GroupImages& own : images) own.weight_sum.assign(imager.n_planes(), 0);
  const double n_passes = std::ceil(static_cast<double>(n_layers) / static_cast<double>(layers));
  Progress progress(imager.tool, "gridding", found.n_visibilities * n_passes, "vis");
  ImagingBlock block;
  BlockMover move;
  double done = 0;
  for (std::size_t first = 0; first < n_layers; first += layers) {
    for (FieldGridder& own : gridders) {
      const std::size_t begin = std::min(first, own.plan.n_layers);
      own.gridder->begin_pass(begin, std::min(layers, own.plan.n_layers - begin));
    }
    imager.source.rewind(group);
    std::uint64_t id = 0;  // blocks are the same in every pass; the A-terms of their parts need not be
    while (imager.source.read(block, imager.block_bytes)) {
      weights.apply(block, imager.threads());
      if (first == 0)
        for (GroupImages& own : images) add_weights(imager, block, own.weight_sum);
      if (imager.options.psf_only) block.data.resize({block.data.extent(0), block.data.extent(1), 0});
      for (std::size_t f = 0; f < fields.size(); ++f)
        gridders[f].for_each_part(block, move(block, fields[f]), [&](GridBlock part) {
          part.id = n_passes > 1 && !gridders[f].screens ? ++id : 0;
          gridders[f].gridder->grid(part);
          if (first == 0 && gridders[f].beam) gridders[f].beam->add(part);
        });
      progress.update(done += static_cast<double>(block.weight.size() / block.weight.extent(2)));
    }
    imager.tool.stage("layers");
    for (FieldGridder& own : gridders) own.gridder->end_pass();
    imager.tool.stage("grid");
  }
  imager.n_gridded +=
      found.n_visibilities * static_cast<double>(imager.n_planes()) * static_cast<double>(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    images[f].pixels = gridders[f].gridder->take_images();
    if (!gridders[f].beam) continue;
    images[f].beam = gridders[f].beam->finish();
    for (double& pixel : images[f].beam) pixel *= images[f].weight_sum[0];
  }
  return images;
}

}  // namespace apsyn::idg_grid
