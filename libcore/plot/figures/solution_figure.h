// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of one table of solutions: a panel per antenna, amplitude above phase, or delays or TEC alone,
// against time or frequency; flagged solutions are grey.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "libcore/plot/canvas.h"
#include "libcore/solutions/solutions.h"

namespace apsyn {

enum class SolutionAxis { time, frequency };

/// The longer one of a table's axes; time where both are as long.
SolutionAxis longer_axis(const SolutionTable& table);

struct SolutionFigureOptions {
  std::string title;
  std::size_t table = 0;      ///< of Solutions::tables
  std::size_t direction = 0;  ///< of the table
  SolutionAxis against = SolutionAxis::time;
  std::size_t size = 1000;
};

/// Up to 16 channels (times) are drawn over each other, evenly chosen. FailureError when all is flagged.
Canvas draw_solutions(const Solutions& solutions, const SolutionFigureOptions& options);

}  // namespace apsyn
