// SPDX-License-Identifier: GPL-3.0-or-later
// The AIPS tables of a UVFITS file. For libcore/formats/uvfits only. All throw as UvfitsReader.
#pragma once

#include "libcore/formats/uvfits/layout.h"

namespace apsyn {

/// AIPS AN of every subarray: positions, site, time system.
void read_uvfits_antennas(UvfitsLayout& layout);
/// AIPS FQ, or the FREQ axis alone.
void read_uvfits_windows(UvfitsLayout& layout);
/// AIPS SU when groups name a source; false when there is none.
bool read_uvfits_sources(UvfitsLayout& layout);
void list_ignored_tables(UvfitsLayout& layout);

/// Into 0 .. 2 pi.
double wrapped_ra_rad(double ra_deg);

}  // namespace apsyn
