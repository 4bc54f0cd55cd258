// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/imaging_blocks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/core/rephase.h"

namespace apsyn {
namespace {

/// Directions closer than this are the same phase centre: 0.2 micro-arcseconds.
constexpr double same_direction_rad = 1e-12;

}  // namespace

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

std::vector<std::size_t> move_to_centre(const MsRows& rows, const std::vector<MsField>& fields,
                                        const SkyDirection& centre, ImagingBlock& block) {
  std::vector<std::pair<bool, Rephasing>> moves;
  for (const MsField& field : fields)
    moves.emplace_back(separation_rad(field.phase_centre, centre) > same_direction_rad,
                       make_rephasing(field.phase_centre, centre));
  const std::size_t n_row = rows.uvw_m.extent(0);
  block.uvw_m.resize({n_row, 3});
  block.path_m.resize({n_row});
  std::vector<std::size_t> without;
  bool any = false;
  for (std::size_t row = 0; row < n_row; ++row) {
    Vec3 uvw{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
    const auto field = static_cast<std::size_t>(rows.field[row]);
    if (field < moves.size() && moves[field].first) {
      any = true;
      block.path_m(row) = dot(moves[field].second.path, uvw);
      uvw = multiply(moves[field].second.rotation, uvw);
    }
    if (!std::isfinite(uvw[0] + uvw[1] + uvw[2])) {
      uvw = {};
      block.path_m(row) = 0;
      without.push_back(row);
    }
    for (std::size_t i = 0; i < 3; ++i) block.uvw_m(row, i) = uvw[i];
  }
  if (!any) block.path_m.resize({0});
  return without;
}

std::vector<double> merge_channels(const std::vector<std::vector<double>>& lists) {
  std::vector<double> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace apsyn
