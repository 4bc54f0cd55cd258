// SPDX-License-Identifier: GPL-3.0-or-later
// After spread_locate.cpp: the visibilities' taps and rows of taps times values, then the sums, tiles of rows
// by vectors of the cells kept in registers for as long as the cell stays the same.
#include "kernels/idg/cpu/grid/spread.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/grid/spread.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Registers for accumulators, of 32 in AVX-512 and 16 in AVX2.
constexpr std::size_t max_sums = HWY_TARGET <= HWY_AVX3 ? 28 : 12;
constexpr std::size_t max_vectors = 4, max_rows = 8;

template <class T>
using Wide = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
constexpr std::size_t lanes_of = hn::MaxLanes(Wide<T>());

/// Visibilities [first, first + n) of the batch's order.
struct Chunk {
  std::size_t first, n;
};

/// The kernel's values for one axis; those of v times each term.
template <class T>
void weigh(const SpreadTarget<T>& target, const SpreadBatch<T>& batch, const Chunk& chunk,
           SpreadScratch<T>& scratch) {
  const hn::CappedTag<T, 8> d;
  const std::size_t lanes = hn::Lanes(d), n_terms = target.terms->n_terms, stride = target.taps->stride;
  const T* HWY_RESTRICT coefficients = target.taps->coefficients.data();
  const std::size_t degree = target.taps->degree;
  T* HWY_RESTRICT out_u = scratch.taps_u.data();
  T* HWY_RESTRICT out_v = scratch.taps_v.data();
  const std::size_t term_step = spread_chunk * stride;
  const std::uint16_t* order = scratch.order.data() + chunk.first;
  for (std::size_t i = 0; i < chunk.n; ++i) {
    const std::size_t vis = order[i];
    const auto q_u = hn::Set(d, batch.q_u.data()[vis]), q_v = hn::Set(d, batch.q_v.data()[vis]);
    for (std::size_t tap = 0; tap < stride; tap += lanes) {
      const T* row = coefficients + degree * stride + tap;
      auto u = hn::LoadU(d, row), v = u;
      for (std::size_t p = degree; p-- > 0;) {
        row -= stride;
        const auto c = hn::LoadU(d, row);
        u = hn::MulAdd(u, q_u, c);
        v = hn::MulAdd(v, q_v, c);
      }
      hn::Store(u, d, out_u + i * stride + tap);
      for (std::size_t r = 0; r < n_terms; ++r)
        hn::Store(hn::Mul(v, hn::Set(d, batch.term(r, vis))), d, out_v + r * term_step + i * stride + tap);
    }
  }
}

/// row[vis][tap][plane] = tap times the turned value.
template <std::size_t n_planes, class T>
void fill_rows(const SpreadTarget<T>& target, const SpreadBatch<T>& batch, const Chunk& chunk, const T* from,
               std::size_t n_vectors, SpreadScratch<T>& scratch) {
  const Wide<T> d;
  constexpr std::size_t lanes = lanes_of<T>, values = 2 * n_planes;
  // A vector holds several cells, or a cell takes several vectors.
  constexpr std::size_t cells_each = lanes > values ? lanes / values : 1;
  constexpr std::size_t vectors_each = values > lanes ? values / lanes : 1;
  using Index = hwy::MakeSigned<T>;
  HWY_ALIGN Index value_lane[lanes], tap_lane[lanes];
  HWY_ALIGN T sign[lanes];
  for (std::size_t l = 0; l < lanes; ++l) {
    value_lane[l] = static_cast<Index>(l % values);
    tap_lane[l] = static_cast<Index>(l / values);
    sign[l] = l % 2 == 0 ? T{-1} : T{1};
  }
  const auto pick_value = hn::SetTableIndices(d, value_lane), pick_tap = hn::SetTableIndices(d, tap_lane);
  const auto alternate = hn::Load(d, sign);
  const std::size_t stride = target.taps->stride;
  T* HWY_RESTRICT out = scratch.row.data();
  const std::uint16_t* order = scratch.order.data() + chunk.first;
  for (std::size_t i = 0; i < chunk.n; ++i) {
    const std::size_t vis = order[i];
    const auto cosine = hn::Set(d, batch.turn_cos.data()[vis]), sine = hn::Set(d, batch.turn_sin.data()[vis]);
    const T* HWY_RESTRICT taps = scratch.taps_u.data() + i * stride;
    const T* HWY_RESTRICT in = from + vis * values;
    hn::Vec<Wide<T>> value[vectors_each];
    for (std::size_t k = 0; k < vectors_each; ++k) {
      auto raw = hn::LoadU(d, in + k * lanes);
      if constexpr (cells_each > 1) raw = hn::TableLookupLanes(raw, pick_value);
      if constexpr (lanes > 1) {
        value[k] = hn::MulAdd(raw, cosine, hn::Mul(hn::Mul(hn::Reverse2(d, raw), alternate), sine));
      } else {
        const T other = k % 2 == 0 ? -in[k + 1] : in[k - 1];
        value[k] = hn::MulAdd(raw, cosine, hn::Mul(hn::Set(d, other), sine));
      }
    }
    for (std::size_t v = 0; v < n_vectors; v += vectors_each) {
      if constexpr (cells_each > 1) {
        const auto tap = hn::TableLookupLanes(hn::LoadU(d, taps + v * cells_each), pick_tap);
        hn::Store(hn::Mul(tap, value[0]), d, out + v * lanes);
      } else {
        for (std::size_t k = 0; k < vectors_each; ++k)
          hn::Store(hn::Mul(hn::Set(d, taps[v / vectors_each]), value[k]), d, out + (v + k) * lanes);
      }
    }
    out += n_vectors * lanes;
  }
}

