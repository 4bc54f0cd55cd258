// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/delay_sum.h"

#include <array>
#include <cmath>
#include <stdexcept>

#include "libcore/base/constants.h"
#include "libcore/sky/ionosphere_screen.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simulate/delay_sum.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::simulate::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kPhaseGroup>;
using V = hn::Vec<D>;

/// Accumulators stay in registers over the emitters; each bin is written once.
template <unsigned Order, bool has_jones>
void delay_sum_order(const DelaySumInput& input, View<std::complex<float>, 3> sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), n_bins = sums.extent(2), n_visible = input.visible.size();
  for (std::size_t bin = 0; bin < n_bins; bin += lanes) {
    const std::size_t group = bin / kPhaseGroup, inside = bin % kPhaseGroup;
    V re_x[Order + 1], im_x[Order + 1], re_y[Order + 1], im_y[Order + 1];
    for (unsigned k = 0; k <= Order; ++k) re_x[k] = im_x[k] = re_y[k] = im_y[k] = hn::Zero(d);
    for (std::size_t s = 0; s < n_visible; ++s) {
      const float* coarse = &input.coarse(s, group, 0);
      const V coarse_re = hn::Set(d, coarse[0]), coarse_im = hn::Set(d, coarse[1]);
      const V fine_re = hn::Load(d, &input.fine(s, 0, inside)),
              fine_im = hn::Load(d, &input.fine(s, 1, inside));
      const V phase_re = hn::NegMulAdd(coarse_im, fine_im, hn::Mul(coarse_re, fine_re));
      const V phase_im = hn::MulAdd(coarse_im, fine_re, hn::Mul(coarse_re, fine_im));
      const float* spectrum = &input.spectra(input.visible[s], 0, 0, bin);
      const V x_re = hn::Load(d, spectrum), x_im = hn::Load(d, spectrum + n_bins);
      const V y_re = hn::Load(d, spectrum + 2 * n_bins), y_im = hn::Load(d, spectrum + 3 * n_bins);
      V xr = hn::NegMulAdd(x_im, phase_im, hn::Mul(x_re, phase_re));
      V xi = hn::MulAdd(x_im, phase_re, hn::Mul(x_re, phase_im));
      V yr = hn::NegMulAdd(y_im, phase_im, hn::Mul(y_re, phase_re));
      V yi = hn::MulAdd(y_im, phase_re, hn::Mul(y_re, phase_im));
      if constexpr (has_jones) {
        const float* j = &input.jones(s, 0);
        const auto seen = [&](const float* row, V& re, V& im) HWY_ATTR {
          const V a_re = hn::Set(d, row[0]), a_im = hn::Set(d, row[1]), b_re = hn::Set(d, row[2]),
                  b_im = hn::Set(d, row[3]);
          re = hn::NegMulAdd(b_im, yi, hn::MulAdd(b_re, yr, hn::NegMulAdd(a_im, xi, hn::Mul(a_re, xr))));
          im = hn::MulAdd(b_im, yr, hn::MulAdd(b_re, yi, hn::MulAdd(a_im, xr, hn::Mul(a_re, xi))));
        };
        V seen_re[2], seen_im[2];
        seen(j, seen_re[0], seen_im[0]);
        seen(j + 4, seen_re[1], seen_im[1]);
        xr = seen_re[0], xi = seen_im[0], yr = seen_re[1], yi = seen_im[1];
      }
      const V rate = hn::Set(d, input.rate[s]);
      for (unsigned k = 0; k <= Order; ++k) {
        re_x[k] = hn::Add(re_x[k], xr), im_x[k] = hn::Add(im_x[k], xi);
        re_y[k] = hn::Add(re_y[k], yr), im_y[k] = hn::Add(im_y[k], yi);
        if (k < Order) {
          xr = hn::Mul(xr, rate), xi = hn::Mul(xi, rate);
          yr = hn::Mul(yr, rate), yi = hn::Mul(yi, rate);
        }
      }
    }
    const V relative = hn::Load(d, &input.relative_freq(bin));
    V factor = hn::Set(d, 1.0f);  // (nu / nu_c)^k; i^k rotates by quarter turns below
    for (unsigned k = 0; k <= Order; ++k) {
      for (std::size_t pol = 0; pol < 2; ++pol) {
        const V re = hn::Mul(pol == 0 ? re_x[k] : re_y[k], factor);
        const V im = hn::Mul(pol == 0 ? im_x[k] : im_y[k], factor);
        float* out = reinterpret_cast<float*>(&sums(pol, k, bin));
        if (k % 4 == 0) hn::StoreInterleaved2(re, im, d, out);
        if (k % 4 == 1) hn::StoreInterleaved2(hn::Neg(im), re, d, out);
        if (k % 4 == 2) hn::StoreInterleaved2(hn::Neg(re), hn::Neg(im), d, out);
        if (k % 4 == 3) hn::StoreInterleaved2(im, hn::Neg(re), d, out);
      }
      factor = hn::Mul(factor, relative);
    }
  }
}

