// SPDX-License-Identifier: GPL-3.0-or-later
// run_hogbom(), run_clark() and Multiscale::run() on a GPU: residuals, PSFs and their transforms stay there
// for a minor cycle, and a loop over components is one kernel that runs on all multiprocessors until a limit.
// Components are the same as on the CPU except for rounding: float32 sums have the same order, but FFTs
// differ. With Hogbom's algorithm every pixel is updated for each component; the CPU gets the same result by
// bookkeeping.
#pragma once

#include <memory>
#include <vector>

#include "kernels/clean/cpu/clark.h"
#include "kernels/clean/cpu/multiscale.h"
#include "kernels/clean/spectral_fitter.h"

namespace apsyn {

struct CudaCleanSetup {
  CleanAlgorithm algorithm = CleanAlgorithm::clark;
  const std::vector<CleanScale>& scales;  ///< of multi-scale CLEAN
  double sub_minor_gain = 0.2;
  /// The fit with which task.component_of smooths spectra. Fits that are not linear cost a round trip to the
  /// host for each component.
  const SpectralFitter* fitter = nullptr;
  int device_index = 0;
};

class CudaCleaner {
 public:
  virtual ~CudaCleaner() = default;
  /// Multiscale::start_height().
  virtual double start_height() = 0;
  /// Cleans set.residual in place.
  virtual LoopStop run(const CleanTask& task) = 0;
};

/// The arrays that `set` views, the scales and the masks must outlive it. DeviceError in a build without
/// CUDA, without the device, or when its memory does not suffice.
std::unique_ptr<CudaCleaner> make_cuda_cleaner(const PlaneSet& set, const CudaCleanSetup& setup,
                                               const ScaleMasks& masks);

}  // namespace apsyn
