// SPDX-License-Identifier: GPL-3.0-or-later
// PSRFITS files of search mode, byte by byte as CSIRO's definition of PSRFITS describes them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace apsyn::reference {

struct PsrfitsRow {
  double offset_s = 0;                 ///< OFFS_SUB, of the row's middle
  std::vector<float> weights;          ///< [channel]
  std::vector<float> scales, offsets;  ///< [polarisation][channel]
  std::vector<int> codes;              ///< [time][polarisation][channel]
};

struct PsrfitsRows {
  int n_bit = 8;
  std::size_t n_pol = 1, n_time = 0;  ///< of a row
  std::vector<double> freq_mhz;       ///< [channel]
  std::string pol_type = "AA+BB", obs_mode = "SEARCH";
  double sample_s = 1e-3;
  std::vector<PsrfitsRow> rows;
  bool floats = false;  ///< samples of 32 bits are floats
  /// Replaces or adds cards of the primary header and of the table's.
  std::vector<std::pair<std::string, std::string>> primary_cards, table_cards;
};

std::string psrfits_bytes(const PsrfitsRows& file);

}  // namespace apsyn::reference
