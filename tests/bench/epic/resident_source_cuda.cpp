// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/epic/resident_source.h"

#include "tests/support/resident_spectra.cuh"

namespace apsyn::bench {
void ResidentSource::wait() const {
  cuda_check(cudaDeviceSynchronize(), "imaging");
}

std::unique_ptr<ResidentSource> make_resident_source(View<const std::uint8_t, 3> samples, std::size_t n_ant) {
  const support::ResidentShape shape{samples.extent(0), samples.extent(1), n_ant, samples.extent(2) / n_ant};
  return std::make_unique<ResidentSource>(
      ResidentSource{std::make_shared<support::ResidentSpectra>(shape, samples.data(), true)});
}

}  // namespace apsyn::bench
