// SPDX-License-Identifier: GPL-3.0-or-later
// Par files of TEMPO and TEMPO2 (Hobbs, Edwards & Manchester 2006, MNRAS 369, 655): lines of a key, its
// value, and what does not matter here, whether it was fitted and its error.
#pragma once

#include <string>
#include <string_view>

#include "libcore/powers/pulsar_timing.h"

namespace apsyn {

/// Reads F0 or P0 and derivatives, PEPOCH, RAJ, DECJ, POSEPOCH, PMRA, PMDEC, PX, DM and derivatives, DMEPOCH,
/// TZRMJD, TZRSITE and TZRFRQ; EPHEM and CLK are noted. What else would change the phase (binaries, glitches,
/// waves, dispersion in pieces, ecliptic coordinates, TCB) is a DataError that names it; other keys are
/// ignored. `source` names the text in errors.
PulsarTiming parse_par(std::string_view text, const std::string& source);
/// The same of a file; FailureError when it cannot be read.
PulsarTiming read_par_file(const std::string& path);

}  // namespace apsyn
