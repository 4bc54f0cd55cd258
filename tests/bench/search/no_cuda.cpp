// SPDX-License-Identifier: GPL-3.0-or-later
// The benchmark of the search in a build without the CUDA toolkit.
#include <fmt/core.h>

#include "libcore/system/device.h"
#include "tests/bench/search/device_case.h"

namespace apsyn::bench {

void bench_on_device(const SearchCase&, std::size_t, int device_index) {
  choose_device(fmt::format("cuda:{}", device_index), CudaSupport::available, 1);
}

}  // namespace apsyn::bench
