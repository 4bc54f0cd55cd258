// SPDX-License-Identifier: GPL-3.0-or-later
// Raw samples that stay on the device, as an F stage hands them out.
#pragma once

#include <memory>

#include "libcore/base/view.h"

namespace apsyn {
class DeviceSpectrumSource;
}

namespace apsyn::bench {

struct ResidentSource {
  std::shared_ptr<DeviceSpectrumSource> source;
  operator DeviceSpectrumSource&() const { return *source; }
  /// For the device.
  void wait() const;
};

/// samples [time][chan][input], 4 bits each part, re in the high nibble. DeviceError without CUDA.
std::unique_ptr<ResidentSource> make_resident_source(View<const std::uint8_t, 3> samples, std::size_t n_ant);

}  // namespace apsyn::bench
