// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated visibilities whose sums over components a GPU makes: what visibilities.h says, in single
// precision as device_components.h sums, with the same noise to the last bit. Rows are baselines in the frame
// of the horizon, through which components move from one integration to the next. What the ionosphere adds to
// phases goes into matrices of the antennas.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/simulate/device_components.h"
#include "kernels/simulate/visibilities.h"

namespace apsyn::simulate {

/// What make_device_components() is asked for; `through` when there are A-terms or an ionosphere.
DeviceComponentsSetup device_setup(const VisibilitySetup& setup, bool through, unsigned n_threads,
                                   int device_index);

class DeviceVisibilities {
 public:
  /// `sums`: of the sky and the setup above. Keeps a reference to `setup`. std::invalid_argument for Stokes
  /// products.
  DeviceVisibilities(const VisibilitySetup& setup, bool through, std::unique_ptr<DeviceComponents> sums);
  /// Makes what simulate_visibilities() makes. A-terms are those of `aterms` where not null, made while
  /// the device works; otherwise rotations.jones. With an ionosphere they have to be the latter.
  void simulate(std::int64_t index, const SkyRotations& rotations, const StationMatrices* aterms,
                unsigned n_threads, View<std::complex<float>, 3> data, View<double, 2> uvw_m);

 private:
  void place_components(const SkyRotations& rotations);

  const VisibilitySetup& setup_;
  bool through_;
  std::unique_ptr<DeviceComponents> sums_;
  Buffer<std::complex<double>, 2> mix_;       ///< [product][plane]
  Buffer<double, 2> baseline_m_;              ///< [baseline][east, north, up]
  Buffer<std::uint32_t, 2> station_;          ///< [baseline][i, j]
  Buffer<std::complex<float>, 3> planes_jy_;  ///< [baseline][chan][plane]
  std::vector<ComponentPlace> places_;
};

}  // namespace apsyn::simulate
