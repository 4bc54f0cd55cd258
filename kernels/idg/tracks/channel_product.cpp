// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles of rows by vectors of the result are kept in registers. A vector holds several places, or a place
// takes several vectors.
#include "kernels/idg/tracks/channel_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/tracks/channel_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Wide = hn::CappedTag<T, 64 / sizeof(T)>;

/// Vectors [first, first + n_vectors) of rows [row, row + n_rows).
template <std::size_t n_values, std::size_t n_rows, std::size_t n_vectors, class T>
void product_tile(const ChannelProduct<T>& p, std::size_t row, std::size_t first) {
  const Wide<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(Wide<T>());
  using Index = hwy::MakeSigned<T>;
  HWY_ALIGN Index value_lane[lanes], place_lane[lanes];
  for (std::size_t l = 0; l < lanes; ++l) {
    value_lane[l] = static_cast<Index>(l % n_values);
    place_lane[l] = static_cast<Index>(l / n_values);
  }
  const auto pick_value = hn::SetTableIndices(d, value_lane), pick_place = hn::SetTableIndices(d, place_lane);
  hn::Vec<Wide<T>> sum[n_rows][n_vectors];
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v) sum[r][v] = hn::Zero(d);
  const T* HWY_RESTRICT share = p.share;
  const T* HWY_RESTRICT from = p.from + row * p.from_stride;
  for (std::size_t i = 0; i < p.n_from; ++i, share += p.share_stride, from += n_values) {
    hn::Vec<Wide<T>> factor[n_vectors];
    for (std::size_t v = 0; v < n_vectors; ++v) {
      const T* at = share + (first + v) * lanes / n_values;
      if constexpr (n_values < lanes)
        factor[v] = hn::TableLookupLanes(hn::LoadU(d, at), pick_place);
      else
        factor[v] = hn::Set(d, *at);
    }
    for (std::size_t r = 0; r < n_rows; ++r) {
      const T* HWY_RESTRICT own = from + r * p.from_stride;
      if constexpr (n_values <= lanes) {
        auto value = hn::LoadU(d, own);
        if constexpr (n_values < lanes) value = hn::TableLookupLanes(value, pick_value);
        for (std::size_t v = 0; v < n_vectors; ++v) sum[r][v] = hn::MulAdd(value, factor[v], sum[r][v]);
      } else {
        for (std::size_t v = 0; v < n_vectors; ++v)
          sum[r][v] = hn::MulAdd(hn::LoadU(d, own + (first + v) * lanes % n_values), factor[v], sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t v = 0; v < n_vectors; ++v)
      hn::StoreU(sum[r][v], d, p.to + (row + r) * p.to_stride + (first + v) * lanes);
}

template <std::size_t n_values, std::size_t n_rows, class T>
void product_rows(const ChannelProduct<T>& p, std::size_t row) {
  constexpr std::size_t lanes = hn::MaxLanes(Wide<T>()), most = 4;
  const std::size_t n_vectors = (p.n_to * n_values + lanes - 1) / lanes;
  std::size_t v = 0;
  for (; v + most <= n_vectors; v += most) product_tile<n_values, n_rows, most>(p, row, v);
  if (n_vectors - v == 3) product_tile<n_values, n_rows, 3>(p, row, v);
  if (n_vectors - v == 2) product_tile<n_values, n_rows, 2>(p, row, v);
  if (n_vectors - v == 1) product_tile<n_values, n_rows, 1>(p, row, v);
}

template <std::size_t n_values, class T>
void product_values_of(const ChannelProduct<T>& p) {
  constexpr std::size_t together = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  std::size_t row = 0;
  for (; row + together <= p.n_rows; row += together) product_rows<n_values, together>(p, row);
  for (; row < p.n_rows; ++row) product_rows<n_values, 1>(p, row);
}

template <class T>
void channel_product_of(const ChannelProduct<T>& p) {
  if (p.n_values == 2) product_values_of<2>(p);
  if (p.n_values == 4) product_values_of<4>(p);
  if (p.n_values == 8) product_values_of<8>(p);
}

void channel_product_float(const ChannelProduct<float>& p) {
  channel_product_of(p);
}
void channel_product_double(const ChannelProduct<double>& p) {
  channel_product_of(p);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(channel_product_float);
HWY_EXPORT(channel_product_double);

void channel_product(const ChannelProduct<float>& product) {
  HWY_DYNAMIC_DISPATCH(channel_product_float)(product);
}
void channel_product(const ChannelProduct<double>& product) {
  HWY_DYNAMIC_DISPATCH(channel_product_double)(product);
}
}  // namespace apsyn
#endif
