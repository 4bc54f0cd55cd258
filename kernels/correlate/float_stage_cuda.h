// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on float32 samples with CUDA: register tiles of fused multiply-adds, and the designs of Wayth
// et al. (2009), section 4, for comparison.
//
//   S_ij(chan) = sum_t E_i(t) conj(E_j(t)),  i <= j,  input = ant * n_pol + pol
//
// Sums are float64 between calls; the register kernel's error is about 2e-7 of the sum of the products'
// magnitudes for integrations of any length, the others' about sqrt(1024 / 3) 2^-25 = 6e-7.
#pragma once

#include <complex>
#include <memory>

#include "libcore/base/view.h"

namespace apsyn {

/// `pair`: a thread for each product; `group`: blocks share G inputs with G others through shared memory;
/// `hybrid`: a thread multiplies one input with G.
enum class FloatAlgorithm { register_tiles, pair, group2, group4, hybrid2, hybrid4 };

struct FloatStageShape {
  std::size_t n_chan = 0, n_input = 0;
  FloatAlgorithm algorithm = FloatAlgorithm::register_tiles;
};

class CudaFloatStage {
 public:
  virtual ~CudaFloatStage() = default;
  /// Copies samples [chan][spectrum][input] to the device and adds their products.
  virtual void add(View<const std::complex<float>, 3> samples) = 0;
  /// Adds the products of the last up to 1024 spectra of the last add() again, without a copy (benchmarks).
  virtual void repeat() = 0;
  /// Writes sums [chan][pair][re, im], pairs i <= j row-major, and starts anew.
  virtual void finish(View<double, 3> sums) = 0;
  /// Waits for the device.
  virtual void synchronise() = 0;
};

/// DeviceError in a build without CUDA or without the device; UsageError for an empty shape, or for more than
/// 4096 inputs with another algorithm than register tiles.
std::unique_ptr<CudaFloatStage> make_cuda_float_stage(const FloatStageShape& shape, int device_index);

}  // namespace apsyn
