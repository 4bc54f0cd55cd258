// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/aterms/beam_response.h"

#include <numbers>

#include "kernels/idg/aterms/aterm_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idg/aterms/beam_response.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <bool normalised, class D>
HWY_INLINE void add_pixels(D d, std::size_t x, std::size_t side, const double* HWY_RESTRICT p,
                           const double* HWY_RESTRICT q, double weight, double* HWY_RESTRICT sum) {
  auto product = [&](std::size_t element) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, p + element * side + x), hn::LoadU(d, q + element * side + x));
  };
  auto trace = product(0);
  for (std::size_t element = 1; element < 4; ++element)
    trace = hn::MulAdd(hn::LoadU(d, p + element * side + x), hn::LoadU(d, q + element * side + x), trace);
  auto response = trace;
  if constexpr (normalised)
    response = hn::IfThenElseZero(hn::Gt(trace, hn::Zero(d)), hn::Sqrt(hn::Div(product(4), trace)));
  hn::StoreU(hn::MulAdd(response, hn::Set(d, weight), hn::LoadU(d, sum + x)), d, sum + x);
}

template <bool normalised>
void add_row(std::size_t side, const double* p, const double* q, double weight, double* sum) {
  const hn::CappedTag<double, 8> d;
  const hn::CappedTag<double, 1> one;
  std::size_t x = 0;
  for (; x + hn::Lanes(d) <= side; x += hn::Lanes(d)) add_pixels<normalised>(d, x, side, p, q, weight, sum);
  for (; x < side; ++x) add_pixels<normalised>(one, x, side, p, q, weight, sum);
}

void add_normalised(std::size_t side, const double* p, const double* q, double weight, double* sum) {
  add_row<true>(side, p, q, weight * std::numbers::sqrt2, sum);
}
void add_adjoint(std::size_t side, const double* p, const double* q, double weight, double* sum) {
  add_row<false>(side, p, q, weight / 2, sum);
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {
HWY_EXPORT(add_normalised);
HWY_EXPORT(add_adjoint);

namespace {
constexpr std::size_t n_elements = 5;
}  // namespace

StationBeams::StationBeams(BeamResponse response, std::size_t side) : response_(response), side_(side) {}

void StationBeams::set(std::size_t station, const std::complex<float>* jones) {
  const std::size_t size = n_elements * side_;
  if (values_.size() < (station + 1) * size) values_.resize((station + 1) * size);
  double* out = &values_[station * size];
  for (std::size_t x = 0; x < side_; ++x) {
    auto value = [&](std::size_t i) {
      return AtermValue<double>{jones[4 * x + i].real(), jones[4 * x + i].imag()};
    };
    const AtermMatrix<double> a{value(0), value(1), value(2), value(3)};
    const AtermMatrix<double> b = response_ == BeamResponse::normalised ? adjugate(a) : a;
    const AtermMatrix<double> gram = adjoint_times(b, b);
    out[x] = gram.xx.re;
    out[side_ + x] = gram.yy.re;
    out[2 * side_ + x] = std::numbers::sqrt2 * gram.xy.re;
    out[3 * side_ + x] = std::numbers::sqrt2 * gram.xy.im;
    out[4 * side_ + x] = power(determinant(a));
  }
}

void StationBeams::add(std::size_t p, std::size_t q, double weight, double* sum) const {
  const double *of_p = &values_[p * n_elements * side_], *of_q = &values_[q * n_elements * side_];
  if (response_ == BeamResponse::normalised)
    HWY_DYNAMIC_DISPATCH(add_normalised)(side_, of_p, of_q, weight, sum);
  else
    HWY_DYNAMIC_DISPATCH(add_adjoint)(side_, of_p, of_q, weight, sum);
}

}  // namespace apsyn
#endif
