// SPDX-License-Identifier: GPL-3.0-or-later
// `dft` with CUDA: every antenna to every pixel (epic.h).
#include "kernels/epic/epic_cuda.h"

#include <stdexcept>

#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/corr/cuda/engine.cuh"
#include "kernels/epic/cuda/images.cuh"
#include "kernels/epic/cuda/input.cuh"
#include "kernels/epic/dft/cuda/engine.cuh"

namespace apsyn {
namespace {

using namespace epic_cuda;

EpicPlan checked(EpicPlan plan) {
  check_epic_plan(plan);
  return plan;
}

class CudaDftImager final : public DeviceImager {
 public:
  CudaDftImager(EpicPlan plan, EpicPrecision precision, int device_index)
      : device_(device_index),
        chosen_(device_index),
        plan_(checked(std::move(plan))),
        weights_(plan_),
        sky_(plan_),
        input_(plan_),
        autos_(plan_),
        floats_(make_float_engine(plan_, sky_)) {
    const bool half = precision == EpicPrecision::half;
    if (multiplies_int8(device_index) && plan_.apertures.empty() && (half || two_limbs_suffice(plan_)))
      integers_ = make_int8_engine(plan_, sky_, half ? 1 : 2, device_index);
    powers_.reserve(n_power());
  }

  bool takes_codes() const override { return true; }

  void start(const EpicGeometry& geometry) override {
    check_epic_geometry(plan_, geometry);
    choose_device();
    weights_.start();
    sky_.apertures().start();
    if (sky_.move_to(geometry)) {
      floats_->move();
      if (integers_) integers_->move();
    }
    settle_copies();
    sky_.clear(stream_.get());
    cuda_check(cudaMemsetAsync(powers_.data(), 0, n_power() * sizeof(double), stream_.get()),
               "clearing powers");
  }

  void add(const SpectraBlock& block) override {
    check_epic_block(plan_, block);
    choose_device();
    weights_.add(block);
    sky_.apertures().add(block);
    image(input_.from(block, stream_.get()));
  }

  void add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) override {
    choose_device();
    validity_.n_spectra = n_spectra;
    const Samples samples = input_.from(source, first, validity_, stream_.get());
    weights_.add(validity_);
    sky_.apertures().add(validity_);
    image(samples);
    input_.done(source, stream_.get());
  }

  bool take_later(EpicImages& images) override {
    choose_device();
    finish_planes(plan_, weights_, sky_, autos_, plan_.autos ? nullptr : powers_.data(), -1, copy_, images,
                  stream_.get());
    return true;
  }
  void settle() override { copy_.settle(); }

 private:
  /// Before anything is asked of the device.
  struct ChosenDevice {
    explicit ChosenDevice(int index) { cuda_check(cudaSetDevice(index), "choosing the device"); }
  };
  void choose_device() const { ChosenDevice{device_}; }
  std::size_t n_power() const { return plan_.n_channel() * plan_.n_ant * 4; }

  void image(const Samples& samples) {
    if (sky_.n_pixel() == 0) return;
    const bool integers = integers_ && samples.format != SampleFormat::float32;
    DeviceDftEngine& engine = integers ? *integers_ : *floats_;
    engine.image(samples, stream_.get());
    if (!plan_.autos && !engine.removes_autos()) launch_powers(samples, powers_.data(), stream_.get());
  }

  int device_;
  ChosenDevice chosen_;
  EpicPlan plan_;
  EpicWeights weights_;
  DeviceSky sky_;
  EpicInput input_;
  DeviceAutos autos_;
  PlaneCopy copy_;
  std::unique_ptr<DeviceDftEngine> floats_, integers_;
  Upload<double> powers_;  // [channel][ant][value], of what float32 imaged
  SpectraBlock validity_;
  CopyStream stream_;
};

}  // namespace

std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan plan, EpicPrecision precision, int device_index) {
  return std::make_unique<CudaDftImager>(std::move(plan), precision, device_index);
}

std::unique_ptr<DeviceImager> make_dft_imager_cuda(EpicPlan plan, EpicPrecision precision, int device_index,
                                                   MakePairSums make_sums, double n_spectra) {
  if (plan.n_fine > 1) precision = EpicPrecision::single;  // spectra of an F stage are floats
  if (!serves_half_pairs(plan, device_index) || !cuda_dft_by_pairs(plan, precision, n_spectra))
    return make_dft_imager_cuda(std::move(plan), precision, device_index);
  return make_corr_imager_cuda(std::move(plan), std::move(make_sums), device_index, CorrMethod::direct, 0,
                               precision);
}

}  // namespace apsyn
