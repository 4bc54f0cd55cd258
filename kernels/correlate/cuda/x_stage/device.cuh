// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on integers for samples that are already on the device, where an F stage has put them. All work
// is queued on the caller's stream without waiting; calls on different streams must be ordered by events, as
// they share the sums. Exact for integrations of any length.
//
//   S_ij(chan) = sum_t E_i(t) conj(E_j(t)),  i <= j,  input = ant * n_pol + pol        (Wayth, Greenhill &
//   Briggs 2009, equation 1)
//
// A complex product is four real ones. With rows [re | im] of 64 samples each,
//   Re S = re_i.re_j + im_i.im_j        Im S = im_i.re_j - re_i.im_j,
// and the subtraction becomes an addition with the one's complement, -x = ~x + 1, which is an int8 even for
// -128:
//   Im S = im_i.re_j + (~re_i).im_j + sum_t im_j.
// int32 accumulators hold 65535 samples of full-range int8 (2 * 128 * 128 * 65535 < 2^31 with the column
// sum); longer sums spill to int64. Samples of 4 bits stay packed in device memory; Hopper's kernels multiply
// them times 16, and the sums are divided by 256, exactly.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "kernels/common/cuda/array.h"
#include "kernels/correlate/cuda/x_stage/kernels.cuh"
#include "kernels/correlate/cuda/x_stage/means.cuh"
#include "kernels/correlate/cuda/x_stage/pack.cuh"

namespace apsyn {

struct XStageShape {
  std::size_t n_chan = 0, n_input = 0;
  unsigned n_bit = 8;  ///< 8, or 4: components lie in -8..7 and take half the memory
};

/// `wgmma` needs compute capability 9.0, `mma` 8.0; `automatic` takes what the device has.
enum class XStageKernel { automatic, wgmma, mma };

class DeviceXStage {
 public:
  /// UsageError for an empty shape or another number of bits; DeviceError without the device, or if it cannot
  /// run `kernel`.
  DeviceXStage(const XStageShape& shape, int device_index, XStageKernel kernel = XStageKernel::automatic);

  /// The layout of samples for add(), with room for n_spectra spectra.
  x_layout::Layout layout(std::size_t n_spectra) const;
  /// Cleared device memory for samples in that layout.
  DeviceArray<std::int8_t> allocate(const x_layout::Layout& layout) const;
  /// Raw samples on the device -> `out`; fill in all of `task` but out and layout.
  void pack(x_stage::PackTask task, const x_layout::Layout& layout, std::int8_t* out,
            cudaStream_t stream) const;

  /// Adds the products of the first n_spectra spectra. The rest of their block of 64 is cleared in `samples`.
  void add(std::int8_t* samples, const x_layout::Layout& layout, std::size_t n_spectra, cudaStream_t stream);

  /// Writes sums [chan][pair i <= j, row-major][re, im] to pinned or device memory, and clears them.
  void finish_sums(std::int64_t* sums, cudaStream_t stream);
  /// The same as float64 on the device; with `add` they are added to `sums` instead of replacing them.
  void finish_sums(double2* sums, bool add, cudaStream_t stream);
  /// The sums in place, valid until more is added, after which they start from 0; no value if they are split
  /// between two arrays, or if nothing has been added.
  std::optional<x_stage::TileSums> take_tiles();
  /// Writes means and weights, and clears the sums. Fill in all of `task` but n_chan; its counts and gains
  /// must be on the device.
  void finish_means(x_stage::MeanTask task, cudaStream_t stream);
  /// Discards the sums so far.
  void discard();

  std::size_t n_pairs() const { return shape_.n_input * (shape_.n_input + 1) / 2; }

 private:
  /// Whether the kernel multiplies 4-bit samples as they are, instead of 8-bit copies of them.
  bool direct() const { return shape_.n_bit == 8 || wgmma_; }
  x_stage::TileSums sums() const;
  void reserve_total();
  void spill(cudaStream_t stream);

  XStageShape shape_;
  int device_, n_sm_ = 0;
  bool wgmma_ = false;
  int tile_ = 0, n_tiles_ = 0;
  std::size_t n_summed_ = 0;  ///< spectra in sums_
  bool spilled_ = false;      ///< whether total_ holds anything
  DeviceArray<x_stage::TilePair> pairs_;
  DeviceArray<int2> sums_;             ///< cuda/x_stage/kernels.cuh
  DeviceArray<longlong2> total_;       ///< [chan][pair], when it is first needed
  DeviceArray<std::int8_t> expanded_;  ///< 4-bit samples as 8-bit ones, for kernels that need them
};

}  // namespace apsyn
