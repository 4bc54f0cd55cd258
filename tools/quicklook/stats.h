// SPDX-License-Identifier: GPL-3.0-or-later
// What --stats says of each kind of input, as JSON. Units are in the names; angles of the sky in degrees,
// times in UTC; what cannot be computed is null.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "libcore/plot/figures/image_figure.h"
#include "libcore/powers/dynamic_spectrum.h"
#include "libcore/visibility/visibility_summary.h"
#include "libcore/voltage/voltage_summary.h"

namespace apsyn {

/// Members stay in the order in which they were added.
using Json = nlohmann::ordered_json;

/// Of the part of the plane that the picture shows.
Json stats_of(const Image& image, const ImageFigureOptions& shown);
Json stats_of(const VisibilitySummary& summary);
Json stats_of(const VoltageSummary& summary);
Json stats_of(const DynamicSpectrum& spectrum);

/// An object as text: one member a line, and one line for each item of a list of objects. Bytes that are no
/// UTF-8 become U+FFFD: names come from files of any encoding.
std::string stats_text(const Json& stats);

}  // namespace apsyn
