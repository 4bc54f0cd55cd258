// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/planes/spread_places.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/planes/spread_places.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Places whose taps and rows fit into the first cache together.
constexpr std::size_t places_at_once = 64, max_taps = 16;
/// Taps along u stand between zeros, so that vectors of cells may begin before the first and end behind the
/// last.
constexpr std::size_t taps_margin = 4, taps_stride = 2 * taps_margin + max_taps;

void locate_of(const PlaceFrame& f, const PlaceCoordinates& at, std::size_t n_planes, Place* place,
               std::complex<float>* value) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> t;
  const hn::Rebind<std::int32_t, decltype(d)> i32;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = at.n; i % lanes != 0; ++i) at.u[i] = at.v[i] = at.w[i] = 0;
  const auto half = hn::Set(d, f.half_width), one = hn::Set(d, 1.0), two = hn::Set(d, 2.0);
  HWY_ALIGN float cosine_of[8], sine_of[8], sign_of[8], q_u[8], q_v[8], t_of[8];
  HWY_ALIGN std::int32_t cell_of[8];
  for (std::size_t i = 0; i < at.n; i += lanes) {
    auto position = [&](const double* coordinate, double scale, double period) HWY_ATTR {
      const auto cells = hn::Mul(hn::LoadU(d, coordinate + i), hn::Set(d, scale));
      return hn::NegMulAdd(hn::Round(hn::Mul(cells, hn::Set(d, 1 / period))), hn::Set(d, period), cells);
    };
    auto u = position(at.u, f.scale_u, f.n_u), v = position(at.v, f.scale_v, f.n_v);
    auto w = hn::LoadU(d, at.w + i);
    const auto sign = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Set(d, -1.0), one);
    u = hn::Mul(u, sign), v = hn::Mul(v, sign), w = hn::Mul(w, sign);
    auto locate = [&](hn::Vec<decltype(d)> cells, double origin, float* q) HWY_ATTR {
      const auto begin = hn::Sub(hn::Add(cells, hn::Set(d, origin)), half);
      const auto cell = hn::Ceil(begin);
      hn::Store(hn::DemoteTo(t, hn::MulSub(two, hn::Sub(cell, begin), one)), t, q);
      return cell;
    };
    const auto cell_u = locate(u, f.origin_u, q_u), cell_v = locate(v, f.origin_v, q_v);
    hn::Store(hn::DemoteTo(i32, hn::MulAdd(cell_v, hn::Set(d, 524288.0), cell_u)), i32, cell_of);
    hn::Vec<decltype(t)> cosine, sine;
    turns_detail::cos_sin_turns<float>(d, hn::Mul(w, hn::Set(d, f.turns_of_w)), cosine, sine);
    hn::Store(cosine, t, cosine_of);
    hn::Store(sine, t, sine_of);
    hn::Store(hn::DemoteTo(t, sign), t, sign_of);
    const auto along = hn::Mul(w, hn::Set(d, f.w_scale));
    hn::Store(hn::DemoteTo(t, hn::Min(hn::Max(along, hn::Set(d, -1.0)), one)), t, t_of);
    for (std::size_t k = 0; k < std::min(lanes, at.n - i); ++k) {
      std::uint32_t pairs = 1;
      while (pairs < max_term_pairs && std::abs(t_of[k]) > f.max_t[pairs - 1]) ++pairs;
      place[i + k] = {static_cast<std::uint32_t>(cell_of[k]) | pairs << 16, q_u[k], q_v[k], t_of[k]};
      std::complex<float>* own = value + (i + k) * n_planes;
      for (std::size_t p = 0; p < n_planes; ++p) {
        const float re = own[p].real(), im = own[p].imag() * sign_of[k];
        own[p] = {re * cosine_of[k] + im * sine_of[k], im * cosine_of[k] - re * sine_of[k]};
      }
    }
  }
}

