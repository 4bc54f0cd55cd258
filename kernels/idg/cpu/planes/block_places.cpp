// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/planes/block_places.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kernels/idg/partition/sub_table.h"
#include "kernels/idg/tracks/channel_product.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Fraction of the wanted accuracy that the nodes of channels may use up, an RMS over the image.
constexpr double node_share = 0.15;
/// Cost of a place in shares of a channel in a node, and of a row's nodes in one band.
constexpr double place_cost = 150, share_cost = 0.6, band_cost = 60;

bool pays(std::size_t n_channels, std::size_t n_nodes) {
  const auto n = static_cast<double>(n_channels), nodes = static_cast<double>(n_nodes);
  return (n - nodes) * place_cost > n * nodes * share_cost + band_cost;
}

constexpr std::size_t spare = 64;  ///< behind arrays that are filled in whole vectors

}  // namespace

PlaceFrame frame_of(const PlanesPlan& plan) {
  const double cell = plan.image.cell_rad;
  const auto n_u = static_cast<double>(plan.n_u), n_v = static_cast<double>(plan.n_v),
             width = static_cast<double>(plan.kernel.width());
  PlaceFrame frame{.scale_u = n_u * cell,
                   .scale_v = n_v * cell,
                   .n_u = n_u,
                   .n_v = n_v,
                   .origin_u = std::floor(n_u / 2) + width,
                   .origin_v = width,
                   .half_width = width / 2,
                   .w_scale = plan.max_w_lambda > 0 ? 1 / plan.max_w_lambda : 0,
                   .turns_of_w = plan.n_middle - 1};
  for (std::size_t i = 0; i < max_term_pairs; ++i)
    frame.max_t[i] = i + 1 < plan.n_pairs() ? static_cast<float>(plan.pairs_w_lambda[i] * frame.w_scale) : 1;
  return frame;
}

BlockPlaces::BlockPlaces(const PlanesPlan& plan, const IdgSetup& setup)
    : frame_(frame_of(plan)),
      max_w_lambda_(plan.max_w_lambda),
      n_data_planes_(setup.n_data_planes),
      n_planes_(setup.n_planes()),
      n_threads_(setup.n_threads),
      scratch_(setup.n_threads) {
  const double pi = std::numbers::pi, cell = plan.image.cell_rad;
  phase_ = {pi * static_cast<double>(plan.image.n_x) * cell, pi * static_cast<double>(plan.image.n_y) * cell,
            2 * pi * (1 - plan.n_middle + plan.n_half_range)};
  // Chebyshev interpolation of a phase of at most `turn` leaves about (turn / 2)^n / n!; node_counts.h.
  double scale = 1;
  for (std::size_t n = 1; n <= max_nodes; ++n) {
    const auto order = static_cast<double>(n);
    scale /= n == 1 ? 1.0 : 2.0 * order;
    max_turn_[n] = std::pow(node_share * plan.accuracy / (scale / std::sqrt(2 * (2 * order + 1))), 1 / order);
  }
}

/// 0: the channels are placed as they are.
std::size_t BlockPlaces::nodes_for(const Band& band, double turn) const {
  std::size_t n = 1;
  while (n < band.n && n <= max_nodes && turn > max_turn_[n]) ++n;
  return n < band.n && n <= max_nodes && pays(band.n, n) ? n : 0;
}

std::size_t BlockPlaces::places_of(std::size_t row) const {
  if (!(turn_[row] >= 0)) return 0;
  std::size_t n = 0;
  for (std::size_t b = 0; b < bands_.size(); ++b) {
    const std::size_t nodes = nodes_for(bands_[b], static_cast<double>(turn_[row]) * band_span_[b]);
    n += nodes > 0 ? nodes : bands_[b].n;
  }
  return n;
}

