// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/channelise/cuda/fused/launch.cuh"
#include "kernels/channelise/cuda/long/launch.cuh"

namespace apsyn::f_stage {

namespace {

template <int kLength>
int least_shared_bytes() {
  constexpr bool kSmall = LongShape<kLength, false>::kHasSmall;
  return std::max(LongShape<kLength, false, kSmall>::kSharedBytes,
                  LongShape<kLength, true, kSmall>::kSharedBytes);
}
int shared_bytes_of_long(int length) {
  switch (length) {
    case 256:
      return least_shared_bytes<256>();
    case 512:
      return least_shared_bytes<512>();
    case 1024:
      return least_shared_bytes<1024>();
    case 2048:
      return least_shared_bytes<2048>();
    case 4096:
      return least_shared_bytes<4096>();
    case 8192:
      return least_shared_bytes<8192>();
    default:
      return least_shared_bytes<16384>();
  }
}

}  // namespace

void launch_long(const LongLaunch& launch) {
  switch (launch.task.length) {
    case 256:
      return launch_long_256(launch);
    case 512:
      return launch_long_512(launch);
    case 1024:
      return launch_long_1024(launch);
    case 2048:
      return launch_long_2048(launch);
    case 4096:
      return launch_long_4096(launch);
    case 8192:
      return launch_long_8192(launch);
    default:
      return launch_long_16384(launch);
  }
}

bool has_long(int length, int n_taps, SampleFormat format) {
  const bool power_of_two = (length & (length - 1)) == 0;
  return power_of_two && length >= 256 && length <= 16384 && n_taps <= kMostLongTaps &&
         format != SampleFormat::float32 && shared_bytes_of_block() >= shared_bytes_of_long(length);
}

/// Chooses among all paths, not only that of this file.
IntegerPath integer_path(bool real, int length, int n_taps, SampleFormat format) {
  const bool fused = has_fused(real, length, n_taps, format);
  if (fused) return IntegerPath::fused;
  return has_long(length, n_taps, format) ? IntegerPath::long_spectra : IntegerPath::steps;
}

}  // namespace apsyn::f_stage
