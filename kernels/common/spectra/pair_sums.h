// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of E_i E_j* over spectra, for all pairs of inputs: the cross-multiply of the X stage.
//
// Sums are kept for input pairs i <= j in columns of one panel (16 inputs j) by rows i = 0 .. last of the
// panel: [chan][panel][row][re 16 | im 16], so that a row is a broadcast and a column a vector load. A thread
// owns a (channel, panel) at a time. Within kMaxBlockSpectra spectra of a block products are added in float32
// by fused multiply-adds, beyond in float64:
// - samples of up to 8 bits that no transform has touched: every partial sum is an integer of at most
//   2 * 128^2 * kMaxBlockSpectra = 2^24, which float32 holds exactly, as float64 does up to 2^38 spectra: the
//   sums are those of int64 arithmetic, -128 included;
// - the same as codes of two spectra, where the processor multiplies such (multiply_codes.h): int32 within a
//   block, and as exact;
// - otherwise the error relative to the sum of |products| is at most (2 B + 1) 2^-24 for blocks of B spectra,
//   however long the integration; for noise it is about sqrt(B) 2^-25 of one block's sum, and falls with the
//   number of blocks.
// Results do not depend on the number of threads.
#pragma once

#include <complex>
#include <cstdint>

#include "kernels/common/spectra/spectra.h"

namespace apsyn {

inline constexpr std::size_t kMaxBlockSpectra = 512;

class PairSums {
 public:
  PairSums(std::size_t n_channel, std::size_t n_input);

  static std::uint64_t bytes(std::size_t n_channel, std::size_t n_input);
  /// Whether the block's arrays hold what add() reads.
  bool accepts(const SpectraBlock& block) const;
  /// Adds the spectra of the block's channels; std::logic_error for a block that is not accepted.
  void add(const SpectraBlock& block, unsigned n_threads);
  void clear() { sums_.fill(0); }

  /// sum of E_i E_j* of any two inputs; exactly real for i = j. channel = input channel * n_fine + fine.
  std::complex<double> operator()(std::size_t channel, std::size_t i, std::size_t j) const {
    if (i > j) return std::conj((*this)(channel, j, i));
    const std::size_t panel = j / kPanelInputs;
    const double* at = &sums_(channel, (rows_before(panel) + i) * 2 * kPanelInputs + j % kPanelInputs);
    // |E|^2 is real; a fused multiply-add leaves the rounding of one product in place of 0
    return {at[0], i == j ? 0.0 : at[kPanelInputs]};
  }

 private:
  void add_codes(const SpectraBlock& block, std::size_t first, std::size_t n, unsigned n_threads);
  void add_planes(const SpectraBlock& block, std::size_t first, std::size_t n, unsigned n_threads);
  /// Rows of all panels before `panel`: panel p has 16 (p + 1).
  static std::size_t rows_before(std::size_t panel) { return kPanelInputs * panel * (panel + 1) / 2; }

  std::size_t n_input_;
  Buffer<double, 2> sums_;             // [channel][see above]
  Buffer<std::int32_t, 2> code_sums_;  // [channel of a block][panel input][re, im]
};

}  // namespace apsyn
