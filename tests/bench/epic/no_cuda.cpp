// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of direct imaging on a device in a build without the CUDA toolkit.
#include "libcore/base/error.h"
#include "tests/bench/epic/resident_source.h"

namespace apsyn::bench {

void ResidentSource::wait() const {}

std::unique_ptr<ResidentSource> make_resident_source(View<const std::uint8_t, 3>, std::size_t) {
  throw DeviceError("cuda:0: this build has no CUDA: build with -DAPSYN_CUDA=ON");
}

}  // namespace apsyn::bench
