// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra in three steps, with cuFFT between folding and finishing (cuda/steps.cu), where no fused
// kernel serves. For host code with CUDA only.
#pragma once

#include <algorithm>
#include <map>

#include "kernels/channelise/cuda/kernels.cuh"
#include "kernels/channelise/cuda_sizes.h"
#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"

namespace apsyn::f_stage {

class Stepwise {
 public:
  /// Queues the spectra of all channels in batches whose intermediate values fit kStepBytes;
  /// finish(batch, values) queues what becomes of values [chan of the batch][spectrum][stream][bin].
  template <class Finish>
  void run(const Task& task, cudaStream_t stream, const Finish& finish) {
    const auto n_chan = static_cast<std::size_t>(task.samples.n_chan);
    const std::size_t per_spectrum =
        static_cast<std::size_t>(stream_count(task)) * static_cast<std::size_t>(task.length);
    std::size_t spectra = kStepBytes / sizeof(float2) / per_spectrum / 64 * 64;
    const auto n = static_cast<std::size_t>(task.n_spectra);
    spectra = std::clamp<std::size_t>(spectra, std::min<std::size_t>(n, 64), n);
    const std::size_t chans =
        std::clamp<std::size_t>(kStepBytes / sizeof(float2) / (per_spectrum * spectra), 1, n_chan);
    float2* values = values_.reserve(chans * spectra * per_spectrum);
    for (std::size_t chan = 0; chan < n_chan; chan += chans)
      for (std::size_t first = 0; first < n; first += spectra) {
        const Batch batch{static_cast<int>(chan), static_cast<int>(std::min(chans, n_chan - chan)),
                          static_cast<int>(first), static_cast<int>(std::min(spectra, n - first))};
        launch_fold(task, batch, values, stream);
        if (task.length > 1) transform(task, batch, values, stream);
        finish(batch, values);
      }
  }

 private:
  void transform(const Task& task, const Batch& batch, float2* values, cudaStream_t stream) {
    const int count = batch.n_chan * batch.n_spectra * stream_count(task);
    CudaFft1d& fft = ffts_.try_emplace(count, task.length, count).first->second;
    fft.use(stream);
    fft.execute(values);
  }

  Upload<float2> values_;
  std::map<int, CudaFft1d> ffts_;  ///< by the number of transforms
};

}  // namespace apsyn::f_stage