template <bool has_jones>
void delay_sum_through(const DelaySumInput& input, View<std::complex<float>, 3> sums) {
  switch (sums.extent(1)) {
    case 1:
      return delay_sum_order<0, has_jones>(input, sums);
    case 2:
      return delay_sum_order<1, has_jones>(input, sums);
    case 3:
      return delay_sum_order<2, has_jones>(input, sums);
    case 4:
      return delay_sum_order<3, has_jones>(input, sums);
    default:
      return delay_sum_order<kMaxTaylorOrder, has_jones>(input, sums);
  }
}

void delay_sum_any(const DelaySumInput& input, View<std::complex<float>, 3> sums) {
  input.jones.size() > 0 ? delay_sum_through<true>(input, sums) : delay_sum_through<false>(input, sums);
}

}  // namespace apsyn::simulate::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn::simulate {

HWY_EXPORT(delay_sum_any);

void set_phases(DelaySumInput& input, const std::vector<RayDelay>& rays, double band_centre_hz,
                double bin_hz) {
  const std::size_t n_bins = input.spectra.extent(3), n_groups = n_bins / kPhaseGroup;
  input.coarse.resize({rays.size(), n_groups, 2});
  input.fine.resize({rays.size(), 2, kPhaseGroup});
  const auto phase = [](double turns) { return kTwoPi * (turns - std::round(turns)); };
  for (std::size_t s = 0; s < rays.size(); ++s) {
    const auto [tau_s, tec_tecu] = rays[s];
    const double group_delay_s =
        tau_s - ionosphere_phase_rad(tec_tecu, band_centre_hz) / (kTwoPi * band_centre_hz);
    for (std::size_t group = 0; group < n_groups; ++group) {
      const double bin = static_cast<double>(group * kPhaseGroup) -
                         (group * kPhaseGroup < n_bins / 2 ? 0.0 : static_cast<double>(n_bins));
      const double freq_hz = band_centre_hz + bin * bin_hz;
      const double angle = phase(freq_hz * tau_s + ionosphere_phase_rad(tec_tecu, freq_hz) / kTwoPi);
      input.coarse(s, group, 0) = static_cast<float>(std::cos(angle));
      input.coarse(s, group, 1) = static_cast<float>(std::sin(angle));
    }
    for (std::size_t bin = 0; bin < kPhaseGroup; ++bin) {
      const double angle = phase(static_cast<double>(bin) * bin_hz * group_delay_s);
      input.fine(s, 0, bin) = static_cast<float>(std::cos(angle));
      input.fine(s, 1, bin) = static_cast<float>(std::sin(angle));
    }
  }
}

void delay_sum(const DelaySumInput& input, View<std::complex<float>, 3> sums) {
  const std::size_t n_bins = sums.extent(2);
  if (sums.extent(0) != 2 || sums.extent(1) < 1 || sums.extent(1) > kMaxTaylorOrder + 1 ||
      n_bins % (2 * kPhaseGroup) != 0 || input.spectra.extent(3) != n_bins || input.spectra.extent(1) != 2 ||
      input.relative_freq.extent(0) != n_bins || input.coarse.extent(0) != input.visible.size() ||
      input.rate.size() != input.visible.size() ||
      (input.jones.size() > 0 && input.jones.shape() != std::array<std::size_t, 2>{input.visible.size(), 8}))
    throw std::invalid_argument("delay_sum: shapes disagree");
  HWY_DYNAMIC_DISPATCH(delay_sum_any)(input, sums);
}

}  // namespace apsyn::simulate
#endif
