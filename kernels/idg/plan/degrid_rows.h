// SPDX-License-Identifier: GPL-3.0-or-later
// Whether rows are made of nodes on a GPU, and travel, or nodes travel, and the host makes rows of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apsyn::idg_degrid {

/// What is known of rows that are predicted together.
struct RowCounts {
  std::uint64_t n_visibilities = 0;
  std::uint64_t n_runs = 0;  ///< of consecutive channels, those of a row on a track
  std::uint64_t n_tracks = 0;
  std::uint64_t n_nodes = 0;   ///< and rows on tracks without
  std::uint64_t n_places = 0;  ///< nodes' channels, and visibilities on tracks without
  std::size_t n_planes = 1;
};

/// Whether it takes less when the host makes the rows.
bool leaves_rows(const RowCounts& counts);

}  // namespace apsyn::idg_degrid
