// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loop behind the FFT: turn by delay and fringe phase, normalise, and write panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

/// One panel and one spectrum of an input channel.
struct PanelRotation {
  float phase_turn[kPanelInputs] = {};  ///< nu_0 tau, reduced to -1/2 .. 1/2
  float slope_s[kPanelInputs] = {};     ///< tau - k T
  float amplitude[kPanelInputs] = {};   ///< L^(-1/2), or 0 = no weight: the output is then exactly 0
  float imaginary_sign = 1;
  bool turns = false;  ///< whether any phase differs from 0
};

/// How a panel's spectrum becomes integers (kernels/channelise/requantise.h); the scale is in the amplitude.
struct PanelRounding {
  int low = 0, high = 0;
  bool dither = false;
  std::uint32_t spectrum_low = 0, spectrum_high = 0;  ///< of the spectrum's number since sample 0
  const std::uint32_t* keys = nullptr;      ///< [fine][panel input 16], before `spectrum_high` is mixed in
  std::size_t key_stride = 0;               ///< from fine channel to fine channel
  std::int32_t clipped[kPanelInputs] = {};  ///< components are added here
};

struct RotateTask {
  const float* transformed = nullptr;  ///< [input][bin][re, im]
  std::size_t input_stride = 0;        ///< floats from input to input
  std::span<const std::size_t> bin;    ///< [fine]
  std::span<const float> offset_hz;    ///< [fine]
  float* out = nullptr;                ///< [fine][re 16 | im 16]
  std::size_t fine_stride = 0;         ///< floats from fine channel to fine channel
  PanelRounding* rounding = nullptr;   ///< null: as they are
  /// Not null: integers go here instead, [fine][input 16][re, im, re, im], into the second half when
  /// `second`.
  std::int8_t* codes = nullptr;
  std::size_t code_stride = 0;  ///< bytes from fine channel to fine channel
  bool second = false;
};

/// out(f) = amplitude exp(-2 pi i (phase + offset_f slope)) transformed(bin_f), rounded if wanted. Codes of a
/// first half clear the second.
void rotate_panel(const RotateTask& task, const PanelRotation& rotation);

}  // namespace apsyn
