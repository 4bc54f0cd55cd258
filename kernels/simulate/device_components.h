// SPDX-License-Identifier: GPL-3.0-or-later
// The sums of components.h on a GPU: points and Gaussians, seen by all stations alike or through matrices of
// each. Phases are reduced in float64, sums are in single precision: within 1e-5 of the sum of the
// components' fluxes (times what the matrices amplify). The host's run through the same functions errs by
// 3e-7 for 20 components over 2 degrees and baselines of 3 km.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/simulate/component_geometry.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/beams/phased_beams.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

struct DeviceComponentsSetup {
  SkyDirection centre;  ///< that u, v and w point at
  std::vector<double> channel_hz;
  bool through = false;                ///< predict_through() is called, not predict()
  std::uint64_t max_device_bytes = 0;  ///< for matrices; 0: half of what the device has left
  unsigned n_threads = 1;              ///< that copy results
  int device_index = 0;
};

/// Where the matrices of a time slot come from.
struct StationMatrices {
  std::int64_t slot = 0;  ///< matrices of the same slot may be kept from call to call
  std::size_t n_stations = 0;
  /// Fills jones [station][component][XX XY YX YY] of a channel, for the components from `first` on.
  std::function<void(std::size_t chan, std::size_t first, View<std::complex<float>, 3> jones)> evaluate;
  /// Where not null, the device sums over the elements of stations, from the parts that this function fills
  /// instead of evaluate(): directions [component][3] and elements [frame][component][4].
  const PhasedBeams* phased = nullptr;
  std::function<void(std::size_t chan, std::size_t first, PhasedChannel& channel, View<double, 2> directions,
                     View<std::complex<float>, 3> elements)>
      evaluate_phased{};
};

class DeviceComponents {
 public:
  virtual ~DeviceComponents() = default;
  /// 1, Stokes I, or 4: I Q U V as stokes_of(), or through matrices XX XY YX YY.
  virtual std::size_t n_planes() const = 0;
  /// Where components are from now on, to rows whose u, v and w are coordinates in any frame, for example
  /// that of the horizon, in which the sky turns. std::invalid_argument unless there is one place for each.
  virtual void place(std::span<const ComponentPlace> places) = 0;
  /// uvw_m [row][3], path_m [row] or empty, data [row][chan][plane], which is overwritten when this returns.
  /// std::invalid_argument when the shapes disagree.
  virtual void predict(View<const double, 2> uvw_m, View<const double, 1> path_m,
                       View<std::complex<float>, 3> data) = 0;
  /// The same as ComponentPredictor::add_through() over all components, for rows of one slot: station
  /// [row][p, q], data overwritten. Matrices are uploaded once for all calls of a slot where they fit into
  /// the device's memory; otherwise for each call, in batches.
  virtual void predict_through(View<const double, 2> uvw_m, View<const double, 1> path_m,
                               View<const std::uint32_t, 2> station, const StationMatrices& matrices,
                               View<std::complex<float>, 3> data) = 0;
};

/// Memory of the host for one of these: pinned pieces of matrices and results, and tables.
inline std::uint64_t device_components_bytes(std::size_t n_components, std::size_t n_chan, bool through) {
  constexpr std::uint64_t kPieces = std::uint64_t{2} * 8'000'000, kMatrices = std::uint64_t{2} * 32'000'000;
  return kPieces + (through ? kMatrices : 0) + std::uint64_t{16} * n_components * n_chan;
}

/// DeviceError without CUDA or the device.
std::unique_ptr<DeviceComponents> make_device_components(const SkyModel& sky,
                                                         const DeviceComponentsSetup& setup);

}  // namespace apsyn::simulate
