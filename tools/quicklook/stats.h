// SPDX-License-Identifier: GPL-3.0-or-later
// What --stats says of each kind of input. Units are in the names; angles of the sky in degrees, times in
// UTC.
#pragma once

#include "libcore/base/json.h"
#include "libcore/plot/image_figure.h"
#include "libcore/powers/dynamic_spectrum.h"
#include "libcore/visibility/visibility_summary.h"
#include "libcore/voltage/voltage_summary.h"

namespace apsyn {

/// Of the part of the plane that the picture shows.
JsonObject stats_of(const Image& image, const ImageFigureOptions& shown);
JsonObject stats_of(const VisibilitySummary& summary);
JsonObject stats_of(const VoltageSummary& summary);
JsonObject stats_of(const DynamicSpectrum& spectrum);

}  // namespace apsyn
