// SPDX-License-Identifier: GPL-3.0-or-later
// Direct imaging with CUDA. Definitions, units, images and exceptions are those of epic.h; in addition
// DeviceError is thrown in a build without CUDA, without the device, or if its memory does not suffice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/epic/epic.h"

namespace apsyn {

class DevicePairSums;
class DeviceSpectrumSource;

/// A DirectImager that can also take spectra that are already on its device.
class DeviceImager : public DirectImager {
 public:
  /// Spectra first .. first + n_spectra - 1 of all channels. Returns before they are imaged.
  virtual void add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) = 0;
  void take(EpicImages& images) final {
    settle();
    take_later(images);
    settle();
  }
};

enum class EpicPrecision {
  /// `dft` of integer samples: weights are rounded to int8, sums of them are exact. 3e-4 of the RMS image, at
  /// most 2e-4 of the peak of a point source. For compute capability 8.0 and newer; other devices, and
  /// spectra that an F stage made, are imaged as for `single`. With sums of pairs (below), also of floats:
  /// 3e-4 of the RMS image without autocorrelations. `fft`: integer samples are transformed in halves.
  half,
  /// 3e-5 of the peak at most: float32, or weights of two int8 limbs where they suffice for that.
  single,
};

std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan plan, EpicPrecision precision, int device_index);

/// Makes sums of pairs of n_input inputs in n_channel channels on a device.
using MakePairSums = std::function<std::shared_ptr<DevicePairSums>(std::size_t n_channel, std::size_t n_input,
                                                                   int device_index)>;
std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan plan, MakePairSums make_sums, int device_index);
/// dft for accumulations of about n_spectra. If n_spectra is large enough for this to be cheaper, spectra are
/// summed before antennas, sum_ab w_a (sum_t E_a conj(E_b)) conj(w_b), on Hopper, for two polarisations and
/// as many antennas as fit (corr/cuda/half.cuh).
std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan plan, EpicPrecision precision, int device_index,
                                                   MakePairSums make_sums, double n_spectra);

/// EpicPlan::field by fft or dft. UsageError for corr.
std::unique_ptr<DeviceImager> make_field_imager_cuda(EpicMethod method, EpicPlan plan, int device_index);

/// Seconds of a GPU, measured on an H200 (tests/bench/README.md); ratios between methods matter. `bytes` are
/// those of the host.
EpicCost cuda_epic_cost(EpicMethod method, const EpicPlan& plan, const EpicGeometry& geometry,
                        EpicPrecision precision);
/// The cheapest method for accumulations of n_spectra, given the precision of dft and of fft.
EpicMethod choose_cuda_epic_method(const EpicPlan& plan, const EpicGeometry& geometry, double n_spectra,
                                   EpicPrecision dft_precision, EpicPrecision fft_precision);

}  // namespace apsyn
