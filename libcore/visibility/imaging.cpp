// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/visibility/imaging.h"

#include "libcore/base/error.h"

namespace apsyn {

std::vector<ChannelGroup> split_channels(const ImagingInfo& info, std::size_t n_groups) {
  const std::size_t n = info.channel_hz.size();
  if (n_groups < 1 || n_groups > n)
    throw UsageError("--channels-out {}: the data have {} channels", n_groups, n);
  std::vector<ChannelGroup> groups(n_groups);
  for (std::size_t g = 0; g < n_groups; ++g) {
    const std::size_t first = g * n / n_groups, last = (g + 1) * n / n_groups - 1;
    const double low_width_hz = info.channel_width_hz[first], high_width_hz = info.channel_width_hz[last];
    groups[g] = {info.channel_hz[first], info.channel_hz[last], 0, last - first + 1,
                 high_width_hz - low_width_hz};
    groups[g].width_hz = groups[g].high_hz - groups[g].low_hz + (low_width_hz + high_width_hz) / 2;
  }
  return groups;
}

}  // namespace apsyn