/// The kernel's values along both axes, at the same time where eight taps suffice.
void weigh_places(const SpreadTaps<float>& taps, const Place* const* place, std::size_t n,
                  PlaceScratch& scratch) {
  const std::size_t stride = taps.stride;
  const float* HWY_RESTRICT coefficients = taps.coefficients.data();
  float* HWY_RESTRICT out_u = scratch.taps_u.data() + taps_margin;
  float* HWY_RESTRICT out_v = scratch.taps_v.data();
#if HWY_TARGET <= HWY_AVX3
  if (stride == 8) {
    const hn::CappedTag<float, 16> d;
    const hn::Half<decltype(d)> half;
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = coefficients + taps.degree * stride;
      const auto q = hn::Combine(d, hn::Set(half, place[i]->q_v), hn::Set(half, place[i]->q_u));
      const auto both = [&](const float* from) HWY_ATTR {
        const auto c = hn::LoadU(half, from);
        return hn::Combine(d, c, c);
      };
      auto sum = both(row);
      for (std::size_t p = taps.degree; p-- > 0;) sum = hn::MulAdd(sum, q, both(row -= stride));
      hn::StoreU(hn::LowerHalf(half, sum), half, out_u + i * taps_stride);
      hn::StoreU(hn::UpperHalf(half, sum), half, out_v + i * max_taps);
    }
    return;
  }
#endif
  const hn::CappedTag<float, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; ++i) {
    const auto q_u = hn::Set(d, place[i]->q_u), q_v = hn::Set(d, place[i]->q_v);
    for (std::size_t tap = 0; tap < stride; tap += lanes) {
      const float* row = coefficients + taps.degree * stride + tap;
      auto u = hn::LoadU(d, row), v = u;
      for (std::size_t p = taps.degree; p-- > 0;) {
        row -= stride;
        const auto c = hn::LoadU(d, row);
        u = hn::MulAdd(u, q_u, c);
        v = hn::MulAdd(v, q_v, c);
      }
      hn::StoreU(u, d, out_u + i * taps_stride + tap);
      hn::StoreU(v, d, out_v + i * max_taps + tap);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
void add_places(std::size_t width, const Place* const* place, const std::complex<float>* const* value,
                std::size_t n, std::size_t plane, const TermCells& cells, const PlaceScratch& scratch) {
  for (std::size_t i = 0; i < n; ++i) {
    const float t = place[i]->t, re = value[i][plane].real(), im = value[i][plane].imag();
    const float* taps_u = scratch.taps_u.data() + i * taps_stride + taps_margin;
    float* cell = cells.data + place[i]->v() * cells.row_stride + place[i]->u() * pair_values;
    float power = 1;
    for (std::size_t pair = 0; pair < place[i]->n_pairs(); ++pair, cell += cells.pair_stride, power *= t * t)
      for (std::size_t y = 0; y < width; ++y)
        for (std::size_t x = 0; x < width; ++x) {
          const float tap = scratch.taps_v.data()[i * max_taps + y] * taps_u[x] * power;
          float* to = cell + y * cells.row_stride + x * pair_values;
          to[0] += tap * re;
          to[1] += tap * im;
          to[2] += tap * t * re;
          to[3] += tap * t * im;
        }
  }
}
#else
/// Adds a place to one plane of visibilities. Its row of cells, of all taps along u, stays in registers;
/// these are whole vectors of cells in memory, so that the next place, which often overlaps, reads them as
/// they were written.
template <std::size_t n_vectors>
HWY_INLINE void add_place(std::size_t width, std::size_t n_pairs, float t2, const float* HWY_RESTRICT value,
                          const float* HWY_RESTRICT taps_u, const float* HWY_RESTRICT taps_v,
                          float* HWY_RESTRICT first, std::size_t row_stride, std::size_t pair_stride) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  const hn::Repartition<std::int32_t, decltype(d)> i32;
  const auto pick_tap = hn::IndicesFromVec(d, hn::ShiftRight<2>(hn::Iota(i32, 0)));
  const auto values = hn::LoadDup128(d, value);
  hn::Vec<decltype(d)> row[n_vectors];
  for (std::size_t k = 0; k < n_vectors; ++k)
    row[k] = hn::Mul(values, hn::TableLookupLanes(hn::LoadU(d, taps_u + k * lanes / pair_values), pick_tap));
  const auto square = hn::Set(d, t2);
  for (std::size_t pair = 0;; first += pair_stride) {
    float* HWY_RESTRICT to = first;
    for (std::size_t y = 0; y < width; ++y, to += row_stride) {
      const auto tap = hn::Set(d, taps_v[y]);
      for (std::size_t k = 0; k < n_vectors; ++k)
        hn::Store(hn::MulAdd(row[k], tap, hn::Load(d, to + k * lanes)), d, to + k * lanes);
    }
    if (++pair == n_pairs) break;
    for (std::size_t k = 0; k < n_vectors; ++k) row[k] = hn::Mul(row[k], square);
  }
}

void add_places(std::size_t width, const Place* const* place, const std::complex<float>* const* value,
                std::size_t n, std::size_t plane, const TermCells& cells, const PlaceScratch& scratch) {
  const hn::CappedTag<float, 16> d;
  const std::size_t in_vector = hn::Lanes(d) / pair_values, row_stride = cells.row_stride,
                    pair_stride = cells.pair_stride;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t v = place[i]->v(), u = place[i]->u(), shift = u % in_vector,
                      n_pairs = place[i]->n_pairs();
    const float t = place[i]->t, re = value[i][plane].real(), im = value[i][plane].imag();
    HWY_ALIGN const float terms[pair_values] = {re, im, re * t, im * t};
    const float* taps_u = scratch.taps_u.data() + i * taps_stride + taps_margin - shift;
    const float* taps_v = scratch.taps_v.data() + i * max_taps;
    float* first = cells.data + v * row_stride + (u - shift) * pair_values;
    switch ((shift + width + in_vector - 1) / in_vector) {
      case 1:
        add_place<1>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      case 2:
        add_place<2>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      case 3:
        add_place<3>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      case 4:
        add_place<4>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      case 5:
        add_place<5>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      case 6:
      case 7:
      case 8:
        add_place<8>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
        break;
      default:
        add_place<16>(width, n_pairs, t * t, terms, taps_u, taps_v, first, row_stride, pair_stride);
    }
  }
}
#endif

