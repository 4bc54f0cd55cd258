// SPDX-License-Identifier: GPL-3.0-or-later
// The measure of error that all tests share.
#pragma once

#include <complex>
#include <span>

namespace apsyn::reference {

/// RMS(value - truth) / RMS(truth), accumulated in long double. A NaN anywhere gives NaN, which no tolerance
/// passes.
double relative_rms(std::span<const double> value, std::span<const double> truth);
double relative_rms(std::span<const float> value, std::span<const double> truth);
double relative_rms(std::span<const std::complex<float>> value, std::span<const std::complex<double>> truth);
double relative_rms(std::span<const std::complex<double>> value, std::span<const std::complex<double>> truth);

}  // namespace apsyn::reference
