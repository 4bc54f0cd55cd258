// SPDX-License-Identifier: GPL-3.0-or-later
// Matrices over the channels of rows: between channels and the nodes that stand for them.
#pragma once

#include <cstddef>

namespace apsyn {

/// to[row][o][value] = sum_i share[i][o] from[row][i][value], i in rising order. Values are the planes' real
/// and imaginary parts: 2, 4 or 8. Rows of `to` take product_values(n_to, n_values), whole vectors; rows of
/// `share` product_places(n_to), zeros behind n_to.
template <class T>
struct ChannelProduct {
  std::size_t n_rows = 0, n_from = 0, n_to = 0, n_values = 2;
  const T* share = nullptr;
  std::size_t share_stride = 0;
  const T* from = nullptr;  ///< and 64 bytes behind the last row
  std::size_t from_stride = 0;
  T* to = nullptr;
  std::size_t to_stride = 0;
};

/// Number of values in a row, rounded up to whole vectors.
constexpr std::size_t product_values(std::size_t n_places, std::size_t n_values) {
  return (n_places * n_values + 15) / 16 * 16;
}
/// Number of places of a row of shares that may be read.
constexpr std::size_t product_places(std::size_t n_places) {
  return n_places + 16;
}

void channel_product(const ChannelProduct<float>& product);
void channel_product(const ChannelProduct<double>& product);

}  // namespace apsyn
