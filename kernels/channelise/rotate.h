// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loop behind the FFT: turn by delay and fringe phase, normalise, and write panels.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/spectra.h"

namespace apsyn {

/// One panel and one spectrum of an input channel.
struct PanelRotation {
  float phase_turn[kPanelInputs] = {};  ///< nu_0 tau, reduced to -1/2 .. 1/2
  float slope_s[kPanelInputs] = {};     ///< tau - k T
  float amplitude[kPanelInputs] = {};   ///< L^(-1/2), or 0 = no weight: the output is then exactly 0
  float imaginary_sign = 1;
  bool turns = false;  ///< whether any phase differs from 0
};

struct RotateTask {
  const float* transformed = nullptr;  ///< [input][bin][re, im]
  std::size_t input_stride = 0;        ///< floats from input to input
  std::span<const std::size_t> bin;    ///< [fine]
  std::span<const float> offset_hz;    ///< [fine]
  float* out = nullptr;                ///< [fine][re 16 | im 16]
  std::size_t fine_stride = 0;         ///< floats from fine channel to fine channel
};

/// out(f) = amplitude exp(-2 pi i (phase + offset_f slope)) transformed(bin_f).
void rotate_panel(const RotateTask& task, const PanelRotation& rotation);

}  // namespace apsyn
