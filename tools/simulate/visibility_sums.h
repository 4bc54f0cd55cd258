// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of one integration after the other, on the CPU or a GPU, through the A-terms of their times.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/simulate/device_visibilities.h"
#include "kernels/simulate/visibilities.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/sky/aterms.h"
#include "libcore/system/device.h"
#include "tools/imaging/components/component_sums.h"

namespace apsyn {

struct VisibilitySumsSetup {
  SkyDirection phase_centre;
  AtermModel* aterms = nullptr;  ///< null: none
  bool has_ionosphere = false;
  Device device;
  unsigned n_threads = 1;
};

class VisibilitySums {
 public:
  /// Keeps a reference to `sky`. DeviceError without the device.
  VisibilitySums(const simulate::VisibilitySetup& sky, const VisibilitySumsSetup& setup);
  /// What simulate_visibilities() makes; on the CPU the same results.
  void simulate(std::int64_t index, double time_mjd_s, simulate::SkyRotations rotations,
                View<std::complex<float>, 3> data, View<double, 2> uvw_m);

 private:
  imaging::StationSight sight() const;
  void keep_matrices(std::int64_t slot);

  const simulate::VisibilitySetup& sky_;
  VisibilitySumsSetup setup_;
  std::vector<SkyDirection> directions_;
  std::optional<simulate::DeviceVisibilities> on_device_;
  Buffer<std::complex<float>, 4> jones_;  ///< [chan][ant][component][4], unless a GPU asks for parts of them
  std::optional<std::int64_t> slot_;      ///< theirs
};

/// Memory of one of these on the host, beside the data.
double visibility_sums_bytes(const simulate::VisibilitySetup& sky, const VisibilitySumsSetup& setup);

}  // namespace apsyn
