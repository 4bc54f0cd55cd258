// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/sky/rephase.h"

namespace apsyn {
namespace {

/// Frames that are turned by less than this are those of the same phase centre: 0.2 micro-arcseconds.
constexpr double same_frame_rad = 1e-12;

/// Whether the frames differ: by their directions, or about a pole by their right ascensions alone.
bool turns(const Mat3& rotation) {
  double largest = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      largest = std::max(largest, std::abs(rotation[i][j] - (i == j ? 1 : 0)));
  return largest > same_frame_rad;
}

/// One row, planes of at most n products.
template <std::size_t n>
void fill_planes(View<const std::complex<float>, 2> data, View<const float, 2> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 View<std::complex<float>, 2> out, View<float, 2> out_weight) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    // Recipes of fewer products take their first one more often, times 0.
    std::size_t index[n];
    double by_re[n] = {}, by_im[n] = {};
    for (std::size_t i = 0; i < n; ++i) {
      const bool own = i < planes[p].index.size();
      index[i] = planes[p].index[own ? i : 0];
      if (!own) continue;
      by_re[i] = planes[p].coefficient[i].real();
      by_im[i] = planes[p].coefficient[i].imag();
    }
    for (std::size_t c = 0; c < channels.size(); ++c) {
      const std::complex<float>* products = &data(channels[c], 0);
      const float* weights = &weight(channels[c], 0);
      float least = weights[index[0]];
      double re = 0, im = 0;
      for (std::size_t i = 0; i < n; ++i) {
        // By hand: the operator of complex numbers looks for infinities.
        const double x = products[index[i]].real(), y = products[index[i]].imag();
        least = std::min(least, weights[index[i]]);
        re += by_re[i] * x - by_im[i] * y;
        im += by_re[i] * y + by_im[i] * x;
      }
      const bool used = least > 0;
      out(c, p) = used ? std::complex<float>(static_cast<float>(re), static_cast<float>(im)) : 0;
      out_weight(c, p) = used ? least : 0;
    }
  }
}

}  // namespace

std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group) {
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < channel_hz.size(); ++i)
    if (channel_hz[i] >= group.low_hz && channel_hz[i] <= group.high_hz) channels.push_back(i);
  return channels;
}

void resize_planes(ImagingBlock& block, std::size_t n_row, std::size_t n_chan, std::size_t n_planes) {
  block.data.resize_for_overwrite({n_row, n_chan, n_planes});
  block.weight.resize_for_overwrite({n_row, n_chan, n_planes});
}

void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block, std::size_t first_row) {
  std::size_t most = 1;
  for (const PlaneRecipe& plane : planes) most = std::max(most, plane.index.size());
  const auto fill = most == 1 ? fill_planes<1> : most == 2 ? fill_planes<2> : fill_planes<4>;
  for (std::size_t row = 0; row < data.extent(0); ++row)
    fill(data[row], weight[row], channels, planes, block.data.view()[first_row + row],
         block.weight.view()[first_row + row]);
}

std::vector<std::size_t> move_to_centre(const MsRows& rows, const std::vector<MsField>& fields,
                                        const SkyDirection& centre, ImagingBlock& block) {
  std::vector<std::pair<bool, Rephasing>> moves;
  for (const MsField& field : fields) {
    const Rephasing move = make_rephasing(field.phase_centre, centre);
    moves.emplace_back(turns(move.rotation), move);
  }
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

MergedChannels merge_channels(const std::vector<MsSpectralWindow>& windows) {
  std::map<double, double> widths;  // of each frequency
  for (const MsSpectralWindow& window : windows)
    for (std::size_t i = 0; i < window.channel_hz.size(); ++i) {
      double& width_hz = widths[window.channel_hz[i]];
      width_hz = std::max(width_hz, window.width_hz[i]);
    }
  MergedChannels merged;
  for (const auto& [channel_hz, width_hz] : widths) {
    merged.channel_hz.push_back(channel_hz);
    merged.width_hz.push_back(width_hz);
  }
  return merged;
}

}  // namespace apsyn
