// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/components/component_sums.h"

#include <algorithm>

#include "libcore/system/parallel.h"

namespace apsyn::imaging {
namespace {

using Complex = std::complex<float>;

/// Matrices that are made at once where those of a whole slot do not fit.
constexpr std::uint64_t kBatchBytes = std::uint64_t{32} << 20;
/// Rows that a thread sums in single precision at once: whole tiles of the sums' lanes.
constexpr std::size_t kTileRows = 16, kMaxThreadRows = 256;

std::uint64_t matrix_bytes(const ComponentSumsSetup& setup, std::size_t n_components, std::size_t n_chan) {
  return std::uint64_t{4} * sizeof(Complex) * setup.aterms->n_stations() * n_chan * n_components;
}

template <class V>
V part_of(V view, std::size_t first, std::size_t n) {
  if (view.size() == 0) return V();
  auto shape = view.shape();
  const std::size_t stride = view.size() / shape[0];
  shape[0] = n;
  return V(view.data() + first * stride, shape);
}

ComponentRows part_of(const ComponentRows& rows, std::size_t first, std::size_t n) {
  return {part_of(rows.uvw_m, first, n), part_of(rows.path_m, first, n), part_of(rows.station, first, n),
          rows.time_mjd_s.empty() ? rows.time_mjd_s : rows.time_mjd_s.subspan(first, n)};
}

}  // namespace

void evaluate_matrices(std::int64_t slot, const StationSight& sight, Buffer<Complex, 4>& jones) {
  jones.resize({sight.channel_hz.size(), sight.aterms->n_stations(), sight.directions.size(), 4});
  for (std::size_t chan = 0; chan < sight.channel_hz.size(); ++chan)
    sight.aterms->evaluate_at(slot, sight.channel_hz[chan], sight.centre, sight.directions, sight.n_threads,
                              jones.view()[chan]);
}

simulate::StationMatrices station_matrices(std::int64_t slot, const StationSight& sight) {
  simulate::StationMatrices matrices;
  matrices.slot = slot;
  matrices.n_stations = sight.aterms->n_stations();
  const auto part = [sight](std::size_t first, std::size_t n) {
    return std::span<const SkyDirection>(sight.directions).subspan(first, n);
  };
  matrices.evaluate = [=](std::size_t chan, std::size_t first, View<Complex, 3> jones) {
    sight.aterms->evaluate_at(slot, sight.channel_hz[chan], sight.centre, part(first, jones.extent(1)),
                              sight.n_threads, jones);
  };
  matrices.phased = sight.aterms->phased_beams();
  matrices.evaluate_phased = [=](std::size_t chan, std::size_t first, PhasedChannel& channel,
                                 View<double, 2> directions, View<Complex, 3> elements) {
    sight.aterms->evaluate_phased(slot, sight.channel_hz[chan], part(first, directions.extent(0)),
                                  sight.n_threads, channel, directions, elements);
  };
  return matrices;
}

ComponentSums::ComponentSums(const SkyModel& sky, const SkyDirection& centre,
                             const std::vector<double>& channel_hz, const ComponentSumsSetup& setup)
    : sky_(sky), centre_(centre), channel_hz_(channel_hz), setup_(setup) {
  for (const SkyComponent& component : sky.components) directions_.push_back(component.direction);
  if (setup.device.kind == Device::Kind::cuda) {
    simulate::DeviceComponentsSetup own;
    own.centre = centre;
    own.channel_hz = channel_hz;
    own.through = setup.aterms != nullptr;
    own.n_threads = setup.n_threads;
    own.device_index = setup.device.index;
    on_device_ = simulate::make_device_components(sky, own);
    return;
  }
  if (setup.single && setup.aterms == nullptr)
    in_single_.emplace(sky, centre, channel_hz);
  else
    in_double_.emplace(sky, centre, channel_hz);
  if (setup.aterms == nullptr) return;
  const std::size_t n_components = std::max<std::size_t>(1, directions_.size());
  const std::uint64_t all = matrix_bytes(setup, n_components, channel_hz.size());
  batch_ = all <= std::max(kBatchBytes, setup.max_matrix_bytes)
               ? n_components
               : std::clamp<std::size_t>(
                     kBatchBytes / std::max<std::uint64_t>(1, matrix_bytes(setup, 1, channel_hz.size())), 1,
                     n_components);
}

std::size_t ComponentSums::n_planes() const {
  return setup_.aterms != nullptr ? 4 : simulate::stokes_of(sky_).size();
}

void ComponentSums::predict(const ComponentRows& rows, View<Complex, 3> data) {
  const std::size_t n_rows = data.extent(0);
  if (setup_.aterms == nullptr) {
    if (on_device_) return on_device_->predict(rows.uvw_m, rows.path_m, data);
    if (in_double_) return in_double_->predict(rows.uvw_m, rows.path_m, setup_.n_threads, data);
    // A few hundred rows of many channels are work for all threads.
    const std::size_t n_tiles = (n_rows + kTileRows - 1) / kTileRows;
    const std::size_t at_once =
        kTileRows * std::clamp<std::size_t>(n_tiles / (2 * std::max(1u, setup_.n_threads)), 1,
                                            kMaxThreadRows / kTileRows);
    return parallel_for(setup_.n_threads, (n_rows + at_once - 1) / at_once, [&](std::size_t item, unsigned) {
      const std::size_t first = item * at_once, n = std::min(at_once, n_rows - first);
      in_single_->predict(part_of(rows.uvw_m, first, n), part_of(rows.path_m, first, n),
                          part_of(data, first, n));
    });
  }
  // Rows of one time slot are consecutive.
  for (std::size_t row = 0; row < n_rows;) {
    const std::int64_t slot = setup_.aterms->slot_of(rows.time_mjd_s[row]);
    std::size_t end = row + 1;
    while (end < n_rows && setup_.aterms->slot_of(rows.time_mjd_s[end]) == slot) ++end;
    predict_slot(slot, part_of(rows, row, end - row), part_of(data, row, end - row));
    row = end;
  }
}

void ComponentSums::predict_slot(std::int64_t slot, const ComponentRows& rows, View<Complex, 3> data) {
  if (on_device_)
    return on_device_->predict_through(
        rows.uvw_m, rows.path_m, rows.station,
        station_matrices(slot, {setup_.aterms, centre_, channel_hz_, directions_, setup_.n_threads}), data);
  sums_.resize(data.shape());
  for (std::size_t first = 0; first < directions_.size(); first += batch_)
    in_double_->add_through(rows.uvw_m, rows.path_m, rows.station, {first, matrices(slot, first)},
                            setup_.n_threads, sums_);
  for (std::size_t i = 0; i < data.size(); ++i) data.data()[i] = Complex(sums_.data()[i]);
}

View<const Complex, 4> ComponentSums::matrices(std::int64_t slot, std::size_t first) {
  const std::size_t n = std::min(batch_, directions_.size() - first);
  if (n < directions_.size() || slot_ != slot) {
    slot_.reset();
    matrices_.resize_for_overwrite({channel_hz_.size(), setup_.aterms->n_stations(), n, 4});
    for (std::size_t chan = 0; chan < channel_hz_.size(); ++chan)
      setup_.aterms->evaluate_at(slot, channel_hz_[chan], centre_, {directions_.data() + first, n},
                                 setup_.n_threads, matrices_.view()[chan]);
    slot_ = slot;
  }
  return matrices_;
}

std::uint64_t component_sums_bytes(const ComponentSumsSetup& setup, std::size_t n_components,
                                   std::size_t n_chan, std::uint64_t max_values) {
  if (setup.device.kind == Device::Kind::cuda)
    return simulate::device_components_bytes(n_components, n_chan, setup.aterms != nullptr);
  const std::uint64_t fluxes = std::uint64_t{4} * sizeof(double) * n_components * n_chan;
  if (setup.aterms == nullptr) return fluxes;
  const std::uint64_t all = matrix_bytes(setup, n_components, n_chan);
  // Matrices, and their products with the brightness.
  return fluxes + 2 * std::min(all, std::max(kBatchBytes, setup.max_matrix_bytes)) +
         max_values * sizeof(std::complex<double>);
}

double component_rate(const ComponentSumsSetup& setup) {
  return setup.aterms == nullptr && setup.single ? 3e9 : 1e8;  // measured: single precision and float64
}

Device component_device(const Tool& tool, double n_terms, double rate) {
  constexpr double kStartSeconds = 0.25;  // of a GPU
  const bool automatic = tool.common().device == "auto";
  if (automatic && n_terms / rate / tool.common().threads < kStartSeconds)
    return tool.device(CudaSupport::none);
  return tool.device(CudaSupport::available);
}

}  // namespace apsyn::imaging
