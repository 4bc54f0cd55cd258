// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/clean/cpu/tile_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/clean/cpu/tile_ops.cpp"
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

/// The PSF at pixels i, i + 1 ...
struct Covering {
  const float* psf;  ///< where pixel (0, 0) of the image would be
  const std::int32_t* offset;

  Covering(const PlacedPsf& placed, const PixelList& pixels)
      : psf(placed.data - (std::ptrdiff_t{placed.y} * placed.nx + placed.x)), offset(pixels.offset) {}
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    const std::size_t last = hn::Lanes(d) - 1;
    // Where emission is extended, most pixels have all their neighbours beside them.
    if (static_cast<std::size_t>(offset[i + last] - offset[i]) == last) return hn::LoadU(d, psf + offset[i]);
    return hn::GatherIndex(d, psf, hn::LoadU(hn::RebindToSigned<D>(), offset + i));
  }
};

struct Cut {
  PlacedPsf psf;
  PixelList pixels;

  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, std::size_t i) const {
    const hn::RebindToSigned<D> di;
    const auto x = hn::Sub(hn::LoadU(di, pixels.x + i), hn::Set(di, psf.x)),
               y = hn::Sub(hn::LoadU(di, pixels.y + i), hn::Set(di, psf.y)), before = hn::Set(di, -1);
    const auto within = hn::And(hn::And(hn::Gt(x, before), hn::Lt(x, hn::Set(di, psf.nx))),
                                hn::And(hn::Gt(y, before), hn::Lt(y, hn::Set(di, psf.ny))));
    // Products that wrap around are those of pixels beyond.
    const auto index = hn::IfThenElseZero(within, hn::Add(hn::Mul(y, hn::Set(di, psf.nx)), x));
    return hn::IfThenElseZero(hn::RebindMask(d, within), hn::GatherIndex(d, psf.data, index));
  }
};

/// values -= flux * sidelobe; then the highest measure(value * weight), where there are weights.
template <class Sidelobe, class Measure>
HWY_INLINE float subtract_each(std::span<float> values, float flux, const float* weight,
                               const Sidelobe& sidelobe, Measure measure) {
  const hn::ScalableTag<float> d;
  const One one;
  const std::size_t lanes = hn::Lanes(d);
  auto highest = hn::Zero(d);
  auto highest_one = hn::Zero(one);
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto value = hn::NegMulAdd(hn::Set(d, flux), sidelobe(d, i), hn::LoadU(d, &values[i]));
    hn::StoreU(value, d, &values[i]);
    if (weight != nullptr) highest = hn::Max(highest, measure(d, hn::Mul(value, hn::LoadU(d, weight + i))));
  }
  for (; i < values.size(); ++i) {
    const auto value = hn::NegMulAdd(hn::Set(one, flux), sidelobe(one, i), hn::LoadU(one, &values[i]));
    hn::StoreU(value, one, &values[i]);
    if (weight != nullptr)
      highest_one = hn::Max(highest_one, measure(one, hn::Mul(value, hn::LoadU(one, weight + i))));
  }
  return std::max(hn::GetLane(hn::MaxOfLanes(d, highest)), hn::GetLane(highest_one));
}

struct Absolute {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D, hn::Vec<D> value) const {
    return hn::Abs(value);
  }
};
struct Positive {
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, hn::Vec<D> value) const {
    return hn::Max(value, hn::Zero(d));
  }
};

template <class Measure>
HWY_INLINE float subtract_placed(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels,
                                 float flux, const float* weight, Measure measure) {
  return psf.covers ? subtract_each(values, flux, weight, Covering(psf, pixels), measure)
                    : subtract_each(values, flux, weight, Cut{psf, pixels}, measure);
}

float subtract_gathered_simd(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels,
                             float flux, const float* weight, PeakSign sign) {
  return sign == PeakSign::any ? subtract_placed(values, psf, pixels, flux, weight, Absolute())
                               : subtract_placed(values, psf, pixels, flux, weight, Positive());
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
  return highest_of(values, weight, Absolute());
}
float highest_positive_simd(std::span<const float> values, const float* weight) {
  return highest_of(values, weight, Positive());
}

template <class Measure>
HWY_INLINE std::size_t find_first(std::span<const float> values, const float* weight, float highest,
                                  Measure measure) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t x = 0;
  for (; x + lanes <= values.size(); x += lanes) {
    auto value = hn::LoadU(d, &values[x]);
    if (weight != nullptr) value = hn::Mul(value, hn::LoadU(d, weight + x));
    const auto equal = hn::Eq(measure(d, value), hn::Set(d, highest));
    if (!hn::AllFalse(d, equal)) return x + static_cast<std::size_t>(hn::FindFirstTrue(d, equal));
  }
  for (; x < values.size(); ++x) {
    const float value = weight == nullptr ? values[x] : values[x] * weight[x];
    if (hn::GetLane(measure(One(), hn::Set(One(), value))) == highest) return x;
  }
  return values.size();
}

std::size_t first_at_simd(std::span<const float> values, const float* weight, PeakSign sign, float highest) {
  return sign == PeakSign::any ? find_first(values, weight, highest, Absolute())
                               : find_first(values, weight, highest, Positive());
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
HWY_EXPORT(first_at_simd);

void subtract_psf(const Block<float>& image, const float* psf_data, std::size_t psf_stride, float flux) {
  HWY_DYNAMIC_DISPATCH(subtract_psf_simd)(image, psf_data, psf_stride, flux);
}
void subtract_gathered(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels, float flux) {
  HWY_DYNAMIC_DISPATCH(subtract_gathered_simd)(values, psf, pixels, flux, nullptr, PeakSign::any);
}
float subtract_and_measure(std::span<float> values, const PlacedPsf& psf, const PixelList& pixels, float flux,
                           const float* weight, PeakSign sign) {
  return HWY_DYNAMIC_DISPATCH(subtract_gathered_simd)(values, psf, pixels, flux, weight, sign);
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
  return HWY_DYNAMIC_DISPATCH(first_at_simd)(values, weight, sign, highest);
}

}  // namespace apsyn
#endif
