// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "libcore/sky/rephase.h"
#include "libcore/system/parallel.h"

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

enum class Factors { real, imaginary, complex };

Factors factors_of(const PlaneRecipe& plane) {
  bool real = true, imaginary = true;
  for (const std::complex<double>& factor : plane.coefficient) {
    real = real && factor.imag() == 0;
    imaginary = imaginary && factor.real() == 0;
  }
  return real ? Factors::real : imaginary ? Factors::imaginary : Factors::complex;
}

/// Real and imaginary part, side by side in a register.
using Pair = double __attribute__((vector_size(16)));
using FloatPair = float __attribute__((vector_size(8)));
using BitPair = std::uint32_t __attribute__((vector_size(8)));

Pair load(const std::complex<float>& value) {
  FloatPair parts;
  std::memcpy(&parts, &value, sizeof parts);
  return __builtin_convertvector(parts, Pair);
}

/// One plane of a row, out of n products, of consecutive channels. Sums begin with +0, and products with
/// factors of 0 are +0 or -0: leaving these out changes no bit of a sum of finite numbers.
template <std::size_t n, Factors factors>
void fill_plane(const std::complex<float>* data, const float* weight, std::size_t n_products,
                std::size_t n_channels, const PlaneRecipe& plane, std::size_t n_planes,
                std::complex<float>* out, float* out_weight) {
  // Recipes of fewer products take their first one more often, times 0.
  std::size_t index[n];
  Pair by_re[n], by_im[n];
  for (std::size_t i = 0; i < n; ++i) {
    const bool own = i < plane.index.size();
    index[i] = plane.index[own ? i : 0];
    const std::complex<double> factor = own ? plane.coefficient[i] : 0;
    by_re[i] = Pair{factor.real(), factor.real()};
    by_im[i] = Pair{-factor.imag(), factor.imag()};
  }
  for (std::size_t c = 0; c < n_channels; ++c) {
    float least = weight[index[0]];
    Pair sum = {};
    for (std::size_t i = 0; i < n; ++i) {
      const Pair value = load(data[index[i]]), turned = {value[1], value[0]};
      least = std::min(least, weight[index[i]]);
      if constexpr (factors == Factors::real)
        sum += by_re[i] * value;
      else if constexpr (factors == Factors::imaginary)
        sum += by_im[i] * turned;
      else
        sum += by_re[i] * value + by_im[i] * turned;
    }
    const FloatPair both = {least, least};
    const auto used = std::bit_cast<BitPair>(both > FloatPair{});
    const BitPair value = std::bit_cast<BitPair>(__builtin_convertvector(sum, FloatPair)) & used,
                  kept = std::bit_cast<BitPair>(both) & used;
    std::memcpy(static_cast<void*>(out), &value, sizeof value);
    std::memcpy(out_weight, &kept, sizeof *out_weight);
    data += n_products;
    weight += n_products;
    out += n_planes;
    out_weight += n_planes;
  }
}

template <std::size_t n>
auto plane_filler(Factors factors) {
  return factors == Factors::real        ? fill_plane<n, Factors::real>
         : factors == Factors::imaginary ? fill_plane<n, Factors::imaginary>
                                         : fill_plane<n, Factors::complex>;
}

}  // namespace

std::vector<std::size_t> channels_in(const std::vector<double>& channel_hz, const ChannelGroup& group) {
  std::vector<std::size_t> channels;
  for (std::size_t i = 0; i < channel_hz.size(); ++i)
    if (channel_hz[i] >= group.low_hz && channel_hz[i] <= group.high_hz) channels.push_back(i);
  return channels;
}

void resize_planes(ImagingBlock& block, std::size_t n_row, std::size_t n_chan, std::size_t n_planes,
                   unsigned n_threads) {
  resize_for_threads(n_threads, {n_row, n_chan, n_planes}, block.data);
  resize_for_threads(n_threads, {n_row, n_chan, n_planes}, block.weight);
}

void make_planes(View<const std::complex<float>, 3> data, View<const float, 3> weight,
                 const std::vector<std::size_t>& channels, const std::vector<PlaneRecipe>& planes,
                 ImagingBlock& block, std::size_t first_row) {
  const std::size_t n_planes = planes.size(), row_size = channels.size() * n_planes;
  std::vector<decltype(&fill_plane<1, Factors::real>)> fill;
  for (const PlaneRecipe& plane : planes) {
    const Factors factors = factors_of(plane);
    const std::size_t n = plane.index.size();
    fill.push_back(n <= 1   ? plane_filler<1>(factors)
                   : n == 2 ? plane_filler<2>(factors)
                            : plane_filler<4>(factors));
  }
  for (std::size_t row = 0; row < data.extent(0); ++row)
    for (std::size_t c = 0, n = 1; c < channels.size(); c += n, n = 1) {
      while (c + n < channels.size() && channels[c + n] == channels[c] + n) ++n;
      const std::size_t from = channels[c] * data.extent(2), to = (first_row + row) * row_size + c * n_planes;
      for (std::size_t p = 0; p < n_planes; ++p)
        fill[p](data[row].data() + from, weight[row].data() + from, data.extent(2), n, planes[p], n_planes,
                block.data.data() + to + p, block.weight.data() + to + p);
    }
}

std::vector<std::size_t> move_to_centre(const MsRows& rows, const std::vector<MsField>& fields,
                                        const SkyDirection& centre, ImagingBlock& block, unsigned n_threads) {
  std::vector<std::pair<bool, Rephasing>> moves;
  for (const MsField& field : fields) {
    const Rephasing move = make_rephasing(field.phase_centre, centre);
    moves.emplace_back(turns(move.rotation), move);
  }
  const std::size_t n_row = rows.uvw_m.extent(0);
  const auto moves_row = [&](std::size_t row) {
    const auto field = static_cast<std::size_t>(rows.field[row]);
    return field < moves.size() && moves[field].first;
  };
  bool any = std::any_of(moves.begin(), moves.end(), [](const auto& move) { return move.first; });
  for (std::size_t row = 0; any; ++row)
    if (row == n_row || moves_row(row)) {
      any = row < n_row;
      break;
    }
  block.uvw_m.resize_for_overwrite({n_row, 3});
  block.path_m.resize_for_overwrite({any ? n_row : 0});
  constexpr std::size_t kRows = 1 << 14;
  std::vector<std::vector<std::size_t>> without((n_row + kRows - 1) / kRows);
  parallel_for(n_threads, without.size(), [&](std::size_t item, unsigned) {
    for (std::size_t row = item * kRows; row < std::min(n_row, (item + 1) * kRows); ++row) {
      Vec3 uvw{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
      double path_m = 0;
      if (any && moves_row(row)) {
        const Rephasing& move = moves[static_cast<std::size_t>(rows.field[row])].second;
        path_m = dot(move.path, uvw);
        uvw = multiply(move.rotation, uvw);
      }
      if (!std::isfinite(uvw[0] + uvw[1] + uvw[2])) {
        uvw = {};
        path_m = 0;
        without[item].push_back(row);
      }
      for (std::size_t i = 0; i < 3; ++i) block.uvw_m(row, i) = uvw[i];
      if (any) block.path_m(row) = path_m;
    }
  });
  std::vector<std::size_t> all;
  for (const std::vector<std::size_t>& part : without) all.insert(all.end(), part.begin(), part.end());
  return all;
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
