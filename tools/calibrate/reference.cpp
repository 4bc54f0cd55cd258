// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/reference.h"

#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn::calibrate {

std::optional<std::size_t> named_reference(const std::string& wanted, const InputInfo& info) {
  if (wanted == "auto") return std::nullopt;
  for (std::size_t i = 0; i < info.antennas.size(); ++i)
    if (info.antennas[i].name == wanted) return i;
  const std::optional<double> number = finite_number(wanted);
  if (!number || *number < 0 || *number >= static_cast<double>(info.antennas.size()) ||
      *number != std::floor(*number))
    throw UsageError(
        "--reference-antenna {}: {} has no such antenna: give a name, a number below {}, or auto", wanted,
        info.path, info.antennas.size());
  return static_cast<std::size_t>(*number);
}

void drop_short_and_long(const ImagingOptions& selection, const InputInfo& info, MsRows& rows) {
  const double least = selection.min_uv_lambda, most = selection.max_uv_lambda;
  if (least <= 0 && most <= 0) return;
  const std::vector<double>& channel_hz = info.windows[static_cast<std::size_t>(rows.spw)].channel_hz;
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    const double length_m = std::hypot(rows.uvw_m(row, 0), rows.uvw_m(row, 1));
    for (std::size_t chan = 0; chan < channel_hz.size(); ++chan) {
      const double lambda = length_m * channel_hz[chan] / kSpeedOfLight_m_s;
      if (lambda >= least && (most <= 0 || lambda <= most)) continue;
      for (std::size_t p = 0; p < rows.weight.extent(2); ++p) rows.weight(row, chan, p) = 0;
    }
  }
}

}  // namespace apsyn::calibrate