void BlockPlaces::survey(std::size_t first_row, std::size_t end_row) {
  const std::size_t n_chan = block_->wavenumber.size(), n_weights = block_->weight.extent(2);
  for (std::size_t row = first_row; row < end_row; ++row) {
    const float* weight = &block_->weight(row, 0, 0);
    std::uint32_t n_used = 0;
    if (n_weights == 1) {
      for (std::size_t c = 0; c < n_chan; ++c) n_used += weight[c] != 0 ? 1 : 0;
    } else {
      for (std::size_t c = 0; c < n_chan; ++c)
        n_used +=
            std::any_of(weight + c * n_weights, weight + (c + 1) * n_weights, [](float w) { return w != 0; });
    }
    n_visibilities_[row] = n_used;
    turn_[row] = -1;
    n_places_[row] = 0;
    if (n_used == 0) continue;
    const double* uvw = &block_->uvw_m(row, 0);
    const double farthest_u = std::abs(uvw[0]) * max_wavenumber_ * frame_.scale_u,
                 farthest_v = std::abs(uvw[1]) * max_wavenumber_ * frame_.scale_v,
                 largest_w = std::abs(uvw[2]) * max_wavenumber_;
    if (std::isnan(farthest_u) || std::isnan(farthest_v) || std::isnan(largest_w))
      throw DataError("uvw: a coordinate is not a number: check UVW");
    if (!(farthest_u < idg::kFarthestCells && farthest_v < idg::kFarthestCells))
      throw DataError("uvw: {:g}, {:g} uv cells is no coordinate of this field: check UVW", farthest_u,
                      farthest_v);
    if (!(largest_w <= max_w_lambda_ * (1 + 1e-9)))
      throw DataError("uvw: w = {:g} wavelengths is beyond the planned {:g}", largest_w, max_w_lambda_);
    turn_[row] = static_cast<float>(
        (phase_[0] * std::abs(uvw[0]) + phase_[1] * std::abs(uvw[1]) + phase_[2] * std::abs(uvw[2])) / 2);
    n_places_[row] = static_cast<std::uint32_t>(places_of(row));
  }
}

std::uint64_t BlockPlaces::start(const GridBlock& block) {
  block_ = &block;
  next_row_ = 0;
  const std::size_t n_chan = block.wavenumber.size(), n_rows = block.uvw_m.extent(0);
  const double* wavenumber = block.wavenumber.data();
  const std::size_t n_bands = (n_chan + max_band_channels - 1) / max_band_channels;
  bands_.resize(n_bands);
  band_span_.resize(n_bands);
  max_wavenumber_ = 0;
  for (std::size_t i = 0; i < n_bands; ++i) {
    bands_[i] = {n_chan * i / n_bands, n_chan * (i + 1) / n_bands - n_chan * i / n_bands, 0};
    const auto [least, largest] =
        std::minmax_element(wavenumber + bands_[i].first, wavenumber + bands_[i].first + bands_[i].n);
    // The phases of paths turn visibilities of their own.
    band_span_[i] = block.path_m.size() == 0 ? *largest - *least : INFINITY;
    max_wavenumber_ = std::max(max_wavenumber_, *largest);
  }
  turn_.resize(n_rows);
  n_places_.resize(n_rows);
  n_visibilities_.resize(n_rows);
  constexpr std::size_t at_once = 1024;
  parallel_for(n_threads_, (n_rows + at_once - 1) / at_once,
               [&](std::size_t i, unsigned) { survey(i * at_once, std::min(n_rows, (i + 1) * at_once)); });
  tables_.assign(n_bands * (max_nodes + 1), {});
  for (std::size_t row = 0; row < n_rows; ++row)
    for (std::size_t b = 0; b < n_bands && n_places_[row] > 0; ++b) {
      const std::size_t n = nodes_for(bands_[b], static_cast<double>(turn_[row]) * band_span_[b]);
      ChannelTable<float>& table = tables_[b * (max_nodes + 1) + n];
      if (n > 0 && table.node.empty()) table = nodes_.table({wavenumber + bands_[b].first, bands_[b].n}, n);
    }
  return std::accumulate(n_visibilities_.begin(), n_visibilities_.end(), std::uint64_t{0});
}

/// Weighted values of a band's channels of one plane, or their sums at nodes.
void BlockPlaces::put_values(std::size_t row, const Band& band, std::size_t plane, std::size_t n_nodes,
                             std::complex<float>* to, Scratch& scratch) const {
  const std::size_t n_weights = block_->weight.extent(2);
  const bool psf = plane == n_data_planes_;
  const float* weight = &block_->weight(row, band.first, psf ? 0 : plane);
  float* value = scratch.channel_values.data();
  if (psf) {
    for (std::size_t c = 0; c < band.n; ++c) {
      value[2 * c] = weight[c * n_weights];
      value[2 * c + 1] = 0;
    }
  } else if (n_weights == 1 && block_->data.extent(2) == 1) {
    weigh_values(band.n, &block_->data(row, band.first, 0), weight, 1, value);
  } else {
    for (std::size_t c = 0; c < band.n; ++c) {
      const std::complex<float>& data = block_->data(row, band.first + c, plane);
      const float own = weight[c * n_weights];
      value[2 * c] = own != 0 ? data.real() * own : 0;
      value[2 * c + 1] = own != 0 ? data.imag() * own : 0;
    }
  }
  std::size_t n = band.n;
  if (n_nodes > 0) {
    const ChannelTable<float>& table =
        tables_[static_cast<std::size_t>(&band - bands_.data()) * (max_nodes + 1) + n_nodes];
    n = n_nodes;
    channel_product(ChannelProduct<float>{.n_rows = 1,
                                          .n_from = band.n,
                                          .n_to = n,
                                          .n_values = 2,
                                          .share = table.to_nodes.data(),
                                          .share_stride = product_places(n),
                                          .from = value,
                                          .from_stride = 2 * band.n,
                                          .to = scratch.node_values.data(),
                                          .to_stride = product_values(n, 2)});
    value = scratch.node_values.data();
  }
  for (std::size_t i = 0; i < n; ++i) to[i * n_planes_] = {value[2 * i], value[2 * i + 1]};
}

