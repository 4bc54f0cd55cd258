// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/tile_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/clean/tile_ops_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void subtract_psf_simd(const Block<double>& image, const double* psf_data, std::size_t psf_stride,
                       double flux) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scale = hn::Set(d, flux);
  for (std::size_t y = 0; y < image.ny; ++y) {
    double* row = image.data + y * image.stride;
    const double* psf = psf_data + y * psf_stride;
    std::size_t x = 0;
    for (; x + lanes <= image.nx; x += lanes)
      hn::StoreU(hn::NegMulAdd(scale, hn::LoadU(d, psf + x), hn::LoadU(d, row + x)), d, row + x);
    // The tail rounds as the vectors do, so that a pixel's value does not depend on where its row begins.
    const hn::CappedTag<double, 1> one;
    for (; x < image.nx; ++x)
      hn::StoreU(hn::NegMulAdd(hn::Set(one, flux), hn::LoadU(one, psf + x), hn::LoadU(one, row + x)), one,
                 row + x);
  }
}

template <class Measure>
BlockPeak peak_of(const Block<const double>& image, const double* mask, Measure measure) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const hn::CappedTag<double, 1> one;
  BlockPeak best;
  for (std::size_t y = 0; y < image.ny; ++y) {
    const double* row = image.data + y * image.stride;
    const double* mask_row = mask == nullptr ? nullptr : mask + y * image.stride;
    auto highest = hn::Zero(d);
    std::size_t x = 0;
    for (; x + lanes <= image.nx; x += lanes) {
      auto value = hn::LoadU(d, row + x);
      if (mask_row != nullptr) value = hn::And(value, hn::LoadU(d, mask_row + x));
      highest = hn::Max(highest, measure(d, value));
    }
    double row_peak = hn::GetLane(hn::MaxOfLanes(d, highest));
    for (; x < image.nx; ++x) {
      auto value = hn::LoadU(one, row + x);
      if (mask_row != nullptr) value = hn::And(value, hn::LoadU(one, mask_row + x));
      row_peak = std::max(row_peak, hn::GetLane(measure(one, value)));
    }
    if (row_peak > best.value) best = {row_peak, y};
  }
  return best;
}

BlockPeak peak_absolute_simd(const Block<const double>& image, const double* mask) {
  return peak_of(image, mask, [](auto, auto value) HWY_ATTR { return hn::Abs(value); });
}
BlockPeak peak_positive_simd(const Block<const double>& image, const double* mask) {
  return peak_of(image, mask, [](auto d, auto value) HWY_ATTR { return hn::Max(value, hn::Zero(d)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace apsyn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(subtract_psf_simd);
HWY_EXPORT(peak_absolute_simd);
HWY_EXPORT(peak_positive_simd);

void subtract_psf(const Block<double>& image, const double* psf_data, std::size_t psf_stride, double flux) {
  HWY_DYNAMIC_DISPATCH(subtract_psf_simd)(image, psf_data, psf_stride, flux);
}
BlockPeak peak_absolute(const Block<const double>& image, const double* mask) {
  return HWY_DYNAMIC_DISPATCH(peak_absolute_simd)(image, mask);
}
BlockPeak peak_positive(const Block<const double>& image, const double* mask) {
  return HWY_DYNAMIC_DISPATCH(peak_positive_simd)(image, mask);
}

}  // namespace apsyn
#endif
