// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/visibility_sums.h"

#include <cstddef>

namespace apsyn {
namespace {

bool is_through_matrices(const VisibilitySumsSetup& setup) {
  return setup.aterms != nullptr || setup.has_ionosphere;
}

/// Phases of the ionosphere change with every integration, A-terms with every slot: both together are made
/// out of A-terms that are kept, as on the CPU.
bool keeps_aterms(const VisibilitySumsSetup& setup) {
  return setup.aterms != nullptr && (setup.device.kind != Device::Kind::cuda || setup.has_ionosphere);
}

}  // namespace

VisibilitySums::VisibilitySums(const simulate::VisibilitySetup& sky, const VisibilitySumsSetup& setup)
    : sky_(sky), setup_(setup) {
  for (const SkyComponent& component : sky.sky.components) directions_.push_back(component.direction);
  if (setup.device.kind != Device::Kind::cuda) return;
  const bool through = is_through_matrices(setup);
  on_device_.emplace(
      sky, through,
      make_device_components(sky.sky, device_setup(sky, through, setup.n_threads, setup.device.index)));
}

imaging::StationSight VisibilitySums::sight() const {
  return {setup_.aterms, setup_.phase_centre, sky_.channel_hz, directions_, setup_.n_threads};
}

void VisibilitySums::keep_matrices(std::int64_t slot) {
  if (slot_ == slot) return;
  slot_.reset();
  imaging::evaluate_matrices(slot, sight(), jones_);
  slot_ = slot;
}

void VisibilitySums::simulate(std::int64_t index, double time_mjd_s, simulate::SkyRotations rotations,
                              View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
  const std::int64_t slot = setup_.aterms != nullptr ? setup_.aterms->slot_of(time_mjd_s) : 0;
  if (keeps_aterms(setup_)) {
    keep_matrices(slot);
    rotations.jones = jones_;
  }
  if (!on_device_) return simulate_visibilities(sky_, index, rotations, setup_.n_threads, data, uvw_m);
  if (setup_.aterms == nullptr || keeps_aterms(setup_))
    return on_device_->simulate(index, rotations, nullptr, setup_.n_threads, data, uvw_m);
  const simulate::StationMatrices matrices = imaging::station_matrices(slot, sight());
  on_device_->simulate(index, rotations, &matrices, setup_.n_threads, data, uvw_m);
}

double visibility_sums_bytes(const simulate::VisibilitySetup& sky, const VisibilitySumsSetup& setup) {
  const std::size_t n_chan = sky.channel_hz.size(), n_components = sky.sky.components.size();
  double bytes = 0;
  if (keeps_aterms(setup)) bytes += 32 * double(n_chan * sky.antenna_enu_m.size() * n_components);
  if (setup.device.kind == Device::Kind::cuda)
    bytes += 32 * double(sky.baselines.size() * n_chan) +
             double(simulate::device_components_bytes(n_components, n_chan, is_through_matrices(setup)));
  return bytes;
}

}  // namespace apsyn
