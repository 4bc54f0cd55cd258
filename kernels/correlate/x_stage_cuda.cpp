// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/x_stage_cuda.h"

#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <vector>

#include "kernels/common/device_array.h"
#include "kernels/correlate/x_stage_kernels.cuh"
#include "libcore/core/device.h"
#endif

namespace apsyn {
#ifdef APSYN_CUDA
namespace {

using namespace x_stage;

constexpr std::size_t kMaxInt32Samples = 65535;  // 2 * 128 * 128 * 65535 = 2^31 - 2^15; see x_stage_cuda.h

class XStage final : public CudaXStage {
 public:
  XStage(const XStageShape& shape, int device_index, XStageKernel kernel)
      : shape_(shape), device_(device_index) {
    if (shape.n_chan == 0 || shape.n_input == 0 || shape.max_time == 0)
      throw UsageError("correlate: nothing to do: {} channels, {} inputs, {} samples", shape.n_chan,
                       shape.n_input, shape.max_time);
    if (shape.max_time > kMaxInt32Samples || shape.n_chan > 65535 || shape.n_input > 65535)
      throw UsageError("correlate: {} channels, {} inputs and {} samples per block: at most 65535 of each",
                       shape.n_chan, shape.n_input, shape.max_time);
    cuda_check(cudaSetDevice(device_), "choosing the device");
    cudaDeviceProp properties{};
    cuda_check(cudaGetDeviceProperties(&properties, device_), "asking for the device's properties");
    n_sm_ = properties.multiProcessorCount;
    const bool hopper = properties.major == 9;
    if (kernel == XStageKernel::wgmma && !hopper)
      throw DeviceError("correlate: {} has no wgmma (compute capability {}.{}): use the mma kernel",
                        properties.name, properties.major, properties.minor);
    if (properties.major < 8)
      throw DeviceError("correlate: {} has compute capability {}.{}; 8.0 is needed", properties.name,
                        properties.major, properties.minor);
    wgmma_ = kernel == XStageKernel::wgmma || (kernel == XStageKernel::automatic && hopper);
    tile_ = wgmma_ && shape.n_input > 64 ? 128 : 64;
    n_tiles_ = (shape.n_input + tile_ - 1) / tile_;
    std::vector<TilePair> pairs(n_tiles_ * (n_tiles_ + 1) / 2);
    for (int row = 0; row < int(n_tiles_); ++row)
      for (int column = row; column < int(n_tiles_); ++column)
        pairs[pair_index(row, column, int(n_tiles_))] = {row, column};
    const std::size_t max_blocks = (shape.max_time + kBlockTime - 1) / kBlockTime;
    raw_ = DeviceArray<char2>(shape.max_time * shape.n_chan * shape.n_input);
    packed_ = DeviceArray<std::int8_t>(shape.n_chan * max_blocks * n_tiles_ * tile_ * kRowBytes);
    pairs_ = DeviceArray<TilePair>(pairs.size());
    sums_ = DeviceArray<int2>(shape.n_chan * pairs.size() * tile_ * tile_);
    total_ = DeviceArray<long long>(shape.n_chan * n_baselines() * 2);
    cuda_check(
        cudaMemcpy(pairs_.data(), pairs.data(), pairs.size() * sizeof(TilePair), cudaMemcpyHostToDevice),
        "copying the tile list");
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
    launch_pack({raw_.data(), packed_.data(), int(n_time_), int(shape_.n_chan), int(shape_.n_input),
                 int(n_tiles_ * tile_), n_blocks()},
                nullptr);
    repeat();
  }

  void repeat() override {
    if (n_time_ == 0) return;
    if (n_summed_ + n_time_ > kMaxInt32Samples) spill();
    const Task task{packed_.data(),     sums_.data(), pairs_.data(),         int(pairs_.size()),
                    int(shape_.n_chan), n_blocks(),   int(n_tiles_ * tile_), n_summed_ > 0};
    if (!wgmma_)
      launch_mma_64(task, nullptr);
    else if (tile_ == 128)
      launch_wgmma_128(task, n_sm_, nullptr);
    else
      launch_wgmma_64(task, n_sm_, nullptr);
    n_summed_ += n_time_;
  }

  void finish(View<std::int64_t, 3> sums) override {
    if (sums.extent(0) != shape_.n_chan || sums.extent(1) != n_baselines() || sums.extent(2) != 2)
      throw UsageError("correlate: sums of shape {}x{}x{} do not fit the plan", sums.extent(0),
                       sums.extent(1), sums.extent(2));
    cuda_check(cudaSetDevice(device_), "choosing the device");
    if (n_summed_ == 0 && !spilled_) {
      std::fill(sums.begin(), sums.end(), 0);
      return;
    }
    spill();
    static_assert(sizeof(long long) == sizeof(std::int64_t));
    cuda_check(
        cudaMemcpy(sums.data(), total_.data(), sums.size() * sizeof(std::int64_t), cudaMemcpyDeviceToHost),
        "copying visibilities back");
    discard();
  }

  void discard() override {
    n_summed_ = 0;
    spilled_ = false;
  }

  void synchronise() override { cuda_check(cudaDeviceSynchronize(), "correlating"); }

 private:
  std::size_t n_baselines() const { return shape_.n_input * (shape_.n_input + 1) / 2; }
  int n_blocks() const { return int((n_time_ + kBlockTime - 1) / kBlockTime); }
  void spill() {
    if (n_summed_ == 0) return;
    launch_spill({sums_.data(), total_.data(), int(shape_.n_chan), int(shape_.n_input), int(tile_),
                  int(n_tiles_), spilled_},
                 nullptr);
    spilled_ = true;
    n_summed_ = 0;
  }

  XStageShape shape_;
  int device_, n_sm_ = 0;
  bool wgmma_ = false;
  std::size_t tile_ = 0, n_tiles_ = 0;
  std::size_t n_time_ = 0;           ///< in packed_
  std::size_t n_summed_ = 0;         ///< samples in sums_
  bool spilled_ = false;             ///< whether total_ holds anything
  DeviceArray<char2> raw_;           ///< [time][chan][input]
  DeviceArray<std::int8_t> packed_;  ///< x_stage_kernels.cuh
  DeviceArray<TilePair> pairs_;
  DeviceArray<int2> sums_;        ///< x_stage_kernels.cuh
  DeviceArray<long long> total_;  ///< [chan][pair][re, im]
};

}  // namespace

std::unique_ptr<CudaXStage> make_cuda_x_stage(const XStageShape& shape, int device_index,
                                              XStageKernel kernel) {
  if (device_index < 0 || device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", device_index);
  return std::make_unique<XStage>(shape, device_index, kernel);
}
#else
std::unique_ptr<CudaXStage> make_cuda_x_stage(const XStageShape&, int device_index, XStageKernel) {
  throw DeviceError("cuda:{}: this build has no CUDA: build with -DAPSYN_CUDA=ON", device_index);
}
#endif

}  // namespace apsyn
