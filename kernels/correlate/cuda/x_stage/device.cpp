// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

using namespace x_stage;

namespace {

constexpr std::size_t kMaxInt32Samples = 65535;  // 2 * 128 * 128 * 65535 = 2^31 - 2^15
constexpr std::size_t kMaxInt32Blocks = kMaxInt32Samples / kBlockSpectra;

/// Waits for the default stream, so that streams that do not wait for it may use its results.
void finish_here() {
  cuda_check(cudaStreamSynchronize(nullptr), "preparing the X stage");
}

}  // namespace

DeviceXStage::DeviceXStage(const XStageShape& shape, int device_index, XStageKernel kernel)
    : shape_(shape), device_(device_index) {
  if (device_index < 0 || device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", device_index);
  if (shape.n_chan == 0 || shape.n_input == 0)
    throw UsageError("correlate: nothing to do: {} channels, {} inputs", shape.n_chan, shape.n_input);
  if (shape.n_chan > 65535 || shape.n_input > 65535)
    throw UsageError("correlate: {} channels and {} inputs: at most 65535 of each", shape.n_chan,
                     shape.n_input);
  if (shape.n_bit != 8 && shape.n_bit != 4)
    throw UsageError("correlate: {} bits: the X stage on integers takes 8 or 4", shape.n_bit);
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
  n_tiles_ = (static_cast<int>(shape.n_input) + tile_ - 1) / tile_;
  std::vector<TilePair> pairs(static_cast<std::size_t>(n_tiles_ * (n_tiles_ + 1) / 2));
  for (int row = 0; row < n_tiles_; ++row)
    for (int column = row; column < n_tiles_; ++column)
      pairs[static_cast<std::size_t>(pair_index(row, column, n_tiles_))] = {row, column};
  pairs_ = DeviceArray<TilePair>(pairs.size());
  sums_ = DeviceArray<int2>(shape.n_chan * pairs.size() * static_cast<std::size_t>(tile_ * tile_));
  cuda_check(cudaMemcpy(pairs_.data(), pairs.data(), pairs.size() * sizeof(TilePair), cudaMemcpyHostToDevice),
             "copying the tile list");
  finish_here();
}

x_layout::Layout DeviceXStage::layout(std::size_t n_spectra) const {
  Layout layout;
  layout.bits = shape_.n_bit == 4 ? Bits::four : Bits::eight;
  layout.n_chan = static_cast<int>(shape_.n_chan);
  layout.n_blocks = static_cast<int>((n_spectra + kBlockSpectra - 1) / kBlockSpectra);
  layout.n_input = static_cast<int>(shape_.n_input);
  layout.n_input_padded = n_tiles_ * tile_;
  return layout;
}

DeviceArray<std::int8_t> DeviceXStage::allocate(const Layout& layout) const {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  DeviceArray<std::int8_t> samples(layout.bytes());
  cuda_check(cudaMemset(samples.data(), 0, layout.bytes()), "clearing samples");
  finish_here();
  return samples;
}

void DeviceXStage::pack(PackTask task, const Layout& layout, std::int8_t* out, cudaStream_t stream) const {
  if (task.n_time > layout.n_blocks * kBlockSpectra || task.n_pol < 1 || task.samples_per_row < 1)
    throw std::logic_error("DeviceXStage: samples of another shape than planned");
  if (task.n_time == 0) return;
  task.layout = layout;
  task.out = out;
  cuda_check(cudaSetDevice(device_), "choosing the device");
  launch_pack(task, stream);
}

void DeviceXStage::add(std::int8_t* samples, const Layout& layout, std::size_t n_spectra,
                       cudaStream_t stream) {
  const Layout planned = this->layout(n_spectra);
  if (layout.bits != planned.bits || layout.n_chan != planned.n_chan || layout.n_input != planned.n_input ||
      layout.n_input_padded != planned.n_input_padded || layout.n_blocks < planned.n_blocks)
    throw std::logic_error("DeviceXStage: samples of another shape than planned");
  if (n_spectra == 0) return;
  cuda_check(cudaSetDevice(device_), "choosing the device");
  launch_clear_tail(layout, samples, static_cast<int>(n_spectra), stream);
  Layout taken = layout;
  const std::int8_t* from = samples;
  if (!direct()) {
    taken.bits = Bits::eight;
    if (expanded_.size() < taken.bytes()) expanded_ = DeviceArray<std::int8_t>(taken.bytes());
    launch_expand(layout, samples, planned.n_blocks, expanded_.data(), stream);
    from = expanded_.data();
  }
  for (std::size_t first = 0; first < n_spectra; first += kMaxInt32Blocks * kBlockSpectra) {
    const std::size_t n = std::min(n_spectra - first, kMaxInt32Blocks * kBlockSpectra);
    if (n_summed_ + n > kMaxInt32Samples) spill(stream);
    const Task task{from + first / kBlockSpectra * taken.block_bytes(),
                    sums_.data(),
                    pairs_.data(),
                    static_cast<int>(pairs_.size()),
                    layout.n_chan,
                    static_cast<int>((n + kBlockSpectra - 1) / kBlockSpectra),
                    taken.block_bytes(),
                    taken.chan_bytes(),
                    n_summed_ > 0};
    if (!wgmma_)
      launch_mma_64(task, stream);
    else if (tile_ == 128)
      launch_wgmma_128(task, layout.bits, n_sm_, stream);
    else
      launch_wgmma_64(task, layout.bits, n_sm_, stream);
    n_summed_ += n;
  }
}

x_stage::TileSums DeviceXStage::sums() const {
  return {n_summed_ > 0 ? sums_.data() : nullptr,
          spilled_ ? total_.data() : nullptr,
          static_cast<int>(shape_.n_input),
          tile_,
          n_tiles_,
          shape_.n_bit == 4 && direct() ? 8 : 0};
}

void DeviceXStage::reserve_total() {
  if (total_.size() == 0) total_ = DeviceArray<longlong2>(shape_.n_chan * n_pairs());
}

void DeviceXStage::spill(cudaStream_t stream) {
  if (n_summed_ == 0) return;
  reserve_total();
  launch_collect(sums(), static_cast<int>(shape_.n_chan), total_.data(), stream);
  spilled_ = true;
  n_summed_ = 0;
}

void DeviceXStage::finish_sums(std::int64_t* sums, cudaStream_t stream) {
  static_assert(sizeof(longlong2) == 2 * sizeof(std::int64_t));
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const std::size_t bytes = shape_.n_chan * n_pairs() * sizeof(longlong2);
  spill(stream);
  reserve_total();
  if (!spilled_) cuda_check(cudaMemsetAsync(total_.data(), 0, bytes, stream), "clearing sums");
  cuda_check(cudaMemcpyAsync(sums, total_.data(), bytes, cudaMemcpyDefault, stream),
             "copying sums of visibilities");
  discard();
}

void DeviceXStage::finish_sums(double2* sums, bool add, cudaStream_t stream) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  launch_collect(this->sums(), static_cast<int>(shape_.n_chan), sums, add, stream);
  discard();
}

std::optional<x_stage::TileSums> DeviceXStage::take_tiles() {
  if (spilled_ || n_summed_ == 0) return {};
  const x_stage::TileSums tiles = sums();
  discard();
  return tiles;
}

void DeviceXStage::finish_means(MeanTask task, cudaStream_t stream) {
  task.n_chan = static_cast<int>(shape_.n_chan);
  cuda_check(cudaSetDevice(device_), "choosing the device");
  launch_means(sums(), task, stream);
  discard();
}

void DeviceXStage::discard() {
  n_summed_ = 0;
  spilled_ = false;
}

}  // namespace apsyn
