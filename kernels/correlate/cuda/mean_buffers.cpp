// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdexcept>

#include "kernels/correlate/cuda/mean_buffers.cuh"

namespace apsyn {

std::size_t MeanBuffers::reserve(int n_input, x_stage::MeanTask& task) {
  const bool fits = task.n_ant > 0 && (task.n_pol == 1 || task.n_pol == 2) && task.n_average > 0 &&
                    task.n_fine > 0 && task.n_ant * task.n_pol == n_input &&
                    task.n_chan % task.n_average == 0 && task.n_chan % task.n_fine == 0;
  if (!fits) throw std::logic_error("MeanBuffers: means of another shape than the sums");
  const auto n_ant = static_cast<std::size_t>(task.n_ant);
  const std::size_t n_baselines = task.with_autos ? n_ant * (n_ant + 1) / 2 : n_ant * (n_ant - 1) / 2;
  const std::size_t size = n_baselines * static_cast<std::size_t>(task.n_chan / task.n_average) *
                           static_cast<std::size_t>(task.n_pol * task.n_pol);
  if (data_.size() < size) {
    data_ = DeviceArray<float2>(size);
    weight_ = DeviceArray<float>(size);
  }
  task.data = data_.data();
  task.weight = weight_.data();
  return size;
}

void MeanBuffers::copy(std::size_t size, const MeanOutput& output, cudaStream_t stream) {
  const cudaStream_t copies = output.stream.value_or(stream);
  if (!made_) {
    made_.emplace();
    copied_.emplace();
  }
  made_->record(stream);
  made_->hold(copies);
  cuda_check(cudaMemcpyAsync(output.data, data_.data(), size * sizeof(float2), cudaMemcpyDefault, copies),
             "copying visibilities");
  cuda_check(cudaMemcpyAsync(output.weight, weight_.data(), size * sizeof(float), cudaMemcpyDefault, copies),
             "copying weights");
  copied_->record(copies);
}

}  // namespace apsyn
