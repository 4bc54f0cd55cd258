// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on integers with CUDA: exact sums of E_i E_j* on tensor cores.
//
//   S_ij(chan) = sum_t E_i(t) conj(E_j(t)),  i <= j,  input = ant * n_pol + pol        (paper 001, equation
//   1)
//
// A complex product is four real ones. With rows [re | im] of 64 samples each,
//   Re S = re_i.re_j + im_i.im_j        Im S = im_i.re_j - re_i.im_j,
// and the subtraction becomes an addition with the one's complement, -x = ~x + 1, which is an int8 even for
// -128:
//   Im S = im_i.re_j + (~re_i).im_j + sum_t im_j.
// int32 accumulators hold 65535 samples of full-range int8 (2 * 128 * 128 * 65535 < 2^31 with the column
// sum); longer sums spill to int64. Samples of 4 bits stay so in device memory; Hopper's
// kernels multiply 16 times them, and the sums are divided by 256, exactly.
#pragma once

#include <cstdint>
#include <memory>

#include "libcore/base/view.h"

namespace apsyn {

struct XStageShape {
  std::size_t n_chan = 0, n_input = 0;
  std::size_t max_time = 0;  ///< samples per add() at most
  unsigned n_bit = 8;        ///< 8, or 4: every component is in -8..7 and takes half the room on the device
};

/// `wgmma` needs compute capability 9.0, `mma` 8.0; `automatic` takes what the device has.
enum class XStageKernel { automatic, wgmma, mma };

class CudaXStage {
 public:
  virtual ~CudaXStage() = default;
  /// Copies samples [time][chan][input][re, im] to the device and adds their products.
  virtual void add(View<const std::int8_t, 4> samples) = 0;
  /// Adds the products of the last add()'s samples again, without a copy (benchmarks).
  virtual void repeat() = 0;
  /// Writes sums [chan][pair][re, im], pairs i <= j row-major, and starts anew.
  virtual void finish(View<std::int64_t, 3> sums) = 0;
  /// Starts anew without the sums so far.
  virtual void discard() = 0;
  /// Waits for the device.
  virtual void synchronise() = 0;
};

/// DeviceError in a build without CUDA, without the device, or when the device lacks what `kernel` needs;
/// UsageError for an empty shape or another number of bits.
std::unique_ptr<CudaXStage> make_cuda_x_stage(const XStageShape& shape, int device_index,
                                              XStageKernel kernel = XStageKernel::automatic);

}  // namespace apsyn
