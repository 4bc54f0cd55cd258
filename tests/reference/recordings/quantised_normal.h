// SPDX-License-Identifier: GPL-3.0-or-later
// Means of quantised normal variables by integration over their density.
#pragma once

namespace apsyn::reference {

/// E q(x_1) q(x_2) for zero means, RMS rms1 and rms2 steps and correlation rho (|rho| <= 1); q rounds to the
/// nearest integer within low .. high. With `dither` q is its mean over a dither uniform in +-1/2.
double quantised_product(int low, int high, bool dither, double rms1, double rms2, double rho);

/// E q^2, dither's own noise included.
double quantised_square(int low, int high, bool dither, double rms);

}  // namespace apsyn::reference
