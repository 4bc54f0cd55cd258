// SPDX-License-Identifier: GPL-3.0-or-later
// Spectra between the F stage that makes them and the X stage (or a beamformer) that takes them.
//
// Inputs (input = ant * n_pol + pol) stand in panels of 16, so that a panel's samples of one spectrum fill
// whole vector registers and a panel's run over the spectra of a block is contiguous: 16 KB of float32 for
// 128 spectra, which stays in the first-level cache while it is crossed with the other panels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/base/view.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

inline constexpr std::size_t kPanelInputs = 16;

/// Bytes of two spectra of a panel as codes.
inline constexpr std::size_t kCodeBytes = 4 * kPanelInputs;

inline std::size_t panel_count(std::size_t n_input) {
  return (n_input + kPanelInputs - 1) / kPanelInputs;
}

/// Consecutive spectra of consecutive input channels. Samples without weight, and the unused inputs of the
/// last panel, are 0.
struct SpectraBlock {
  std::size_t first_chan = 0, n_chan = 0;  ///< input channels
  std::size_t n_fine = 1;                  ///< fine channels per input channel
  std::size_t n_spectra = 0;               ///< used; the arrays below may hold more
  Buffer<float, 4> planes;                 ///< [input chan * n_fine + fine][panel][spectrum][re 16 | im 16]
  bool coded = false;                      ///< `codes` hold the spectra, not `planes`
  /// [input chan * n_fine + fine][panel][pair of spectra][input 16][re, im, re, im]: integers of 8 bits; 0
  /// follows an odd last spectrum.
  Buffer<std::int8_t, 4> codes;
  /// [input chan][input], steps of requantised spectra for each unit of the samples; empty without any.
  Buffer<float, 2> steps;
  /// [input chan or 1][ant][spectrum]: 1 = valid. One row of channels serves all when validity does not
  /// depend on the channel.
  Buffer<std::uint8_t, 3> valid;
  bool all_valid = false;
};

/// An F stage: voltages in, spectra out.
class SpectrumSource {
 public:
  virtual ~SpectrumSource() = default;
  virtual void append(const VoltageBlock& block) = 0;
  virtual void end_of_stream() = 0;
  /// Spectra that can be made from what is held.
  virtual std::int64_t available() const = 0;
  /// The samples of spectra before `spectrum` may be forgotten.
  virtual void release(std::int64_t spectrum) = 0;
  /// Of the input and input channel that lost most, the share of components that requantising clipped.
  virtual double clipped_share() const { return 0; }
  /// Spectra first .. first + n_spectra - 1 of input channels first_chan .. first_chan + n_chan - 1.
  virtual void spectra(std::int64_t first, std::size_t n_spectra, std::size_t first_chan, std::size_t n_chan,
                       SpectraBlock& block) = 0;
};

}  // namespace apsyn
