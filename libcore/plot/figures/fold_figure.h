// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of a folded pulsar: its profile, and time and frequency against phase, over two turns.
#pragma once

#include <string>

#include "libcore/plot/canvas.h"
#include "libcore/powers/folded_pulses.h"

namespace apsyn {

struct FoldFigureOptions {
  std::string title;  ///< empty: the source
  std::string colour_map = "ember";
  std::size_t size = 1000;
};

/// Of one sub-integration of one band the profile alone.
Canvas draw_fold_figure(const FoldedPulses& folded, const FoldFigureOptions& options);

}  // namespace apsyn
