// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the pulse in a folded profile by matched filters, and the period that makes it strongest.
//
// Templates are Gaussians of many widths (full width w at half maximum), averaged over bins as the profile
// is, with harmonics G_k = exp(-(pi k w)^2 / (4 ln 2)) sinc(k / n_bin), without the mean. For profile
// harmonics F_k the filter's output at phase phi, in standard deviations of a profile bin (sigma), is
//   S/N(phi, w) = sum_k 2 Re F_k exp(2 pi i k phi) G_k / (n_bin sigma sqrt(sum_k 2 G_k^2 / n_bin))
// and the pulse is where it is largest; sigma comes from the samples' own scatter, not from that of the
// profile, which few bins tell badly.
#pragma once

#include "libcore/powers/folded_pulses.h"

namespace apsyn {

/// folded.pulse from folded.profile, its variance and counts. An empty pulse (S/N 0) for less than 8 bins.
void fit_pulse(FoldedPulses& folded);

/// Looks for the period within one turn of drift over the data, in steps of half a bin; moves the
/// sub-integrations to it by whole bins, and sets the period and profile.
void search_period(FoldedPulses& folded);

}  // namespace apsyn
