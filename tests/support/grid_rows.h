// SPDX-License-Identifier: GPL-3.0-or-later
// The arrays behind a GridBlock, for tests and benchmarks. Those that a case does not need stay empty.
#pragma once

#include <complex>
#include <cstdint>

#include "kernels/idg/idg.h"

namespace apsyn::support {

struct GridRows {
  Buffer<double, 2> uvw_m;
  Buffer<double, 1> wavenumber;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> row_slot, chan_slot;
  Buffer<std::complex<float>, 6> jones;
  Buffer<std::uint32_t, 3> response;  ///< [row slot][chan slot][station], or empty
  double max_w_lambda = 0;

  GridBlock block() const {
    return {uvw_m, {}, wavenumber, data, weight, station, {row_slot, chan_slot, jones, response}};
  }
};

}  // namespace apsyn::support
