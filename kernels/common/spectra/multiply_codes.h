// SPDX-License-Identifier: GPL-3.0-or-later
// The cross-multiply of one column panel with the rows of all panels up to it, in integers.
//
// Samples are codes of 8 bits, [re, im] of two spectra in 32 bits, so that the dot product of four bytes does
// two spectra of a real or an imaginary part at once. It multiplies unsigned by signed bytes: columns are
// taken as b + 128, and -b as (~b) + 128 = 127 - b, both of which fit for every b. With the sums A = sum a
// over a row,
//   sum ar (br + 128) + ai (bi + 128) = Re + 128 (Ar + Ai)
//   sum ar (127 - bi) + ai (br + 128) = Im + 127 Ar + 128 Ai,
// exactly. 65280 is the most that a spectrum adds: int32 holds 32896 spectra.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

/// Codes [panel][pair of spectra][input 16][re, im, re, im] of one channel.
struct CodeRun {
  const std::int8_t* first = nullptr;  ///< panel 0
  std::size_t panel_stride = 0;        ///< bytes from panel to panel
  std::size_t n_pair = 0;              ///< of spectra; an odd last one is followed by zeros
};

/// Whether this processor multiplies codes: AVX-512 VNNI. Others take float32, which is
/// as exact for up to kMaxBlockSpectra spectra and, without such instructions, as fast.
bool multiplies_codes();

/// sums[input][re, im] of one panel.
void sum_codes(const std::int8_t* panel, std::size_t n_pair, std::int32_t* sums);

/// sums[row][re 16 | im 16] += sum over spectra of E_row E_column*, rows 0 .. n_rows-1 (and what completes
/// eight of them), columns of `panel`. row_sums[row][re, im] are those of sum_codes.
void multiply_codes(const CodeRun& run, std::size_t panel, std::size_t n_rows, const std::int32_t* row_sums,
                    double* sums);

}  // namespace apsyn