template <class T>
struct Tile {
  std::size_t n, row_step, tap_step, row_stride, values;
  const std::uint16_t* order;
  const std::uint32_t* cell;
  const T* row;   ///< of the tile's first vector
  const T* taps;  ///< of its first row
  T* cells;
};

template <std::size_t n_rows, std::size_t n_vectors, class T>
void add_tile(const Tile<T>& tile) {
  if constexpr (n_rows * n_vectors <= max_sums) {
    const Wide<T> d;
    constexpr std::size_t lanes = lanes_of<T>;
    std::size_t i = 0;
    while (i < tile.n) {
      const std::uint32_t cell = tile.cell[tile.order[i]];
      T* HWY_RESTRICT at = tile.cells + cell * tile.values;
      hn::Vec<Wide<T>> sum[n_rows][n_vectors];
      for (std::size_t r = 0; r < n_rows; ++r)
        for (std::size_t v = 0; v < n_vectors; ++v)
          sum[r][v] = hn::LoadU(d, at + r * tile.row_stride + v * lanes);
      do {
        const T* HWY_RESTRICT row = tile.row + i * tile.row_step;
        const T* HWY_RESTRICT taps = tile.taps + i * tile.tap_step;
        hn::Vec<Wide<T>> value[n_vectors];
        for (std::size_t v = 0; v < n_vectors; ++v) value[v] = hn::Load(d, row + v * lanes);
        for (std::size_t r = 0; r < n_rows; ++r) {
          const auto tap = hn::Set(d, taps[r]);
          for (std::size_t v = 0; v < n_vectors; ++v) sum[r][v] = hn::MulAdd(value[v], tap, sum[r][v]);
        }
        ++i;
      } while (i < tile.n && tile.cell[tile.order[i]] == cell);
      for (std::size_t r = 0; r < n_rows; ++r)
        for (std::size_t v = 0; v < n_vectors; ++v)
          hn::StoreU(sum[r][v], d, at + r * tile.row_stride + v * lanes);
    }
  }
}

template <std::size_t n_vectors, class T>
void add_rows(const Tile<T>& tile, std::size_t n_rows) {
  switch (n_rows) {
    case 1:
      return add_tile<1, n_vectors>(tile);
    case 2:
      return add_tile<2, n_vectors>(tile);
    case 3:
      return add_tile<3, n_vectors>(tile);
    case 4:
      return add_tile<4, n_vectors>(tile);
    case 5:
      return add_tile<5, n_vectors>(tile);
    case 6:
      return add_tile<6, n_vectors>(tile);
    case 7:
      return add_tile<7, n_vectors>(tile);
    default:
      return add_tile<8, n_vectors>(tile);
  }
}

