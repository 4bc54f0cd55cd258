// SPDX-License-Identifier: GPL-3.0-or-later
// The beams that restore the parts of a band, and their mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/image/image.h"

namespace apsyn::clean {

struct BandBeams {
  std::vector<RestoringBeam> parts;
  RestoringBeam mean;  ///< for the mean of the parts
};

/// The index nearest to `part` that has a beam.
std::size_t nearest_fitted(const std::vector<std::optional<RestoringBeam>>& beams, std::size_t part);

/// fit(part) for every part and, of several, fit(n_parts) for their mean. A part that has no beam to fit, as
/// when it has few data, takes that of the nearest one, the mean that of the middle one, each with a warning.
/// FailureError when none has one. `name_of(part)` for messages.
template <class Fit, class NameOf>
BandBeams fit_band(std::size_t n_parts, Fit fit, NameOf name_of) {
  std::vector<std::optional<RestoringBeam>> fitted(n_parts);
  std::vector<std::string> reasons(n_parts);
  bool any = false;
  for (std::size_t part = 0; part < n_parts; ++part) try {
      fitted[part] = fit(part);
      any = true;
    } catch (const FailureError& error) {
      if (n_parts == 1) throw;
      reasons[part] = error.what();
    }
  if (!any) throw FailureError("{}", reasons[0]);
  BandBeams beams;
  for (std::size_t part = 0; part < n_parts; ++part) {
    if (fitted[part]) {
      beams.parts.push_back(*fitted[part]);
      continue;
    }
    const std::size_t other = nearest_fitted(fitted, part);
    log_warning("{}: {}; restored with the beam of {}", name_of(part), reasons[part], name_of(other));
    beams.parts.push_back(*fitted[other]);
  }
  beams.mean = beams.parts[n_parts / 2];
  if (n_parts > 1) try {
      beams.mean = fit(n_parts);
    } catch (const FailureError& error) {
      log_warning("mean: {}; restored with the beam of {}", error.what(), name_of(n_parts / 2));
    }
  return beams;
}

void report_beam(const std::string& part, const RestoringBeam& beam, bool given);

}  // namespace apsyn::clean
