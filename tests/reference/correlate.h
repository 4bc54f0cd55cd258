// SPDX-License-Identifier: GPL-3.0-or-later
// The FX correlator written from its definition: integer products one by one in int64, and float64 discrete
// Fourier transforms, delays and means without any rearrangement.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

namespace apsyn::reference {

struct IntegerSum {
  std::int64_t re = 0, im = 0, count = 0;
};

/// sum over t of a(t) b(t)* where both are valid; a and b interleave re, im.
IntegerSum cross_sum(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                     const std::vector<bool>& a_valid, const std::vector<bool>& b_valid);

/// One spectrum value: L^(-1/2) exp(-2 pi i phase_turn) sum_n x(n) exp(-2 pi i n bin / L).
std::complex<double> spectrum(const std::vector<std::complex<double>>& x, double bin, double phase_turn);

}  // namespace apsyn::reference
