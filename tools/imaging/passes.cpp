// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/passes.h"

#include <algorithm>
#include <utility>

#include "libcore/base/log.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/sky/aterms.h"
#include "libcore/system/device.h"

namespace apsyn::imaging {
namespace {

/// Host memory of all fields together, without what the fields share.
IdgMemory memory_of(const Imager& imager, const ChannelGroup& group, const std::vector<FieldGridder>& fields,
                    const GridPlace* on_gpu) {
  const std::vector<double> channel_hz = channels_of(imager, group);
  IdgMemory sum;
  for (const FieldGridder& own : fields) {
    const std::uint64_t image_bytes = sizeof(double) * own.plan.image.n_x * own.plan.image.n_y;
    IdgMemory memory = own.memory(imager.device.kind, imager.setup());
    if (on_gpu != nullptr && !own.planes)
      memory = host_memory(memory, on_gpu->where, imager.setup().n_planes() * image_bytes);
    sum.fixed_bytes += memory.fixed_bytes;
    sum.layer_bytes += memory.layer_bytes;
    if (own.screens) sum.fixed_bytes += own.screens->max_bytes(channel_hz) + image_bytes;
  }
  return sum;
}

}  // namespace

std::vector<double> channels_of(const Imager& imager, const ChannelGroup& group) {
  std::vector<double> channel_hz;
  for (const double hz : imager.source.info().channel_hz)
    if (hz >= group.low_hz && hz <= group.high_hz) channel_hz.push_back(hz);
  return channel_hz;
}

FieldGridder::FieldGridder(const Field& field, const IdgPlan& planned, std::unique_ptr<AtermScreens> own,
                           std::uint64_t aterm_bytes)
    : plan(planned), screens(std::move(own)) {
  if (screens)
    screens->use({field.centre, plan.settings.subgrid, plan.coarse_l_rad(), plan.coarse_m_rad()},
                 aterm_bytes);
}

std::unique_ptr<AtermScreens> open_screens(const Imager& imager) {
  if (!imager.aterms()) return nullptr;
  set_beam_data_folder(imager.options.imaging.beam_data);
  return std::make_unique<AtermScreens>(
      AtermConfig{imager.options.imaging.aterms, imager.options.imaging.aterms_text}, imager.source.info(),
      imager.threads());
}

std::unique_ptr<Gridder> FieldGridder::make(const Device& device, const IdgSetup& setup) const {
  return planes ? make_planes_gridder(device, *planes, setup) : make_gridder(device, plan, setup);
}

IdgMemory FieldGridder::memory(Device::Kind device, const IdgSetup& setup) const {
  return planes ? IdgMemory{planes_gridder_bytes(device, *planes, setup), 0} : gridder_memory(plan, setup);
}

Passes place_passes(const Imager& imager, const ChannelGroup& group,
                    const std::vector<FieldGridder>& fields) {
  Passes passes;
  for (const FieldGridder& own : fields) passes.layers = std::max(passes.layers, own.n_layers());
  if (imager.device.kind == Device::Kind::cuda) {
    GridDemand demand{imager.setup().n_planes(), fields.size(), imager.grid_memory};
    for (const FieldGridder& own : fields) {
      if (own.planes) continue;
      const GridPlace place = place_grids(device_room(imager.device), own.plan, demand);
      demand.wanted = place.where;
      // A field whose layers all fit in does not limit the layers that larger fields may have in a pass.
      if (place.max_layers < own.plan.n_layers) passes.layers = std::min(passes.layers, place.max_layers);
      if (!passes.on_gpu) passes.on_gpu = place;
    }
    if (passes.on_gpu && !passes.on_gpu->reason.empty())
      log_info("{}: the w layers stay in host memory (--grid-memory hybrid)", passes.on_gpu->reason);
  }
  passes.host = memory_of(imager, group, fields, passes.on_gpu ? &*passes.on_gpu : nullptr);
  return passes;
}

}  // namespace apsyn::imaging