void BlockPlaces::make_rows(std::size_t first_row, std::size_t end_row, Place* place,
                            std::complex<float>* value, Scratch& scratch) const {
  std::size_t n_all = 0;
  for (std::size_t row = first_row; row < end_row; ++row) n_all += n_places_[row];
  for (Buffer<double, 1>* each : {&scratch.u, &scratch.v, &scratch.w, &scratch.path})
    if (each->size() < n_all + spare) each->resize({n_all + spare});
  if (scratch.channel_values.size() == 0) {
    scratch.channel_values.resize({2 * max_band_channels + spare});
    scratch.node_values.resize({product_values(max_nodes, 2) + spare});
  }
  const bool has_path = block_->path_m.size() != 0;
  std::size_t done = 0;
  for (std::size_t row = first_row; row < end_row; ++row) {
    if (n_places_[row] == 0) continue;
    const double* uvw = &block_->uvw_m(row, 0);
    for (std::size_t b = 0; b < bands_.size(); ++b) {
      const Band& band = bands_[b];
      const std::size_t n_nodes = nodes_for(band, static_cast<double>(turn_[row]) * band_span_[b]),
                        n = n_nodes > 0 ? n_nodes : band.n;
      const double* wavenumber = n_nodes > 0 ? tables_[b * (max_nodes + 1) + n_nodes].node.data()
                                             : block_->wavenumber.data() + band.first;
      for (std::size_t i = 0; i < n; ++i) {
        scratch.u.data()[done + i] = uvw[0] * wavenumber[i];
        scratch.v.data()[done + i] = uvw[1] * wavenumber[i];
        scratch.w.data()[done + i] = uvw[2] * wavenumber[i];
        if (has_path) scratch.path.data()[done + i] = block_->path_m(row) * wavenumber[i];
      }
      for (std::size_t p = 0; p < n_planes_; ++p)
        put_values(row, band, p, n_nodes, value + done * n_planes_ + p, scratch);
      done += n;
    }
  }
  if (has_path)
    turn_values(n_all, n_data_planes_, n_planes_, scratch.path.data(), reinterpret_cast<float*>(value));
  locate_places(frame_, {n_all, scratch.u.data(), scratch.v.data(), scratch.w.data()}, n_planes_, place,
                value);
}

bool BlockPlaces::make(Places& places) {
  const std::size_t n_rows = block_->uvw_m.extent(0);
  struct Piece {
    std::size_t first_row, end_row, first_place;
  };
  std::vector<Piece> pieces;
  std::size_t n = 0;
  while (next_row_ < n_rows && n < max_places) {
    const std::size_t end = std::min(n_rows, next_row_ + rows_at_once);
    pieces.push_back({next_row_, end, n});
    for (; next_row_ < end; ++next_row_) n += n_places_[next_row_];
  }
  places.place.resize(n);
  places.value.resize(n * n_planes_);
  parallel_for(n_threads_, pieces.size(), [&](std::size_t i, unsigned thread) {
    const Piece& piece = pieces[i];
    make_rows(piece.first_row, piece.end_row, places.place.data() + piece.first_place,
              places.value.data() + piece.first_place * n_planes_, scratch_[thread]);
  });
  return !pieces.empty();
}

std::uint64_t BlockPlaces::bytes(std::size_t n_planes, unsigned n_threads) {
  // Rows seldom have more channels than a band; those of longer rows make longer lists.
  const std::uint64_t n = max_places + rows_at_once * max_band_channels;
  return n * (sizeof(Place) + sizeof(std::uint32_t) + n_planes * sizeof(std::complex<float>)) +
         n_threads * rows_at_once * max_band_channels * 4 * sizeof(double);
}

}  // namespace apsyn
