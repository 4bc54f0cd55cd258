// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/epic_cuda/resident_source.h"

#ifdef APSYN_CUDA
#include "tests/support/resident_spectra.cuh"
#else
#include "libcore/base/error.h"
#endif

namespace apsyn::bench {
#ifdef APSYN_CUDA
void ResidentSource::wait() const {
  cuda_check(cudaDeviceSynchronize(), "imaging");
}

std::unique_ptr<ResidentSource> make_resident_source(View<const std::uint8_t, 3> samples, std::size_t n_ant) {
  const support::ResidentShape shape{samples.extent(0), samples.extent(1), n_ant, samples.extent(2) / n_ant};
  return std::make_unique<ResidentSource>(
      ResidentSource{std::make_shared<support::ResidentSpectra>(shape, samples.data(), true)});
}
#else
void ResidentSource::wait() const {}

std::unique_ptr<ResidentSource> make_resident_source(View<const std::uint8_t, 3>, std::size_t) {
  throw DeviceError("cuda:0: this build has no CUDA: build with -DAPSYN_CUDA=ON");
}
#endif

}  // namespace apsyn::bench
