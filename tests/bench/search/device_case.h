// SPDX-License-Identifier: GPL-3.0-or-later
// bench_search on a GPU.
#pragma once

#include <cstddef>

namespace apsyn::bench {

/// A band and its trials.
struct SearchCase {
  const char* name;
  double first_mhz, step_mhz;
  std::size_t n_chan;
  double sample_s, dm_high, dm_step;  ///< step 0: auto
};

/// One JSON line: samples go to the device, trials are made of them, and searched there.
void bench_on_device(const SearchCase& c, std::size_t gulp, int device_index);

}  // namespace apsyn::bench
