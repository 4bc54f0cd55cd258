// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinates, beam and marks drawn over an image of the sky.
#pragma once

#include <optional>

#include "libcore/image/image.h"
#include "libcore/plot/figures/image_figure.h"
#include "libcore/plot/figures/sky_view.h"
#include "libcore/plot/layout.h"
#include "libcore/sky/sky_model.h"

namespace apsyn {

/// Of the numbers left of a frame that is not wide.
double declination_labels_width(const Theme& theme, const SkyView& view);
/// Turns what lies beyond the horizon back to paper.
void blank_off_sky(Canvas& canvas, const SkyView& view);
/// Ticks and numbers on the frame; for wide fields a labelled grid, the horizon and N E S W instead.
void draw_sky_coordinates(Canvas& canvas, const Theme& theme, const SkyView& view, GridLines grid,
                          TakenSpace& taken);
/// The restoring beam's ellipse at true scale in the lower left corner.
void draw_beam(Canvas& canvas, const Theme& theme, const SkyView& view, const RestoringBeam& beam,
               TakenSpace& taken);
/// Circles, and names where they fit, the brightest component first.
void draw_marks(Canvas& canvas, const Theme& theme, const SkyView& view,
                const std::optional<RestoringBeam>& beam, const SkyModel& marks, TakenSpace& taken);

}  // namespace apsyn
