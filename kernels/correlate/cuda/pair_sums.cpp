// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/pair_sums_cuda.h"

#include <algorithm>
#include <optional>

#include "kernels/common/cuda/pair_sums.cuh"
#include "kernels/common/cuda/transfer.h"
#include "kernels/correlate/cuda/float_stage.cuh"
#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

class PairSumsOfStages final : public DevicePairSums {
 public:
  PairSumsOfStages(std::size_t n_channel, std::size_t n_input, int device_index)
      : n_channel_(n_channel), n_input_(n_input), device_(device_index) {}

  void add(const DeviceSamples& samples, const std::uint8_t* valid, std::size_t n_pol, std::size_t n_spectra,
           cudaStream_t stream) override {
    if (!integers_) integers_.emplace(XStageShape{n_channel_, n_input_}, device_);
    if (room_ < n_spectra) {
      layout_ = integers_->layout(n_spectra);
      packed_ = DeviceArray<std::int8_t>();  // give back before asking for more
      packed_ = integers_->allocate(layout_);
      room_ = n_spectra;
    }
    x_stage::PackTask task;
    task.in = samples.data;
    task.format = samples.four_bit ? x_stage::RawFormat::int4 : x_stage::RawFormat::int8;
    task.n_time = static_cast<int>(n_spectra);
    task.valid = valid;
    task.n_pol = static_cast<int>(n_pol);
    integers_->pack(task, layout_, packed_.data(), stream);
    integers_->add(packed_.data(), layout_, n_spectra, stream);
    any_integers_ = true;
  }

  void add(const float2* samples, std::size_t channel_stride, std::size_t n_spectra,
           cudaStream_t stream) override {
    if (!floats_)
      floats_.emplace(FloatStageShape{n_channel_, n_input_, FloatAlgorithm::register_tiles}, device_);
    floats_->add(samples, channel_stride, n_spectra, stream);
    any_floats_ = true;
  }

  void finish(double2* sums, bool add, cudaStream_t stream) override {
    const std::size_t n = n_channel_ * n_input_ * (n_input_ + 1) / 2;
    if (any_integers_)
      integers_->finish_sums(sums, add, stream);
    else if (!add)
      cuda_check(cudaMemsetAsync(sums, 0, n * sizeof(double2), stream), "clearing sums of pairs");
    if (any_floats_) {
      floats_->finish_sums(float_sums_.reserve(2 * n), stream);
      x_stage::launch_add_sums(sums, float_sums_.data(), n, stream);
    }
    any_integers_ = any_floats_ = false;
  }

  std::optional<x_stage::TileSums> take_tiles() override {
    if (!any_integers_ || any_floats_) return {};
    const auto tiles = integers_->take_tiles();
    if (tiles) any_integers_ = false;
    return tiles;
  }

 private:
  std::size_t n_channel_, n_input_;
  int device_;
  std::optional<DeviceXStage> integers_;
  x_layout::Layout layout_;
  DeviceArray<std::int8_t> packed_;  // layout_
  std::size_t room_ = 0;             // spectra of layout_
  std::optional<DeviceFloatStage> floats_;
  bool any_integers_ = false, any_floats_ = false;
  Upload<double> float_sums_;
};

}  // namespace

std::shared_ptr<DevicePairSums> make_device_pair_sums(std::size_t n_channel, std::size_t n_input,
                                                      int device_index) {
  return std::make_shared<PairSumsOfStages>(n_channel, n_input, device_index);
}

}  // namespace apsyn
