// SPDX-License-Identifier: GPL-3.0-or-later
// A way in which the CUDA `fft` imager sums products. For host code with CUDA only.
#pragma once

#include <memory>

#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/cuda/samples.cuh"
#include "kernels/epic/fft/fft_cuda.h"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

/// E on the device.
struct EngineSpectra {
  epic_cuda::Samples samples;
  const float2* factor = nullptr;  ///< g, [channel of the plan][ant][pol of the samples]
  int first_pol = 0, n_pol = 2;    ///< that are used
  double largest = 0;              ///< |E|, of integers; 0 = unknown
};

class FftEngine {
 public:
  virtual ~FftEngine() = default;
  /// Begins an accumulation.
  virtual void start(cudaStream_t stream) = 0;
  /// Queues the products of some spectra.
  virtual void add(const EngineSpectra& spectra, cudaStream_t stream) = 0;
  /// Queues sums [image channel][column][row, LanePixels::n_row()][value] -> device memory, good until the
  /// next call.
  virtual const double* collect(cudaStream_t stream) = 0;
};

/// g E on the device, [channel][spectrum][ant][pol that is used].
struct PreparedSpectra {
  const float2* samples = nullptr;
  int first_channel = 0, n_channel = 0, n_spectra = 0;
  double largest = 0;  ///< as EngineSpectra
};

/// An engine that takes samples times their factors, g E.
class PreparedEngine : public FftEngine {
 public:
  void add(const EngineSpectra& spectra, cudaStream_t stream) final;

 protected:
  virtual void add_prepared(const PreparedSpectra& spectra, cudaStream_t stream) = 0;

 private:
  Upload<float2> prepared_;
};

/// Null when one kernel cannot image these planes. Half precision takes integers only.
std::unique_ptr<FftEngine> make_fused_engine(const EpicPlan& plan, const FftGridded& gridded,
                                             EpicPrecision precision, int device_index);
/// For integers only; null for arrays that reach too many cells, and if a single power is wanted.
std::unique_ptr<FftEngine> make_matrix_engine(const EpicPlan& plan, const FftGridded& gridded,
                                              EpicPrecision precision, int device_index);
std::unique_ptr<FftEngine> make_staged_engine(const EpicPlan& plan, const FftGridded& gridded);

}  // namespace apsyn::epic_fft
