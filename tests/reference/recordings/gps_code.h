// SPDX-License-Identifier: GPL-3.0-or-later
// What finds the satellites of GPS in voltages: their codes, and a transform to correlate with.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::reference {

/// In place, of 2^n values, exp(sign i); not normalised.
void fft(std::vector<std::complex<double>>& x, double sign);

/// The C/A code of a satellite (IS-GPS-200, 3.3.2.3): two shift registers of 10 stages, the second delayed by
/// its two taps; +-1 at 4 samples for each of 1023 chips.
std::vector<double> gold_code(std::size_t prn);

}  // namespace apsyn::reference
