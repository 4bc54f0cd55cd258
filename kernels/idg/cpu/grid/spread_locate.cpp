// SPDX-License-Identifier: GPL-3.0-or-later
// Where visibilities lie among the cells and how they turn, vectors over visibilities.
#include "kernels/idg/cpu/grid/spread.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/cpu/grid/spread_locate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/simd/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void locate_of(const SpreadTarget<T>& target, SpreadBatch<T>& batch) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<T, decltype(d)> t;
  const hn::Rebind<std::int32_t, decltype(d)> i32;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = batch.n; i % lanes != 0; ++i) {
    batch.u.data()[i] = batch.u.data()[i - 1];
    batch.v.data()[i] = batch.v.data()[i - 1];
    batch.w.data()[i] = batch.w.data()[i - 1];
  }
  const auto half = hn::Set(d, static_cast<double>(target.taps->width) / 2);
  const auto row = hn::Set(d, static_cast<double>(target.n_u));
  const auto one = hn::Set(d, 1.0), two = hn::Set(d, 2.0);
  const TermPolynomials<T>& terms = *target.terms;
  if (batch.term.extent(0) < terms.n_terms) batch.term.resize({terms.n_terms, batch.most()});
  for (std::size_t i = 0; i < batch.n; i += lanes) {
    auto first = [&](const double* coordinate, double scale, double origin, T* q) {
      const auto begin =
          hn::Sub(hn::MulAdd(hn::Load(d, coordinate + i), hn::Set(d, scale), hn::Set(d, origin)), half);
      const auto cell = hn::Ceil(begin);
      hn::Store(to_precision<T>(d, hn::MulSub(two, hn::Sub(cell, begin), one)), t, q + i);
      return cell;
    };
    const auto cell_u = first(batch.u.data(), target.scale_u, target.origin_u, batch.q_u.data());
    const auto cell_v = first(batch.v.data(), target.scale_v, target.origin_v, batch.q_v.data());
    hn::Store(hn::DemoteTo(i32, hn::MulAdd(cell_v, row, cell_u)), i32,
              reinterpret_cast<std::int32_t*>(batch.cell.data()) + i);

    const auto w = hn::Load(d, batch.w.data() + i);
    hn::Vec<decltype(t)> cosine, sine;
    cos_sin_turns<T>(d, hn::Mul(hn::Sub(w, hn::Set(d, target.w_origin)), hn::Set(d, target.phase_w)), cosine,
                     sine);
    hn::Store(cosine, t, batch.turn_cos.data() + i);
    hn::Store(hn::Neg(sine), t, batch.turn_sin.data() + i);

    const auto along = hn::Mul(hn::Sub(w, hn::Set(d, target.w_middle)), hn::Set(d, target.w_scale));
    const auto x = to_precision<T>(d, hn::Min(hn::Max(along, hn::Set(d, -1.0)), one));
    const auto twice = hn::Add(x, x);
    for (std::size_t r = 0; r < terms.n_terms; ++r) {
      // Clenshaw's recurrence.
      const T* c = terms.matrix.data() + r * terms.n_powers;
      auto next = hn::Zero(t), current = hn::Zero(t);
      for (std::size_t k = terms.n_powers; k-- > 1;) {
        const auto value = hn::Add(hn::MulSub(twice, current, next), hn::Set(t, c[k]));
        next = current;
        current = value;
      }
      hn::Store(hn::Add(hn::MulSub(x, current, next), hn::Set(t, c[0])), t, &batch.term(r, i));
    }
  }
}

template <class T>
void turn_values_of(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                    T* value) {
  const hn::CappedTag<double, 1> d;
  const hn::Rebind<T, decltype(d)> t;
  for (std::size_t i = 0; i < n; ++i) {
    hn::Vec<decltype(t)> cosine, sine;
    cos_sin_turns<T>(d, hn::Set(d, turns[i]), cosine, sine);
    const T c = hn::GetLane(cosine), s = hn::GetLane(sine);
    for (std::size_t k = i * n_planes; k < i * n_planes + n_turned; ++k) {
      const T re = value[2 * k], im = value[2 * k + 1];
      value[2 * k] = re * c + im * s;
      value[2 * k + 1] = im * c - re * s;
    }
  }
}

/// Values of n visibilities and planes together, floats two by two with their weight.
void weigh_of(std::size_t n, const float* HWY_RESTRICT data, const float* HWY_RESTRICT weight, float sign,
              float* HWY_RESTRICT value) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 16> d;
  const hn::Repartition<std::uint64_t, decltype(d)> pair;
  const hn::Rebind<std::uint32_t, decltype(pair)> half;
  const std::size_t pairs = hn::Lanes(pair);
  const auto signs = hn::OddEven(hn::Set(d, sign), hn::Set(d, 1.0f));
  for (; i + pairs <= n; i += pairs) {
    const auto low = hn::PromoteTo(pair, hn::LoadU(half, reinterpret_cast<const std::uint32_t*>(weight + i)));
    const auto twice = hn::BitCast(d, hn::Or(low, hn::ShiftLeft<32>(low)));
    const auto used = hn::IfThenElseZero(hn::Ne(twice, hn::Zero(d)), hn::LoadU(d, data + 2 * i));
    hn::StoreU(hn::Mul(hn::Mul(used, twice), signs), d, value + 2 * i);
  }
#endif
  for (; i < n; ++i) {
    value[2 * i] = weight[i] != 0 ? data[2 * i] * weight[i] : 0;
    value[2 * i + 1] = weight[i] != 0 ? data[2 * i + 1] * weight[i] * sign : 0;
  }
}

void locate_float(const SpreadTarget<float>& target, SpreadBatch<float>& batch) {
  locate_of(target, batch);
}
void locate_double(const SpreadTarget<double>& target, SpreadBatch<double>& batch) {
  locate_of(target, batch);
}
void turn_float(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                float* value) {
  turn_values_of(n, n_turned, n_planes, turns, value);
}
void turn_double(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 double* value) {
  turn_values_of(n, n_turned, n_planes, turns, value);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(locate_float);
HWY_EXPORT(locate_double);
HWY_EXPORT(turn_float);
HWY_EXPORT(turn_double);
HWY_EXPORT(weigh_of);

void locate_batch(const SpreadTarget<float>& target, SpreadBatch<float>& batch) {
  HWY_DYNAMIC_DISPATCH(locate_float)(target, batch);
}
void locate_batch(const SpreadTarget<double>& target, SpreadBatch<double>& batch) {
  HWY_DYNAMIC_DISPATCH(locate_double)(target, batch);
}
void weigh_values(std::size_t n, const std::complex<float>* data, const float* weight, float sign,
                  float* value) {
  HWY_DYNAMIC_DISPATCH(weigh_of)(n, reinterpret_cast<const float*>(data), weight, sign, value);
}
void weigh_values(std::size_t n, const std::complex<float>* data, const float* weight, float sign,
                  double* value) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::complex<double> used = weight[i] != 0 ? std::complex<double>(data[i]) : 0;
    value[2 * i] = used.real() * static_cast<double>(weight[i]);
    value[2 * i + 1] = used.imag() * static_cast<double>(weight[i]) * static_cast<double>(sign);
  }
}
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 float* value) {
  HWY_DYNAMIC_DISPATCH(turn_float)(n, n_turned, n_planes, turns, value);
}
void turn_values(std::size_t n, std::size_t n_turned, std::size_t n_planes, const double* turns,
                 double* value) {
  HWY_DYNAMIC_DISPATCH(turn_double)(n, n_turned, n_planes, turns, value);
}
}  // namespace apsyn
#endif
