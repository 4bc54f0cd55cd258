// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cpu/rotate.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channelise/cpu/rotate.cpp"
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

/// requantise_mix.
template <class D, class V>
HWY_INLINE V mix(D d, V x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x85ebca6bu));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(d, 0xc2b2ae35u));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

/// Adds the dither and rounds; counts what is clipped.
template <class D, class V, class I>
HWY_INLINE I round_clipped(D d, V value, const PanelRounding& rounding, I& clipped) {
  const hn::RebindToSigned<D> di;
  const auto low = hn::Set(d, static_cast<float>(rounding.low));
  const auto high = hn::Set(d, static_cast<float>(rounding.high));
  const auto half = hn::Set(d, 0.5f);
  const auto outside = hn::Or(hn::Lt(value, hn::Sub(low, half)), hn::Gt(value, hn::Add(high, half)));
  clipped = hn::Sub(clipped, hn::VecFromMask(di, hn::RebindMask(di, outside)));
  return hn::NearestInt(hn::Min(hn::Max(value, low), high));
}

/// Rounds a vector of inputs and stores it as codes, or as the floats that equal them.
template <class D, class V, class I>
HWY_INLINE void store_rounded(D d, V re, V im, const RotateTask& task, std::size_t fine, std::size_t input,
                              hn::Mask<D> used, I& clipped) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const PanelRounding& rounding = *task.rounding;
  if (rounding.dither) {
    auto key = hn::LoadU(du, rounding.keys + fine * rounding.key_stride + input);
    key = mix(du, hn::Add(key, hn::Set(du, rounding.spectrum_high)));
    const auto bits = mix(du, hn::Xor(key, hn::Set(du, rounding.spectrum_low)));
    const auto part = [&](auto word) {
      const auto value = hn::ConvertTo(d, hn::BitCast(di, word));
      return hn::IfThenElseZero(used, hn::Mul(hn::Sub(value, hn::Set(d, 32767.5f)), hn::Set(d, 0x1p-16f)));
    };
    re = hn::Add(re, part(hn::And(bits, hn::Set(du, 0xffffu))));
    im = hn::Add(im, part(hn::ShiftRight<16>(bits)));
  }
  const auto re_code = round_clipped(d, re, rounding, clipped);
  const auto im_code = round_clipped(d, im, rounding, clipped);
  if (task.codes == nullptr) {
    float* to = task.out + fine * task.fine_stride + input;
    hn::StoreU(hn::ConvertTo(d, re_code), d, to);
    hn::StoreU(hn::ConvertTo(d, im_code), d, to + kPanelInputs);
    return;
  }
  const auto byte = hn::Set(di, 0xff);
  auto both = hn::Or(hn::And(re_code, byte), hn::ShiftLeft<8>(hn::And(im_code, byte)));
  std::int8_t* to = task.codes + fine * task.code_stride + input * sizeof(std::int32_t);
  HWY_ALIGN std::int32_t words[kPanelInputs];
  if (task.second) {
    std::memcpy(words, to, hn::Lanes(di) * sizeof(std::int32_t));
    both = hn::Or(hn::Load(di, words), hn::ShiftLeft<16>(both));
  }
  hn::Store(both, di, words);
  std::memcpy(to, words, hn::Lanes(di) * sizeof(std::int32_t));
}

template <bool Rounded>
HWY_INLINE void rotate_inputs(const RotateTask& task, const PanelRotation& rotation) {
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
    auto clipped = hn::Zero(di);
    for (std::size_t fine = 0; fine < task.bin.size(); ++fine) {
      const float* from = task.transformed + 2 * task.bin[fine];
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
      if constexpr (Rounded) {
        store_rounded(d, re, im, task, fine, input, used, clipped);
      } else {
        float* to = task.out + fine * task.fine_stride + input;
        hn::StoreU(re, d, to);
        hn::StoreU(im, d, to + kPanelInputs);
      }
    }
    if constexpr (Rounded) {
      std::int32_t* counts = task.rounding->clipped + input;
      hn::StoreU(hn::Add(clipped, hn::LoadU(di, counts)), di, counts);
    }
  }
}

void rotate_panel_simd(const RotateTask& task, const PanelRotation& rotation) {
  if (task.rounding != nullptr)
    rotate_inputs<true>(task, rotation);
  else
    rotate_inputs<false>(task, rotation);
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
