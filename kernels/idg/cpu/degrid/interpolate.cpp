// SPDX-License-Identifier: GPL-3.0-or-later
// A vector holds several terms of a cell's planes, so that one tap serves all of it, whatever the number of
// planes. The sums over columns of cells are independent of one another and hide the latency of the FMA.
#include "kernels/idg/cpu/degrid/interpolate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/degrid/interpolate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/complex_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t max_width = 16;

template <class T>
HWY_INLINE void weigh(const SpreadTaps<T>& taps, T q_u, T q_v, T* HWY_RESTRICT tap_u, T* HWY_RESTRICT tap_v) {
  const hn::CappedTag<T, 8> d;
  const auto at_u = hn::Set(d, q_u), at_v = hn::Set(d, q_v);
  for (std::size_t tap = 0; tap < taps.stride; tap += hn::Lanes(d)) {
    const T* row = taps.coefficients.data() + taps.degree * taps.stride + tap;
    auto u = hn::LoadU(d, row), v = u;
    for (std::size_t power = taps.degree; power-- > 0;) {
      row -= taps.stride;
      const auto c = hn::LoadU(d, row);
      u = hn::MulAdd(u, at_u, c);
      v = hn::MulAdd(v, at_v, c);
    }
    hn::Store(u, d, tap_u + tap);
    hn::Store(v, d, tap_v + tap);
  }
}

/// value[c] = turn sum_r term[r] sum[r][c].
template <std::size_t n_values, class T>
HWY_INLINE void combine(std::size_t n_terms, const T* HWY_RESTRICT term, std::size_t term_stride,
                        const T* HWY_RESTRICT sum, T cosine, T sine, T* HWY_RESTRICT value) {
  const ComplexTag<T, n_values> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto turn = hn::OddEven(hn::Set(d, sine), hn::Set(d, -sine));
  for (std::size_t c = 0; c < n_values; c += lanes) {
    auto total = hn::Mul(hn::Set(d, term[0]), hn::LoadU(d, sum + c));
    for (std::size_t r = 1; r < n_terms; ++r)
      total = hn::MulAdd(hn::Set(d, term[r * term_stride]), hn::LoadU(d, sum + r * n_values + c), total);
    total = hn::MulAdd(total, hn::Set(d, cosine), hn::Mul(hn::Reverse2(d, total), turn));
    hn::StoreU(total, d, value + c);
  }
}

/// Visibilities [i, i + n) of the batch, whose cells are the same: these are loaded once.
template <std::size_t width, std::size_t n, class T>
HWY_INLINE void interpolate_together(const Interpolation<T>& from, const SpreadBatch<T>& batch,
                                     std::size_t i) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d), row = from.n_u * from.cell_stride, values = 2 * from.n_planes;
  HWY_ALIGN T tap_u[n][max_width], tap_v[n][max_width];
  HWY_ALIGN T sum[n][max_cell_values];
  for (std::size_t k = 0; k < n; ++k)
    weigh(*from.taps, batch.q_u.data()[i + k], batch.q_v.data()[i + k], tap_u[k], tap_v[k]);
  const T* rows[width];
  for (std::size_t v = 0; v < width; ++v)
    rows[v] = from.cells + batch.cell.data()[i] * from.cell_stride + v * row;
  for (std::size_t c = 0; c < from.cell_stride; c += lanes) {
    hn::Vec<decltype(d)> total[n], column[n];
    for (std::size_t k = 0; k < n; ++k) total[k] = hn::Zero(d);
    std::size_t at = c;
    // Unrolled, the addresses of all cells would be kept, in memory.
#pragma GCC unroll 1
    for (std::size_t u = 0; u < width; ++u) {
      for (std::size_t v = 0; v < width; ++v) {
        const auto cell = hn::Load(d, rows[v] + at);
        for (std::size_t k = 0; k < n; ++k) {
          const auto tap = hn::Set(d, tap_v[k][v]);
          column[k] = v == 0 ? hn::Mul(tap, cell) : hn::MulAdd(tap, cell, column[k]);
        }
      }
      for (std::size_t k = 0; k < n; ++k) total[k] = hn::MulAdd(hn::Set(d, tap_u[k][u]), column[k], total[k]);
      at += from.cell_stride;
    }
    for (std::size_t k = 0; k < n; ++k) hn::Store(total[k], d, sum[k] + c);
  }
  const std::size_t stride = batch.term.extent(1);
  for (std::size_t k = 0; k < n; ++k) {
    const T cosine = batch.turn_cos.data()[i + k], sine = -batch.turn_sin.data()[i + k];
    const T* term = &batch.term(0, i + k);
    T* value = from.value + (i + k) * values;
    if (values == 2) combine<2>(from.n_terms, term, stride, sum[k], cosine, sine, value);
    if (values == 4) combine<4>(from.n_terms, term, stride, sum[k], cosine, sine, value);
    if (values == 8) combine<8>(from.n_terms, term, stride, sum[k], cosine, sine, value);
  }
}

template <std::size_t width, class T>
void interpolate_width(const Interpolation<T>& from, const SpreadBatch<T>& batch) {
  // The taps along v stay in registers: two visibilities' in AVX-512's 32.
  constexpr std::size_t together = HWY_TARGET <= HWY_AVX3 && width <= 12 ? 2 : 1;
  for (std::size_t i = 0; i < batch.n;) {
    if (together == 2 && i + 1 < batch.n && batch.cell.data()[i] == batch.cell.data()[i + 1]) {
      interpolate_together<width, together>(from, batch, i);
      i += together;
    } else {
      interpolate_together<width, 1>(from, batch, i);
      ++i;
    }
  }
}

template <class T>
void interpolate_of(const Interpolation<T>& from, const SpreadBatch<T>& batch) {
  switch (from.taps->width) {
    case 3:
      return interpolate_width<3>(from, batch);
    case 4:
      return interpolate_width<4>(from, batch);
    case 5:
      return interpolate_width<5>(from, batch);
    case 6:
      return interpolate_width<6>(from, batch);
    case 7:
      return interpolate_width<7>(from, batch);
    case 8:
      return interpolate_width<8>(from, batch);
    case 9:
      return interpolate_width<9>(from, batch);
    case 10:
      return interpolate_width<10>(from, batch);
    case 11:
      return interpolate_width<11>(from, batch);
    case 12:
      return interpolate_width<12>(from, batch);
    case 13:
      return interpolate_width<13>(from, batch);
    case 14:
      return interpolate_width<14>(from, batch);
    case 15:
      return interpolate_width<15>(from, batch);
    default:
      return interpolate_width<16>(from, batch);
  }
}

void interpolate_float(const Interpolation<float>& from, const SpreadBatch<float>& batch) {
  interpolate_of(from, batch);
}
void interpolate_double(const Interpolation<double>& from, const SpreadBatch<double>& batch) {
  interpolate_of(from, batch);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(interpolate_float);
HWY_EXPORT(interpolate_double);

void interpolate(const Interpolation<float>& from, const SpreadBatch<float>& batch) {
  HWY_DYNAMIC_DISPATCH(interpolate_float)(from, batch);
}
void interpolate(const Interpolation<double>& from, const SpreadBatch<double>& batch) {
  HWY_DYNAMIC_DISPATCH(interpolate_double)(from, batch);
}
}  // namespace apsyn
#endif
