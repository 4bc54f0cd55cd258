// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/restoring_beams.h"

#include "libcore/base/constants.h"
#include "libcore/base/units.h"

namespace apsyn::clean {

std::size_t nearest_fitted(const std::vector<std::optional<RestoringBeam>>& beams, std::size_t part) {
  for (std::size_t step = 1; step < beams.size(); ++step) {
    if (part >= step && beams[part - step]) return part - step;
    if (part + step < beams.size() && beams[part + step]) return part + step;
  }
  return part;
}

void report_beam(const std::string& part, const RestoringBeam& beam, bool given) {
  log_info("{}{}{} beam: {} x {}, position angle {:.2f} deg", part, part.empty() ? "" : ": ",
           given ? "given" : "fitted", format_angle(beam.major_rad), format_angle(beam.minor_rad),
           beam.position_angle_rad / kRadPerDeg);
}

}  // namespace apsyn::clean
