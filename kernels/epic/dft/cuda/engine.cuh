// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of `dft` on the device: float32 on any (tile_product.cuh), or int8 on tensor cores
// (dft/cuda/int8.cuh) for samples that are integers: in one limb, or in two that make weights of 16 bits.
#pragma once

#include <memory>

#include "kernels/epic/cuda/samples.cuh"
#include "kernels/epic/cuda/sky.cuh"

namespace apsyn::epic_cuda {

class DeviceDftEngine {
 public:
  virtual ~DeviceDftEngine() = default;
  /// Whether what an antenna has with itself is taken off already.
  virtual bool removes_autos() const = 0;
  /// Pixels or antennas of the sky are others than before.
  virtual void move() = 0;
  /// sums of the sky += products of the samples.
  virtual void image(const Samples& samples, cudaStream_t stream) = 0;
};

/// `plan` and `sky` must outlive the engine.
std::unique_ptr<DeviceDftEngine> make_float_engine(const EpicPlan& plan, DeviceSky& sky);
std::unique_ptr<DeviceDftEngine> make_int8_engine(const EpicPlan& plan, DeviceSky& sky, int n_limb,
                                                  int device_index);
/// Whether a device has what int8 takes.
bool multiplies_int8(int device_index);
/// Whether roundings of two limbs stay below 3e-5 of the peak: antennas are many, of even factors g.
bool two_limbs_suffice(const EpicPlan& plan);

}  // namespace apsyn::epic_cuda