void spread_of(const SpreadTaps<float>& taps, const Places& places, std::span<const std::uint32_t> order,
               std::span<const TermCells> planes, PlaceScratch& scratch) {
  if (scratch.taps_u.size() == 0) {
    scratch.taps_u.resize({places_at_once * taps_stride + 4 * max_taps});
    scratch.taps_v.resize({places_at_once * max_taps});
  }
  const Place* place[places_at_once];
  const std::complex<float>* value[places_at_once];
  for (std::size_t first = 0; first < order.size(); first += places_at_once) {
    const std::size_t n = std::min(places_at_once, order.size() - first);
    for (std::size_t i = 0; i < n; ++i) {
      place[i] = places.place.data() + order[first + i];
      value[i] = places.value.data() + order[first + i] * planes.size();
    }
    for (std::size_t i = first + n; i < std::min(order.size(), first + n + places_at_once); ++i) {
      __builtin_prefetch(places.place.data() + order[i]);
      __builtin_prefetch(places.value.data() + order[i] * planes.size());
    }
    weigh_places(taps, place, n, scratch);
    for (std::size_t p = 0; p < planes.size(); ++p)
      add_places(taps.width, place, value, n, p, planes[p], scratch);
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(locate_of);
HWY_EXPORT(spread_of);

void locate_places(const PlaceFrame& frame, const PlaceCoordinates& at, std::size_t n_planes, Place* place,
                   std::complex<float>* value) {
  HWY_DYNAMIC_DISPATCH(locate_of)(frame, at, n_planes, place, value);
}
void spread_places(const SpreadTaps<float>& taps, const Places& places, std::span<const std::uint32_t> order,
                   std::span<const TermCells> planes, PlaceScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(spread_of)(taps, places, order, planes, scratch);
}
}  // namespace apsyn
#endif
