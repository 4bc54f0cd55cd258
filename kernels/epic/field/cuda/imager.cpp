// SPDX-License-Identifier: GPL-3.0-or-later
// Images of the field with CUDA: one spectrum in, complex images out.
#include "kernels/epic/epic_cuda.h"
#include "libcore/base/error.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/epic/cuda/images.cuh"
#include "kernels/epic/cuda/input.cuh"
#include "kernels/epic/fft/cuda/steps.cuh"
#include "kernels/epic/fft/setup.h"
#include "kernels/epic/field/cuda/engine.cuh"
#include "kernels/epic/field/cuda/tasks.cuh"
#include "kernels/epic/field/imager.h"

namespace apsyn {
namespace {

using namespace epic_cuda;

class CudaFieldImager final : public DeviceImager {
 public:
  CudaFieldImager(EpicMethod method, EpicPlan plan, int device_index)
      : device_(device_index),
        plan_(checked_field_plan(std::move(plan))),
        antennas_(counting_antennas(plan_)),
        input_(plan_),
        engine_(method == EpicMethod::fft ? make_field_fft_engine(plan_) : make_field_dft_engine(plan_)) {}

  bool takes_codes() const override { return true; }
  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) override;
  bool take_later(EpicImages& images) override;
  void settle() override { copy_.settle(); }

 private:
  void choose_device() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }
  std::size_t n_pol() const { return fft_values(plan_); }
  void image(const Samples& samples);

  int device_;
  EpicPlan plan_;
  EpicWeights antennas_;  // of each spectrum n_t^2
  EpicInput input_;
  PlaneCopy copy_;
  std::unique_ptr<DeviceFieldEngine> engine_;
  bool aimed_ = false;
  EpicGeometry geometry_;
  std::size_t n_pixel_ = 0;
  Upload<std::uint32_t> index_;
  Upload<float2> factors_;   // [channel][ant][pol]
  Upload<float2> prepared_;  // [channel][ant][pol that is used]
  Upload<float2> fields_;    // [channel][pol that is used][pixel]
  SpectraBlock validity_;
  CopyStream stream_;
};

void CudaFieldImager::start(const EpicGeometry& geometry) {
  check_epic_geometry(plan_, geometry);
  choose_device();
  antennas_.start();
  if (aimed_ && same_geometry(geometry, geometry_)) return;
  cuda_check(cudaStreamSynchronize(stream_.get()), "imaging");  // of the last field
  const SkyPixels pixels = sky_pixels(plan_, geometry);
  const auto factors = engine_->aim(geometry, pixels);
  factors_.copy(factors.data(), factors.size());
  index_.copy(pixels.index.data(), pixels.index.size());
  n_pixel_ = pixels.size();
  fields_.reserve(plan_.n_channel() * n_pol() * n_pixel_);
  settle_copies();
  geometry_ = geometry;
  aimed_ = true;
}

void CudaFieldImager::add(const SpectraBlock& block) {
  check_epic_block(plan_, block);
  choose_device();
  antennas_.add(block);
  image(input_.from(block, stream_.get()));
}

void CudaFieldImager::add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) {
  choose_device();
  validity_.n_spectra = n_spectra;
  const Samples samples = input_.from(source, first, validity_, stream_.get());
  antennas_.add(validity_);
  image(samples);
  input_.done(source, stream_.get());
}

void CudaFieldImager::image(const Samples& samples) {
  if (samples.n_spectra != 1) throw std::logic_error("FieldImager: one spectrum");
  const std::size_t n_input = plan_.n_ant * n_pol();
  epic_fft::PrepareTask task;
  task.samples = samples;
  task.factor = factors_.data();
  task.n = 1;
  task.first_pol = static_cast<int>(fft_first_pol(plan_));
  task.n_pol = static_cast<int>(n_pol());
  task.out = prepared_.reserve(static_cast<std::size_t>(samples.n_channel) * n_input);
  epic_fft::launch_prepare(task, stream_.get());
  float2* fields = fields_.data() + static_cast<std::size_t>(samples.first_channel) * n_pol() * n_pixel_;
  engine_->image(task.out, samples.first_channel, samples.n_channel, fields, stream_.get());
}

bool CudaFieldImager::take_later(EpicImages& images) {
  choose_device();
  FieldPlaneTask task;
  task.fields = fields_.data();
  task.index = index_.data();
  task.n_channel = static_cast<int>(plan_.n_channel());
  task.n_pol = static_cast<int>(n_pol());
  task.n_pixel = static_cast<int>(n_pixel_);
  task.plane_size = plan_.height() * plan_.width();
  task.planes = copy_.planes(plan_.n_channel() * plan_.n_plane() * task.plane_size, stream_.get());
  task.scales = copy_.scales(plan_, antennas_, stream_.get());
  launch_field_planes(task, stream_.get());
  copy_.send(plan_, antennas_, images, stream_.get());
  for (double& weight : images.weight) weight = std::sqrt(weight);  // of antennas, not of pairs
  return true;
}

}  // namespace

std::unique_ptr<DeviceImager> make_field_imager_cuda(EpicMethod method, EpicPlan plan, int device_index) {
  refuse_field_by(method);
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<CudaFieldImager>(method, std::move(plan), device_index);
}

}  // namespace apsyn
