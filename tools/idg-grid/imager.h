// SPDX-License-Identifier: GPL-3.0-or-later
// One channel group: survey the data, weigh, plan, grid in as many passes as the memory asks for.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/core/constants.h"
#include "tools/idg-grid/options.h"

namespace apsyn::idg_grid {

/// One channel group's images, sums that are not yet divided by their weights.
struct GroupImages {
  Buffer<double, 3> pixels;        ///< [plane, then the PSF unless --no-psf][y][x]
  std::vector<double> weight_sum;  ///< of each
};

/// Everything that stays the same from group to group.
struct Imager {
  Tool& tool;
  const Options& options;
  ImagingSource& source;
  Device device;
  std::uint64_t block_bytes;
  double n_gridded = 0;

  std::size_t n_data_planes() const { return options.psf_only ? 0 : source.info().planes.size(); }
  PsfPlane psf() const { return options.no_psf ? PsfPlane::none : PsfPlane::last; }
  std::size_t n_planes() const { return n_data_planes() + (options.no_psf ? 0 : 1); }
  IdgSetup setup() const {
    return {.n_data_planes = n_data_planes(),
            .psf = psf(),
            .aterms = AtermMode::none,
            .mix = {},
            .n_threads = threads()};
  }
  unsigned threads() const { return tool.common().threads; }
};

/// The block as the gridder takes it; `wavenumber` keeps its memory.
inline GridBlock grid_block(const ImagingBlock& block, Buffer<double, 1>& wavenumber) {
  wavenumber.resize({block.channel_hz.size()});
  for (std::size_t c = 0; c < wavenumber.size(); ++c) wavenumber(c) = block.channel_hz(c) / kSpeedOfLight_m_s;
  return {block.uvw_m, block.path_m, wavenumber, block.data, block.weight, block.station, {}};
}

/// First pass: the weight grid, the range of w, the number of visibilities.
struct Survey {
  double max_w_lambda = 0, n_visibilities = 0;
};

inline Survey survey(Imager& imager, const ChannelGroup& group, ImageWeights& weights) {
  Survey result;
  ImagingBlock block;
  imager.source.rewind(group);
  while (imager.source.read(block, imager.block_bytes)) {
    weights.add(block);
    const double highest =
        *std::max_element(block.channel_hz.begin(), block.channel_hz.end()) / kSpeedOfLight_m_s;
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row) {
      const View<const float, 2> row_weights = std::as_const(block.weight).view()[row];
      const auto used = std::count_if(row_weights.begin(), row_weights.end(), [](float w) { return w != 0; });
      if (used == 0) continue;
      result.max_w_lambda = std::max(result.max_w_lambda, std::abs(block.uvw_m(row, 2)) * highest);
      result.n_visibilities += static_cast<double>(used) / static_cast<double>(block.weight.extent(2));
    }
  }
  weights.finish(imager.threads());
  return result;
}

/// Layers whose grids fit into the memory beside everything else.
inline std::size_t layers_per_pass(const Imager& imager, const IdgPlan& plan, std::uint64_t other_bytes) {
  if (imager.device.kind == Device::Kind::cuda)
    return layers_on_device(imager.device, plan, imager.n_planes());
  const std::uint64_t most = imager.tool.common().max_memory_bytes;
  const std::uint64_t fixed = plan.fixed_bytes(imager.n_planes(), imager.threads()) + other_bytes;
  const std::uint64_t layer = plan.bytes_per_layer(imager.n_planes());
  if (fixed + layer > most)
    throw UsageError("--max-memory {}: this image needs at least {}: allow more, or make it smaller",
                     format_bytes(static_cast<double>(most)),
                     format_bytes(static_cast<double>(fixed + layer)));
  return std::min<std::uint64_t>(plan.n_layers, (most - fixed) / layer);
}

