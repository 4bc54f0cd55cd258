// SPDX-License-Identifier: GPL-3.0-or-later
// The channels of a row lie on a straight line through the origin of the uvw space, mostly closer to each
// other than the field needs: node_counts.h says how many Chebyshev nodes in wavenumber stand for them. Their
// sums
//
//   W_k = sum_c L_k(k_c) V_c,        L_k Lagrange's polynomials of the nodes,
//
// are gridded instead of the channels' V_c, with the same L_k for all rows; and V_c = sum_k L_k(k_c) W_k of
// predictions W_k.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace apsyn {

/// Upper limits on the channels that are put on nodes together, and on the columns that they or their nodes
/// make: the values of all rows of a track then fit into the caches.
constexpr std::size_t max_band_channels = 64, max_band_columns = 32;
/// Upper limit on the values that ChannelNodes keeps in its tables for both directions.
constexpr std::size_t kept_channel_tables = 64;
constexpr std::size_t channel_nodes_values =
    kept_channel_tables * 2 * (max_band_channels + 16) * (max_band_columns + 16);

/// Channels [first, first + n) of a block.
struct Band {
  std::size_t first = 0, n = 0;
  std::size_t n_nodes = 0;  ///< none: the channels are gridded as they are
  std::size_t n_columns() const { return n_nodes > 0 ? n_nodes : n; }
};

template <class T>
struct ChannelTable {
  std::vector<double> wavenumber;  ///< [chan]
  std::vector<double> node;        ///< [node] wavenumbers
  std::vector<T> to_nodes;         ///< [chan][product_places() of nodes] L_k(k_c)
  std::vector<T> to_channels;      ///< [node][product_places() of channels] the same
};

/// Tables by channels and numbers of nodes. One thread's memory.
template <class T>
class ChannelNodes {
 public:
  ChannelNodes();
  /// The table for at least one channel and one node; wavenumbers may be in any order and have gaps. Valid
  /// until the next call.
  const ChannelTable<T>& table(std::span<const double> wavenumber, std::size_t n_nodes);

 private:
  std::vector<ChannelTable<T>> tables_;
};

}  // namespace apsyn
