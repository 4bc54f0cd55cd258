// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/imaging_blocks.h"

#include <algorithm>

namespace apsyn {

std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group) {
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < channel_hz.size(); ++i)
    if (channel_hz[i] >= group.low_hz && channel_hz[i] <= group.high_hz) channels.push_back(i);
  return channels;
}

void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block) {
  const std::size_t n_row = data.extent(0);
  block.data.resize({n_row, channels.size(), planes.size()});
  block.weight.resize({n_row, channels.size(), planes.size()});
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const std::complex<float>* products = &data(row, channels[c], 0);
      const float* weights = &weight(row, channels[c], 0);
      for (std::size_t p = 0; p < planes.size(); ++p) {
        const PlaneRecipe& plane = planes[p];
        float least = weights[plane.index[0]];
        for (std::size_t i : plane.index) least = std::min(least, weights[i]);
        if (!(least > 0)) continue;
        std::complex<double> sum = 0;
        for (std::size_t i = 0; i < plane.index.size(); ++i)
          sum += plane.coefficient[i] * std::complex<double>(products[plane.index[i]]);
        block.data(row, c, p) = std::complex<float>(sum);
        block.weight(row, c, p) = least;
      }
    }
}

std::vector<double> merge_channels(const std::vector<std::vector<double>>& lists) {
  std::vector<double> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace apsyn