inline void print_plan(Imager& imager, const IdgPlan& plan, const Survey& found, const ImageWeights& weights,
                       std::size_t layers, std::uint64_t other_bytes) {
  auto gridder = make_gridder(imager.device, plan, imager.setup());
  ImagingBlock block;
  Buffer<double, 1> wavenumber;
  std::uint64_t n_subgrids = 0;
  while (imager.source.read(block, imager.block_bytes)) {
    weights.apply(block, imager.threads());
    n_subgrids += gridder->count(grid_block(block, wavenumber)).n_subgrids;
  }
  for (const std::string& line : plan.describe()) imager.tool.print(line);
  const std::size_t passes = (plan.n_layers + layers - 1) / layers;
  imager.tool.print(fmt::format("{:.0f} visibilities, {} subgrids, {} layers in {} pass{}",
                                found.n_visibilities, n_subgrids, plan.n_layers, passes,
                                passes == 1 ? "" : "es"));
  const double bytes = static_cast<double>(plan.fixed_bytes(imager.n_planes(), imager.threads()) +
                                           other_bytes + layers * plan.bytes_per_layer(imager.n_planes()));
  imager.tool.print(fmt::format("memory {}", format_bytes(bytes)));
}

/// The images of one group; empty when it has no data, or with --dry-run.
inline GroupImages make_images(Imager& imager, const ChannelGroup& group) {
  const ImagingOptions& wanted = imager.options.imaging;
  imager.tool.stage("weights");
  ImageWeights weights(weight_settings(wanted), wanted.n_x, wanted.n_y, wanted.cell_rad);
  const Survey found = survey(imager, group, weights);
  if (found.n_visibilities == 0) {
    if (imager.tool.common().dry_run) imager.tool.print("no usable data");
    return {};
  }

  const IdgPlan plan =
      make_idg_plan({gridded_n_x(imager.options), gridded_n_y(imager.options), wanted.cell_rad},
                    idg_settings(wanted), found.max_w_lambda, found.n_visibilities);
  const std::uint64_t other = weights.bytes() + 2 * imager.block_bytes;
  const std::size_t layers = layers_per_pass(imager, plan, other);
  imager.source.rewind(group);
  if (imager.tool.common().dry_run) {
    print_plan(imager, plan, found, weights, layers, other);
    return {};
  }
  for (const std::string& line : plan.describe()) log_verbose("{}", line);

  imager.tool.stage("grid");
  auto gridder = make_gridder(imager.device, plan, imager.setup());
  GroupImages images;
  images.weight_sum.assign(imager.n_planes(), 0);
  const double n_passes = std::ceil(static_cast<double>(plan.n_layers) / static_cast<double>(layers));
  Progress progress(imager.tool, "gridding", found.n_visibilities * n_passes, "vis");
  ImagingBlock block;
  Buffer<double, 1> wavenumber;
  double done = 0;
  for (std::size_t first = 0; first < plan.n_layers; first += layers) {
    gridder->begin_pass(first, std::min(layers, plan.n_layers - first));
    imager.source.rewind(group);
    while (imager.source.read(block, imager.block_bytes)) {
      weights.apply(block, imager.threads());
      if (first == 0)
        for (std::size_t p = 0; p < images.weight_sum.size(); ++p) {
          const std::size_t plane = p < imager.n_data_planes() ? p : 0, step = block.weight.extent(2);
          for (std::size_t i = plane; i < block.weight.size(); i += step)
            images.weight_sum[p] += block.weight.data()[i];
        }
      if (imager.options.psf_only) block.data.resize({block.data.extent(0), block.data.extent(1), 0});
      gridder->grid(grid_block(block, wavenumber));
      progress.update(done += static_cast<double>(block.weight.size() / block.weight.extent(2)));
    }
    imager.tool.stage("layers");
    gridder->end_pass();
    imager.tool.stage("grid");
  }
  imager.n_gridded += found.n_visibilities * static_cast<double>(imager.n_planes());
  images.pixels = gridder->take_images();
  return images;
}

}  // namespace apsyn::idg_grid
