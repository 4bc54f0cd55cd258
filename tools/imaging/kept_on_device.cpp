// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/kept_on_device.h"

#include <algorithm>
#include <future>
#include <utility>

#include "kernels/idg/grid_memory.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"

namespace apsyn::imaging {
namespace {

/// Blocks that the host only passes on are as small as lets them stay in its caches, yet worth sharing among
/// threads.
constexpr std::uint64_t kPassedOnBytes = 256'000'000;

}  // namespace

std::unique_ptr<KeptVisibilities> keep_while_surveying(Imager& imager, const std::vector<Field>& fields) {
  constexpr std::size_t kMaxPlanes = 4;
  if (imager.device.kind != Device::Kind::cuda || (imager.ranks.size > 1 && !imager.own_rows) ||
      imager.aterms() || imager.cleans || imager.tool.common().dry_run ||
      imager.options.imaging.intervals_out > 1 || fields.size() != 1 || imager.n_data_planes() == 0 ||
      imager.n_data_planes() > kMaxPlanes || imager.grid_memory.value_or(GridMemory::gpu) != GridMemory::gpu)
    return nullptr;
  imager.source.keep_none();
  imager.block_bytes = std::min(imager.block_bytes, kPassedOnBytes);
  return keep_visibilities(imager.device, imager.n_data_planes(), device_room(imager.device).free_bytes / 2,
                           imager.threads());
}

std::optional<Survey> survey_keeping(Imager& imager, const ChannelGroup& group,
                                     const std::vector<Field>& fields, ImageWeights* weights,
                                     KeptVisibilities& kept) {
  Survey found(fields.size());
  BlockMover move;
  std::vector<double> wavelength_m;
  imager.source.rewind(group);
  while (const ImagingBlock* block = imager.source.next(imager.block_bytes)) {
    wavelength_m.clear();
    for (const double hz : block->channel_hz) wavelength_m.push_back(kSpeedOfLight_m_s / hz);
    std::future<bool> taken = std::async(
        std::launch::async, [&] { return kept.add(move(*block, block->weight, fields[0]), wavelength_m); });
    found.add(*block, fields, imager.threads());
    if (!taken.get()) return std::nullopt;
  }
  if (weights == nullptr) return found;
  CellSums cells = kept.sum_cells({weights->n_rows(), weights->n_columns(), imager.options.imaging.cell_rad,
                                   weights->max_uv_lambda(), weights->mode() == WeightMode::natural});
  weights->take(std::move(cells.sum), {cells.n_visibilities, cells.n_beyond, cells.max_lambda});
  return found;
}

void keep_if_layers_fit(Imager& imager, PreparedGroup& own) {
  if (!own.kept) return;
  const IdgPlan& plan = own.fields[0].plan;
  const GridPlace place = place_grids(device_room(imager.device), plan, {imager.setup().n_planes(), 1, {}});
  if (place.where == GridMemory::gpu && place.max_layers >= plan.n_layers) return;
  log_verbose("{}: the w layers need the room of the visibilities, which are read again",
              imager.device.description);
  own.kept.reset();
}

void grid_kept(Imager& imager, PreparedGroup& own, Gridder& gridder, GroupImages& images) {
  const CellFactors factors{own.weights->grid(), imager.options.imaging.cell_rad};
  const std::vector<double> of_plane = own.kept->weigh(factors);
  for (std::size_t p = 0; p < images.weight_sum.size(); ++p)  // the last may be the PSF's, that of plane 0
    images.weight_sum[p] = of_plane[p < of_plane.size() ? p : 0];
  Progress progress(imager.tool, "gridding", own.found.n_visibilities, "vis");
  const double n_parts = imager.own_rows ? imager.ranks.size : 1;
  gridder.begin_pass({0, own.fields[0].plan.n_layers});
  double done = 0;
  for (std::size_t part = 0; part < own.kept->n_parts(); ++part) {
    gridder.grid_kept(*own.kept, part);
    progress.update(done += n_parts * static_cast<double>(own.kept->n_visibilities(part)));
  }
  imager.tool.stage("layers");
  gridder.end_pass();
}

}  // namespace apsyn::imaging
