// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/rotate.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channelise/rotate_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace apsyn::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// sin and cos of 2 pi turn, error below 2e-7: an eighth of a turn by series, the rest by symmetry.
template <class D, class V>
HWY_INLINE void sin_cos_turn(D d, V turn, V& sine, V& cosine) {
  const hn::RebindToSigned<D> di;
  const auto quarter = hn::Round(hn::Mul(turn, hn::Set(d, 4.0f)));
  const auto x = hn::Mul(hn::NegMulAdd(quarter, hn::Set(d, 0.25f), turn), hn::Set(d, 6.28318530718f));
  const auto x2 = hn::Mul(x, x);
  auto s = hn::Set(d, 2.75573192e-6f);
  s = hn::MulAdd(s, x2, hn::Set(d, -1.98412698e-4f));
  s = hn::MulAdd(s, x2, hn::Set(d, 8.33333333e-3f));
  s = hn::MulAdd(s, x2, hn::Set(d, -1.66666667e-1f));
  s = hn::MulAdd(hn::Mul(s, x2), x, x);
  auto c = hn::Set(d, 2.48015873e-5f);
  c = hn::MulAdd(c, x2, hn::Set(d, -1.38888889e-3f));
  c = hn::MulAdd(c, x2, hn::Set(d, 4.16666667e-2f));
  c = hn::MulAdd(c, x2, hn::Set(d, -0.5f));
  c = hn::MulAdd(c, x2, hn::Set(d, 1.0f));
  const auto q = hn::ConvertTo(di, quarter);
  const auto one = hn::Set(di, 1), two = hn::Set(di, 2);
  const auto odd = hn::RebindMask(d, hn::TestBit(q, one));
  const auto sine_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, two)));
  const auto cosine_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(q, one), two)));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
}

void rotate_panel_simd(const RotateTask& task, const PanelRotation& rotation) {
  const hn::CappedTag<float, kPanelInputs> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t input = 0; input < kPanelInputs; input += lanes) {
    const auto phase = hn::LoadU(d, rotation.phase_turn + input);
    const auto slope = hn::LoadU(d, rotation.slope_s + input);
    const auto amplitude = hn::LoadU(d, rotation.amplitude + input);
    const auto used = hn::Ne(amplitude, hn::Zero(d));
    const auto imaginary = hn::Mul(amplitude, hn::Set(d, rotation.imaginary_sign));
    const auto index =
        hn::Mul(hn::Iota(di, static_cast<int>(input)), hn::Set(di, static_cast<int>(task.input_stride)));
    for (std::size_t fine = 0; fine < task.bin.size(); ++fine) {
      const float* from = task.transformed + 2 * task.bin[fine];
      float* to = task.out + fine * task.fine_stride + input;
      // masked, not multiplied: what stands where there is no weight may be anything
      auto re = hn::IfThenElseZero(used, hn::Mul(amplitude, hn::GatherIndex(d, from, index)));
      auto im = hn::IfThenElseZero(used, hn::Mul(imaginary, hn::GatherIndex(d, from + 1, index)));
      if (rotation.turns) {
        auto turn = hn::MulAdd(slope, hn::Set(d, task.offset_hz[fine]), phase);
        turn = hn::Sub(turn, hn::Round(turn));
        hn::Vec<decltype(d)> sine, cosine;
        sin_cos_turn(d, turn, sine, cosine);
        const auto turned = hn::MulAdd(re, cosine, hn::Mul(im, sine));
        im = hn::NegMulAdd(re, sine, hn::Mul(im, cosine));
        re = turned;
      }
      hn::StoreU(re, d, to);
      hn::StoreU(im, d, to + kPanelInputs);
    }
  }
}

}  // namespace apsyn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace apsyn {

HWY_EXPORT(rotate_panel_simd);

void rotate_panel(const RotateTask& task, const PanelRotation& rotation) {
  HWY_DYNAMIC_DISPATCH(rotate_panel_simd)(task, rotation);
}

}  // namespace apsyn
#endif
