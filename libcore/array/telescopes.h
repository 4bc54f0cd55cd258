// SPDX-License-Identifier: GPL-3.0-or-later
// Where telescopes that pulsars are observed with stand: ITRF, metres, as TEMPO2 and PINT have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/array/array_layout.h"

namespace apsyn {

/// By a name ("Parkes", of letters of either case, blanks and hyphens left out), or a code of TEMPO (of one
/// letter, or of two capitals); absent for one that is not known.
std::optional<Vec3> find_telescope(std::string_view name);
/// Those names, without the codes.
std::vector<std::string> telescope_names();
/// The name of a telescope_id of SIGPROC's headers, empty for one that is not known. Programs agree on these.
std::string telescope_of_sigproc(int id);

}  // namespace apsyn
