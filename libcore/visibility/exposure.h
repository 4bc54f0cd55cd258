// SPDX-License-Identifier: GPL-3.0-or-later
// For how long there are data, whatever the number of rows or sets that have them at once.
#pragma once

#include <map>

namespace apsyn {

/// Lengths (s) of the intervals that data were taken in, by their middles (MJD s). Of intervals with one
/// middle the longest is kept, which holds the others.
using Exposures = std::map<double, double>;

void add_exposure(Exposures& exposures, double middle_mjd_s, double length_s);

/// The length of the union of the intervals: what several of them cover counts once.
double covered_s(const Exposures& exposures);

}  // namespace apsyn
