// SPDX-License-Identifier: GPL-3.0-or-later
// What the headers of a PSRFITS file and the first row of its samples say. For libcore/formats/psrfits only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libcore/formats/filterbank/reader.h"
#include "libcore/formats/fits/columns.h"

namespace apsyn {

struct PsrfitsLayout {
  FilterbankInput input;  ///< as the samples come: float32; start that of the file, not of its first row
  std::uint64_t data_byte = 0;
  std::size_t row_bytes = 0, n_rows = 0, samples_per_row = 0;
  int n_bit = 8;           ///< 1, 2, 4, 8: whole numbers; 16: of two bytes; 32: of four, or floats
  bool is_signed = false;  ///< of up to 8 bits
  double zero_offset = 0;  ///< taken off codes
  double rows_before = 0;  ///< NSUBOFFS
  double code_scale = 1, code_zero = 0;  ///< TSCAL and TZERO of the samples
  FitsColumn data;
  std::optional<FitsColumn> frequencies, weights, scales, offsets, offset_s;
  double centre_hz = 0, channel_step_hz = 0;  ///< of the headers
};

/// Throws as PsrfitsReader. The channels' frequencies are those of the headers until the first row is read.
PsrfitsLayout read_psrfits_layout(const std::string& path);

}  // namespace apsyn
