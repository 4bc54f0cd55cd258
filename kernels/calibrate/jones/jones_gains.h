// SPDX-License-Identifier: GPL-3.0-or-later
// 2x2 gains from jones sums, all blocks of a group at once, by alternating directions: with all other
// antennas known, row a of J_p is the solution r of
//   sum_c' r_c' D_c'c = N_c,
//   N_c = sum_q,b w_ab V_ab conj(X_cb),  D_c'c = sum_q,b w_ab X_c'b conj(X_cb),  X = M J_q^H,
// which the sums give without the samples. The two rows do not know of each other, so that a flagged product
// costs its row what it would have said, and nothing else.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/calibrate/sums.h"
#include "libcore/base/view.h"

namespace apsyn {

using Matrix2 = std::array<std::complex<double>, 4>;  ///< row by row

struct JonesSettings {
  bool leakage = false;  ///< J has a diagonal of ones
  double tolerance = 1e-6;
  std::size_t max_iterations = 200;
  std::size_t reference = 0;  ///< antenna whose polar part leakages fix in every step
};

struct JonesGains {
  Buffer<std::complex<double>, 3> gain;     ///< [block][antenna][2x2]; rows that are not active are 0
  Buffer<double, 3> row_power;              ///< [block][antenna][row] r D r^H: what of chi^2 the row explains
  Buffer<double, 4> row_information;        ///< [block][antenna][row][column] 1 / (D^-1)_cc
  Buffer<std::uint8_t, 3> active;           ///< [block][antenna][row]
  std::vector<std::uint32_t> n_iterations;  ///< [block]
  std::vector<std::uint8_t> converged;      ///< [block]
  void resize(std::size_t n_blocks, std::size_t n_antennas);
};

/// Solves the blocks of a group from the gains that are there.
void solve_jones_group(const CalibrationSums& sums, std::size_t group, const JonesSettings& settings,
                       JonesGains& gains);

/// The unitary factor U of J = P U with P Hermitian and positive.
Matrix2 polar_unitary(const Matrix2& j);

Matrix2 multiply(const Matrix2& a, const Matrix2& b);
Matrix2 adjoint(const Matrix2& a);

}  // namespace apsyn
