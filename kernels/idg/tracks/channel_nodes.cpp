// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/tracks/channel_nodes.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/idg/tracks/channel_product.h"
#include "kernels/idg/tracks/lagrange_shares.h"
#include "kernels/idg/tracks/node_series.h"

namespace apsyn {
namespace {

/// A new table takes the place of the one whose channels and nodes come to the same.
std::size_t place_of(std::span<const double> wavenumber, std::size_t n_nodes) {
  std::uint64_t sum = std::bit_cast<std::uint64_t>(wavenumber.front()) * 31 +
                      std::bit_cast<std::uint64_t>(wavenumber.back()) * 7 + wavenumber.size() * 3 + n_nodes;
  sum *= 0x9E3779B97F4A7C15u;
  return (sum >> 32) % kept_channel_tables;
}

template <class T>
ChannelTable<T> make_table(std::span<const double> wavenumber, std::size_t n_nodes) {
  const auto [least, largest] = std::minmax_element(wavenumber.begin(), wavenumber.end());
  const double middle = (*least + *largest) / 2, half = (*largest - *least) / 2;
  const std::size_t n = wavenumber.size(), node_stride = product_places(n_nodes),
                    channel_stride = product_places(n);
  ChannelTable<T> table;
  table.wavenumber.assign(wavenumber.begin(), wavenumber.end());
  for (std::size_t k = 0; k < n_nodes; ++k)
    table.node.push_back(middle + half * idg::chebyshev_node(k, n_nodes));
  table.to_nodes.assign(n * node_stride, 0);
  table.to_channels.assign(n_nodes * channel_stride, 0);
  LagrangeShares shares(n_nodes);
  for (std::size_t c = 0; c < n; ++c) {
    T* own = table.to_nodes.data() + c * node_stride;
    shares.at(half > 0 ? std::clamp((wavenumber[c] - middle) / half, -1.0, 1.0) : 0, own);
    for (std::size_t k = 0; k < n_nodes; ++k) table.to_channels[k * channel_stride + c] = own[k];
  }
  return table;
}

}  // namespace

template <class T>
ChannelNodes<T>::ChannelNodes() : tables_(kept_channel_tables) {}

template <class T>
const ChannelTable<T>& ChannelNodes<T>::table(std::span<const double> wavenumber, std::size_t n_nodes) {
  ChannelTable<T>& kept = tables_[place_of(wavenumber, n_nodes)];
  if (kept.node.size() != n_nodes || !std::ranges::equal(kept.wavenumber, wavenumber))
    kept = make_table<T>(wavenumber, n_nodes);
  return kept;
}

template class ChannelNodes<float>;
template class ChannelNodes<double>;

}  // namespace apsyn
