// SPDX-License-Identifier: GPL-3.0-or-later
// Definitions that all forms of CLEAN share: rules for negative components, reasons to stop.
#pragma once

namespace apsyn {

enum class NegativeComponents {
  allow,  ///< search |residual|
  skip,   ///< search positive residuals only
  stop    ///< search |residual| and end at the first negative peak
};

enum class CleanStop {
  iterations,
  threshold,
  noise,
  negative,
  divergence,
  nothing_left,
  unexplained,  ///< the fitted spectra explain nothing of the highest pixel
  cycle,        ///< the peak has fallen by the cycle's share; another major cycle is due
  auto_mask     ///< clean enough for the automatic mask, which applies from the next cycle on
};

}  // namespace apsyn
