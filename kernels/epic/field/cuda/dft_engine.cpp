// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/sky.cuh"
#include "kernels/epic/factors.h"
#include "kernels/epic/fft/setup.h"
#include "kernels/epic/field/cuda/engine.cuh"
#include "kernels/epic/field/cuda/tasks.cuh"

namespace apsyn::epic_cuda {
namespace {

class FieldDftEngine final : public DeviceFieldEngine {
 public:
  explicit FieldDftEngine(const EpicPlan& plan) : plan_(plan), sky_(plan) {}

  Buffer<std::complex<float>, 2> aim(const EpicGeometry& geometry, const SkyPixels&) override {
    sky_.move_to(geometry);
    Buffer<std::complex<float>, 2> factors({plan_.n_channel(), plan_.n_ant * plan_.n_pol});
    for (std::size_t channel = 0; channel < plan_.n_channel(); ++channel)
      for (std::size_t input = 0; input < plan_.n_ant * plan_.n_pol; ++input)
        factors(channel, input) =
            std::complex<float>(epic_factor(plan_, input / plan_.n_pol, input % plan_.n_pol, channel));
    return factors;
  }

  void image(const float2* samples, int first_channel, int n_channel, float2* fields,
             cudaStream_t stream) override {
    FieldSumTask task;
    task.sky = sky_.weights(first_channel, n_channel);
    task.samples = samples;
    task.n_pol = static_cast<int>(fft_values(plan_));
    task.fields = fields;
    launch_field_sums(task, stream);
  }

 private:
  const EpicPlan& plan_;
  DeviceSky sky_;
};

}  // namespace

std::unique_ptr<DeviceFieldEngine> make_field_dft_engine(const EpicPlan& plan) {
  return std::make_unique<FieldDftEngine>(plan);
}

}  // namespace apsyn::epic_cuda
