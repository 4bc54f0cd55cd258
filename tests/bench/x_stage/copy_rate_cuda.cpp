// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/x_stage/x_stage_bench.h"

#include "kernels/common/cuda/transfer.h"

namespace apsyn::bench {

double device_copy_rate() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  DeviceArray<char> from(kBytes), to(kBytes);
  cuda_check(cudaMemset(from.data(), 1, kBytes), "filling");
  std::vector<double> seconds;
  for (int k = 0; k < 9; ++k) {
    Event begin, end;
    begin.record(nullptr);
    cuda_check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice), "copying");
    end.record(nullptr);
    end.wait();
    seconds.push_back(end.seconds_since(begin));
  }
  std::sort(seconds.begin(), seconds.end());
  return 2.0 * kBytes / seconds[4];
}

}  // namespace apsyn::bench
