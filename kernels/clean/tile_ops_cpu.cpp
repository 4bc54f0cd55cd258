// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/clean/tile_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/clean/tile_ops_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Tails take one element at a time with the same operations as the vectors, so that a pixel's value does not
// depend on where its row begins.
using One = hn::CappedTag<float, 1>;

void subtract_psf_simd(const Block<float>& image, const float* psf_data, std::size_t psf_stride, float flux) {
  const hn::ScalableTag<float> d;
  const One one;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, flux);
  for (std::size_t y = 0; y < image.ny; ++y) {
    float* row = image.data + y * image.stride;
    const float* psf = psf_data + y * psf_stride;
    std::size_t x = 0;
    for (; x + lanes <= image.nx; x += lanes)
      hn::StoreU(hn::NegMulAdd(scale, hn::LoadU(d, psf + x), hn::LoadU(d, row + x)), d, row + x);
    for (; x < image.nx; ++x)
      hn::StoreU(hn::NegMulAdd(hn::Set(one, flux), hn::LoadU(one, psf + x), hn::LoadU(one, row + x)), one,
                 row + x);
  }
}

void subtract_gathered_simd(std::span<float> values, const float* psf, const std::int32_t* offset,
                            float flux) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const One one;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, flux);
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto sidelobe = hn::GatherIndex(d, psf, hn::LoadU(di, offset + i));
    hn::StoreU(hn::NegMulAdd(scale, sidelobe, hn::LoadU(d, &values[i])), d, &values[i]);
  }
  for (; i < values.size(); ++i)
    hn::StoreU(hn::NegMulAdd(hn::Set(one, flux), hn::Set(one, psf[offset[i]]), hn::LoadU(one, &values[i])),
               one, &values[i]);
}

template <class D>
HWY_INLINE void search_values_at(D d, float* out, std::span<const float* const> planes,
                                 std::span<const float> weight, std::size_t n_pol, std::size_t x) {
  auto sum = hn::Zero(d);
  for (std::size_t g = 0; g < weight.size(); ++g) {
    auto value = hn::LoadU(d, planes[g * n_pol] + x);
    if (n_pol > 1) {
      value = hn::Mul(value, value);
      for (std::size_t p = 1; p < n_pol; ++p) {
        const auto other = hn::LoadU(d, planes[g * n_pol + p] + x);
        value = hn::MulAdd(other, other, value);
      }
      value = hn::Sqrt(value);
    }
    sum = hn::MulAdd(value, hn::Set(d, weight[g]), sum);
  }
  hn::StoreU(sum, d, out + x);
}

void search_values_simd(std::span<float> out, std::span<const float* const> planes,
                        std::span<const float> weight, std::size_t n_pol) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t x = 0;
  for (; x + lanes <= out.size(); x += lanes) search_values_at(d, out.data(), planes, weight, n_pol, x);
  for (; x < out.size(); ++x) search_values_at(One(), out.data(), planes, weight, n_pol, x);
}

template <class Measure>
float highest_of(std::span<const float> values, const float* weight, Measure measure) {
  const hn::ScalableTag<float> d;
  const One one;
  const std::size_t lanes = hn::Lanes(d);
  auto highest = hn::Zero(d);
  std::size_t x = 0;
  for (; x + lanes <= values.size(); x += lanes) {
    auto value = hn::LoadU(d, &values[x]);
    if (weight != nullptr) value = hn::Mul(value, hn::LoadU(d, weight + x));
    highest = hn::Max(highest, measure(d, value));
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, highest));
  for (; x < values.size(); ++x) {
    auto value = hn::LoadU(one, &values[x]);
    if (weight != nullptr) value = hn::Mul(value, hn::LoadU(one, weight + x));
    result = std::max(result, hn::GetLane(measure(one, value)));
  }
  return result;
}

float highest_absolute_simd(std::span<const float> values, const float* weight) {
  return highest_of(values, weight, [](auto, auto value) HWY_ATTR { return hn::Abs(value); });
}
float highest_positive_simd(std::span<const float> values, const float* weight) {
  return highest_of(values, weight, [](auto d, auto value) HWY_ATTR { return hn::Max(value, hn::Zero(d)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(subtract_psf_simd);
HWY_EXPORT(subtract_gathered_simd);
HWY_EXPORT(search_values_simd);
HWY_EXPORT(highest_absolute_simd);
HWY_EXPORT(highest_positive_simd);

void subtract_psf(const Block<float>& image, const float* psf_data, std::size_t psf_stride, float flux) {
  HWY_DYNAMIC_DISPATCH(subtract_psf_simd)(image, psf_data, psf_stride, flux);
}
void subtract_gathered(std::span<float> values, const float* psf, const std::int32_t* offset, float flux) {
  HWY_DYNAMIC_DISPATCH(subtract_gathered_simd)(values, psf, offset, flux);
}
void search_values(std::span<float> out, std::span<const float* const> planes, std::span<const float> weight,
                   std::size_t n_pol) {
  HWY_DYNAMIC_DISPATCH(search_values_simd)(out, planes, weight, n_pol);
}
float highest_value(std::span<const float> values, const float* weight, PeakSign sign) {
  return sign == PeakSign::any ? HWY_DYNAMIC_DISPATCH(highest_absolute_simd)(values, weight)
                               : HWY_DYNAMIC_DISPATCH(highest_positive_simd)(values, weight);
}
std::size_t first_at(std::span<const float> values, const float* weight, PeakSign sign, float highest) {
  for (std::size_t x = 0; x < values.size(); ++x) {
    const float value = weight == nullptr ? values[x] : values[x] * weight[x];
    if ((sign == PeakSign::any ? std::abs(value) : value) == highest) return x;
  }
  return values.size();
}

}  // namespace apsyn
#endif
