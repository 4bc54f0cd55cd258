// SPDX-License-Identifier: GPL-3.0-or-later
// Series on a GPU on their way from one operation to the next. Free of CUDA's headers.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace apsyn {

/// [series][time] floats in device memory; what fills or reads them is enqueued on `stream`. Work of
/// different lanes may overlap.
struct DeviceSeries {
  float* first = nullptr;
  std::size_t n_series = 0, n_time = 0;
  std::size_t stride = 0;  ///< floats from series to series
  CUstream_st* stream = nullptr;
  unsigned lane = 0;
};

}  // namespace apsyn