template <class T>
void add(const Tile<T>& tile, std::size_t n_rows, std::size_t n_vectors) {
  switch (n_vectors) {
    case 1:
      return add_rows<1>(tile, n_rows);
    case 2:
      return add_rows<2>(tile, n_rows);
    case 3:
      return add_rows<3>(tile, n_rows);
    default:
      return add_rows<4>(tile, n_rows);
  }
}

/// Size of a piece when n is cut into as few pieces of at most `most` as possible, all nearly equal.
inline std::size_t piece(std::size_t n, std::size_t most) {
  const std::size_t pieces = (n + most - 1) / most;
  return (n + pieces - 1) / pieces;
}

/// Adds a chunk whose taps are made to one group of planes.
template <std::size_t n_planes, class T>
void spread_planes(const SpreadTarget<T>& target, const SpreadBatch<T>& batch, const Chunk& chunk,
                   const SpreadPlanes<T>& planes, SpreadScratch<T>& scratch) {
  constexpr std::size_t lanes = lanes_of<T>, values = 2 * n_planes;
  const std::size_t width = target.taps->width, stride = target.taps->stride;
  const std::size_t n_vectors = (width * values + lanes - 1) / lanes;
  const std::size_t vectors = piece(n_vectors, max_vectors);
  const std::size_t rows = piece(width, std::min(max_rows, max_sums / vectors));
  const std::size_t row_stride = target.n_u * values;
  fill_rows<n_planes>(target, batch, chunk, planes.value, n_vectors, scratch);
  for (std::size_t r = 0; r < target.terms->n_terms; ++r)
    for (std::size_t v = 0; v < n_vectors; v += vectors)
      for (std::size_t y = 0; y < width; y += rows)
        add(Tile<T>{chunk.n, n_vectors * lanes, stride, row_stride, values,
                    scratch.order.data() + chunk.first, batch.cell.data(), scratch.row.data() + v * lanes,
                    scratch.taps_v.data() + r * spread_chunk * stride + y,
                    planes.cells + (r * target.n_v + y) * row_stride + v * lanes},
            std::min(rows, width - y), std::min(vectors, n_vectors - v));
}

template <class T>
void spread_of(const SpreadTarget<T>& target, const SpreadBatch<T>& batch,
               std::span<const SpreadPlanes<T>> groups, SpreadScratch<T>& scratch) {
  const std::size_t taps_v = target.terms->n_terms * spread_chunk * target.taps->stride;
  if (scratch.taps_v.size() < taps_v) scratch.taps_v.resize({taps_v});
  for (std::size_t first = 0; first < batch.n; first += spread_chunk) {
    const Chunk chunk{first, std::min(spread_chunk, batch.n - first)};
    weigh(target, batch, chunk, scratch);
    for (const SpreadPlanes<T>& planes : groups) {
      if (planes.n == 1) spread_planes<1>(target, batch, chunk, planes, scratch);
      if (planes.n == 2) spread_planes<2>(target, batch, chunk, planes, scratch);
      if (planes.n == 4) spread_planes<4>(target, batch, chunk, planes, scratch);
    }
  }
}

void spread_float(const SpreadTarget<float>& target, const SpreadBatch<float>& batch,
                  std::span<const SpreadPlanes<float>> groups, SpreadScratch<float>& scratch) {
  spread_of(target, batch, groups, scratch);
}
void spread_double(const SpreadTarget<double>& target, const SpreadBatch<double>& batch,
                   std::span<const SpreadPlanes<double>> groups, SpreadScratch<double>& scratch) {
  spread_of(target, batch, groups, scratch);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(spread_float);
HWY_EXPORT(spread_double);

void spread(const SpreadTarget<float>& target, const SpreadBatch<float>& batch,
            std::span<const SpreadPlanes<float>> groups, SpreadScratch<float>& scratch) {
  order_by_cell(target.n_u * target.n_v, batch, scratch);
  HWY_DYNAMIC_DISPATCH(spread_float)(target, batch, groups, scratch);
}
void spread(const SpreadTarget<double>& target, const SpreadBatch<double>& batch,
            std::span<const SpreadPlanes<double>> groups, SpreadScratch<double>& scratch) {
  order_by_cell(target.n_u * target.n_v, batch, scratch);
  HWY_DYNAMIC_DISPATCH(spread_double)(target, batch, groups, scratch);
}
}  // namespace apsyn
#endif
