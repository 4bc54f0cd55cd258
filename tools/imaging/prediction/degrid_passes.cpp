// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/degrid_passes.h"

#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/system/program_memory.h"
#include "libcore/visibility/stokes.h"
#include "libcore/visibility/visibility.h"

namespace apsyn::imaging {

void predict_through_aterms(IdgSetup& setup, const std::vector<std::string>& planes,
                            const std::string& source) {
  const auto correlations =
      products_of_planes(planes, {Product::XX, Product::XY, Product::YX, Product::YY}, source);
  setup.n_data_planes = 4;
  setup.aterms = AtermMode::adjoint;
  for (std::size_t plane = 0; plane < planes.size(); ++plane) {
    auto& mix = setup.mix.emplace_back();
    for (std::size_t i = 0; i < 4; ++i) mix[i] = correlations(i, plane);
  }
}

DegridPasses place_degridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                             const DegridDemand& demand) {
  DegridPasses own{setup, {}, degridder_memory(plan, setup), plan.n_layers};
  if (device.kind == Device::Kind::cuda) {
    own.place = place_grids(device_room(device), plan, {setup.n_image_planes(), 1, demand.grid_memory});
    own.setup.grid_memory = own.place.where;
    own.memory = host_memory(own.memory, own.place.where,
                             sizeof(double) * setup.n_image_planes() * plan.image.n_x * plan.image.n_y);
    own.memory.fixed_bytes += kNodeHostBytes;
    own.layers = own.place.max_layers;
  }
  own.memory.fixed_bytes += demand.beside_bytes;
  return own;
}

DegridPasses plan_degrid_passes(const Device& device, const IdgPlan& plan, const IdgSetup& setup,
                                const DegridDemand& demand) {
  DegridPasses own = place_degridder(device, plan, setup, demand);
  if (!own.place.reason.empty())
    log_info("{}: the w layers stay in host memory (--grid-memory hybrid)", own.place.reason);
  const std::uint64_t most = demand.max_bytes;
  own.layers = layers_within(own.memory, most - std::min(most, demand.other_bytes), own.layers);
  if (own.layers == 0)
    throw UsageError("{}",
                     memory_shortage(most, static_cast<double>(own.memory.bytes(1) + demand.other_bytes),
                                     "this model needs", "allow more"));
  if (own.memory.layer_bytes == 0 || own.setup.grid_memory == GridMemory::oversubscribed) return own;
  // With few visibilities another pass costs less than allocating the memory of many layers.
  const auto worthwhile =
      std::max<std::uint64_t>(512'000'000, static_cast<std::uint64_t>(200 * demand.n_visibilities));
  own.layers = std::clamp<std::size_t>(worthwhile / own.memory.layer_bytes, 1, own.layers);
  return own;
}

}  // namespace apsyn::imaging
