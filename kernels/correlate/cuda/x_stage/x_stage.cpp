// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/x_stage_cuda.h"

#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

class XStage final : public CudaXStage {
 public:
  XStage(const XStageShape& shape, int device_index, XStageKernel kernel)
      : shape_(shape), device_(device_index), stage_(shape, device_index, kernel) {
    if (shape.max_time == 0 || shape.max_time > kMaxTime)
      throw UsageError("correlate: {} samples per block: 1 to {}", shape.max_time, kMaxTime);
    layout_ = stage_.layout(shape.max_time);
    raw_ = DeviceArray<char2>(shape.max_time * shape.n_chan * shape.n_input);
    packed_ = stage_.allocate(layout_);
  }

  void add(View<const std::int8_t, 4> samples) override {
    if (samples.extent(0) > shape_.max_time || samples.extent(1) != shape_.n_chan ||
        samples.extent(2) != shape_.n_input || samples.extent(3) != 2)
      throw UsageError("correlate: samples of shape {}x{}x{}x{} do not fit the plan", samples.extent(0),
                       samples.extent(1), samples.extent(2), samples.extent(3));
    if (samples.size() == 0) return;
    cuda_check(cudaSetDevice(device_), "choosing the device");
    cuda_check(cudaMemcpy(raw_.data(), samples.data(), samples.size(), cudaMemcpyHostToDevice),
               "copying samples");
    n_time_ = samples.extent(0);
    x_stage::PackTask task;
    task.in = reinterpret_cast<const std::uint8_t*>(raw_.data());
    task.n_time = static_cast<int>(n_time_);
    stage_.pack(task, layout_, packed_.data(), nullptr);
    repeat();
  }

  void repeat() override {
    if (n_time_ > 0) stage_.add(packed_.data(), layout_, n_time_, nullptr);
  }

  void finish(View<std::int64_t, 3> sums) override {
    if (sums.extent(0) != shape_.n_chan || sums.extent(1) != stage_.n_pairs() || sums.extent(2) != 2)
      throw UsageError("correlate: sums of shape {}x{}x{} do not fit the plan", sums.extent(0),
                       sums.extent(1), sums.extent(2));
    stage_.finish_sums(sums.data(), nullptr);
    synchronise();
  }

  void discard() override { stage_.discard(); }

  void synchronise() override { cuda_check(cudaDeviceSynchronize(), "correlating"); }

 private:
  static constexpr std::size_t kMaxTime = 65535;
  XStageShape shape_;
  int device_;
  DeviceXStage stage_;
  x_layout::Layout layout_;
  std::size_t n_time_ = 0;           ///< in packed_
  DeviceArray<char2> raw_;           ///< [time][chan][input]
  DeviceArray<std::int8_t> packed_;  ///< layout_
};

}  // namespace

std::unique_ptr<CudaXStage> make_cuda_x_stage(const XStageShape& shape, int device_index,
                                              XStageKernel kernel) {
  return std::make_unique<XStage>(shape, device_index, kernel);
}

}  // namespace apsyn
