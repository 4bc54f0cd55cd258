// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/correlate/cuda/float_stage.cuh"

#include <algorithm>
#include <vector>

#include "kernels/common/cuda/attribute.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

using namespace x_stage;

namespace {

constexpr std::size_t kPiece = 1024;  // spectra of a launch
constexpr std::size_t kMaxPaperInputs = 4096;

bool in_tiles(const FloatStageShape& shape) {
  return shape.algorithm == FloatAlgorithm::register_tiles;
}

int group_of(FloatAlgorithm algorithm) {
  switch (algorithm) {
    case FloatAlgorithm::group2:
    case FloatAlgorithm::hybrid2:
      return 2;
    case FloatAlgorithm::group4:
    case FloatAlgorithm::hybrid4:
      return 4;
    default:
      return 1;
  }
}

}  // namespace

DeviceFloatStage::DeviceFloatStage(const FloatStageShape& shape, int device_index)
    : shape_(shape), device_(device_index), group_(group_of(shape.algorithm)) {
  if (device_index < 0 || device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", device_index);
  if (shape.n_chan == 0 || shape.n_input == 0)
    throw UsageError("correlate: nothing to do: {} channels, {} inputs", shape.n_chan, shape.n_input);
  const std::size_t most = in_tiles(shape) ? 65535 : kMaxPaperInputs;
  if (shape.n_chan > 65535 || shape.n_input > most)
    throw UsageError(
        "correlate: {} channels and {} inputs: at most 65535 channels and {} inputs with this "
        "algorithm",
        shape.n_chan, shape.n_input, most);
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const int n_sm = device_attribute(cudaDevAttrMultiProcessorCount, device_);
  task_ = {};
  task_.n_chan = static_cast<int>(shape.n_chan);
  task_.n_input = static_cast<int>(shape.n_input);
  FloatPairSums& sums = task_.sums;
  sums.n_input = task_.n_input;
  sums.n_parts = in_tiles(shape) ? register_parts(task_.n_chan, task_.n_input, n_sm) : 1;
  sums.part_stride = shape.n_chan * n_pairs();
  sums.chan_stride = in_tiles(shape) ? n_pairs() : 1;
  sums.pair_stride = in_tiles(shape) ? 1 : shape.n_chan;
  sums_ = DeviceArray<double2>(static_cast<std::size_t>(sums.n_parts) * sums.part_stride);
  sums.sums = sums_.data();
  if (in_tiles(shape)) return;
  const auto group = static_cast<std::size_t>(group_);
  const std::size_t n_groups = (shape.n_input + group - 1) / group;
  std::vector<InputPair> pairs;
  for (std::size_t i = 0; i < n_groups; ++i)
    for (std::size_t j = i; j < n_groups; ++j)
      pairs.push_back({static_cast<unsigned short>(i), static_cast<unsigned short>(j)});
  pairs_ = DeviceArray<InputPair>(pairs.size());
  cuda_check(
      cudaMemcpy(pairs_.data(), pairs.data(), pairs.size() * sizeof(InputPair), cudaMemcpyHostToDevice),
      "copying the list of pairs");
  cuda_check(cudaStreamSynchronize(nullptr), "preparing the X stage");
}

void DeviceFloatStage::prepare_sums(cudaStream_t stream) {
  if (empty_)
    cuda_check(cudaMemsetAsync(sums_.data(), 0, sums_.size() * sizeof(double2), stream), "clearing sums");
  empty_ = false;
}

void DeviceFloatStage::add(const float2* samples, std::size_t chan_stride, std::size_t n_spectra,
                           cudaStream_t stream) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const std::size_t piece = in_tiles(shape_) ? kPiece * static_cast<std::size_t>(task_.sums.n_parts) : kPiece;
  for (std::size_t first = 0; first < n_spectra; first += piece) {
    task_.samples = samples + first * shape_.n_input;
    task_.chan_stride = chan_stride;
    task_.n_spectra = static_cast<int>(std::min(n_spectra - first, piece));
    if (!in_tiles(shape_)) {
      const std::size_t size = static_cast<std::size_t>(task_.n_spectra) * shape_.n_input * shape_.n_chan;
      if (transposed_.size() < size) transposed_ = DeviceArray<float2>(size);
      launch_channels_fastest(task_, transposed_.data(), stream);
      task_.samples = transposed_.data();
    }
    multiply(stream);
  }
}

void DeviceFloatStage::repeat(cudaStream_t stream) {
  if (task_.n_spectra > 0) multiply(stream);
}

void DeviceFloatStage::multiply(cudaStream_t stream) {
  prepare_sums(stream);
  switch (shape_.algorithm) {
    case FloatAlgorithm::register_tiles:
      return launch_register(task_, stream);
    case FloatAlgorithm::pair:
      return launch_pair_parallel(task_, pairs_.data(), stream);
    case FloatAlgorithm::group2:
    case FloatAlgorithm::group4:
      return launch_group_parallel(task_, group_, pairs_.data(), static_cast<int>(pairs_.size()), stream);
    default:
      return launch_hybrid_group(task_, group_, stream);
  }
}

void DeviceFloatStage::finish_sums(double* sums, cudaStream_t stream) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  prepare_sums(stream);
  if (collected_.size() == 0) collected_ = DeviceArray<double2>(shape_.n_chan * n_pairs());
  launch_collect(task_.sums, task_.n_chan, collected_.data(), stream);
  cuda_check(cudaMemcpyAsync(sums, collected_.data(), collected_.size() * sizeof(double2), cudaMemcpyDefault,
                             stream),
             "copying sums of visibilities");
  discard();
}

void DeviceFloatStage::finish_means(MeanTask task, cudaStream_t stream) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  prepare_sums(stream);
  task.n_chan = task_.n_chan;
  launch_means(task_.sums, task, stream);
  discard();
}

}  // namespace apsyn
