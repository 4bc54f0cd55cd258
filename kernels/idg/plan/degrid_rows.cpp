// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/plan/degrid_rows.h"

#include <algorithm>

namespace apsyn::idg_degrid {
namespace {

/// Nanoseconds of one of 16 threads, measured beside an H200 (tests/bench/README.md). Rows that travel: to be
/// added, for each visibility and plane, which takes as long as its 8 bytes on the bus.
constexpr double kAddedRow = 2.55;
/// Rows of nodes: for each visibility and plane, more with every node, and for each run.
constexpr double kMadeRow = 1.4, kMadeOfNode = 0.02, kMadeRun = 12;
/// What travels meanwhile: a place's plane, and a run's 16 bytes.
constexpr double kSentPlace = 2.3, kSentRun = 4.7;

}  // namespace

bool leaves_rows(const RowCounts& counts) {
  const auto planes = static_cast<double>(counts.n_planes),
             visibilities = static_cast<double>(counts.n_visibilities) * planes;
  const double nodes =
      static_cast<double>(counts.n_nodes) / static_cast<double>(std::max<std::uint64_t>(1, counts.n_tracks));
  const double made = visibilities * (kMadeRow + kMadeOfNode * nodes) +
                      static_cast<double>(counts.n_runs) * (kMadeRun + kSentRun) +
                      static_cast<double>(counts.n_places) * planes * kSentPlace;
  return made < visibilities * kAddedRow;
}

}  // namespace apsyn::idg_degrid
