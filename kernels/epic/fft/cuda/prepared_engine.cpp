// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/epic/fft/cuda/engine.cuh"
#include "kernels/epic/fft/cuda/steps.cuh"

namespace apsyn::epic_fft {
namespace {

constexpr std::size_t kPreparedBytes = std::size_t{256} << 20;  ///< of samples between kernels

}  // namespace

void PreparedEngine::add(const EngineSpectra& spectra, cudaStream_t stream) {
  const epic_cuda::Samples& samples = spectra.samples;
  const std::size_t spectrum =
      static_cast<std::size_t>(samples.n_channel) * static_cast<std::size_t>(samples.n_ant * spectra.n_pol);
  const auto n_spectra = static_cast<std::size_t>(samples.n_spectra);
  const std::size_t most = std::max<std::size_t>(1, kPreparedBytes / (spectrum * sizeof(float2)));
  const std::size_t n_piece = (n_spectra + most - 1) / most, piece = (n_spectra + n_piece - 1) / n_piece;
  PrepareTask task;
  task.samples = samples;
  task.factor = spectra.factor;
  task.first_pol = spectra.first_pol;
  task.n_pol = spectra.n_pol;
  task.out = prepared_.reserve(piece * spectrum);
  for (std::size_t first = 0; first < n_spectra; first += piece) {
    task.first = static_cast<int>(first);
    task.n = static_cast<int>(std::min(piece, n_spectra - first));
    launch_prepare(task, stream);
    add_prepared({task.out, samples.first_channel, samples.n_channel, task.n, spectra.largest}, stream);
  }
}

}  // namespace apsyn::epic_fft
