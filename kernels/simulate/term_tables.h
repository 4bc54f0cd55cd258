// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of component_terms.h, on the host: what a GPU is given, and the order in which it sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/simulate/component_geometry.h"
#include "kernels/simulate/component_terms.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

struct TermTables {
  std::size_t n_planes = 1;    ///< 1, I alone, or 4: I Q U V, or the products of sums through matrices
  std::size_t run_length = 4;  ///< kRun
  std::size_t n_chan = 0;
  std::vector<TermComponent> components;
  std::vector<TermRun> runs;
  std::vector<float> exponent;     ///< [run][kRun]
  std::vector<TermFluxes> stokes;  ///< [run][component][kRun][plane]; none through matrices
  std::vector<float> brightness;   ///< [component][chan][I Q U V], for matrices
};

TermComponent term_component(const ComponentPlace& place);

/// Of a sky about a centre, for sums `through` matrices of stations or without.
TermTables make_term_tables(const SkyModel& sky, const SkyDirection& centre,
                            const std::vector<double>& channel_hz, bool through);

/// Matrices that are made, uploaded and summed at once.
struct MatrixBatch {
  std::size_t first_component = 0, n_components = 0;
  std::size_t first_run = 0, n_runs = 0;
  std::size_t first_chan = 0, n_chan = 0;
  std::size_t size(std::size_t n_stations) const { return n_components * n_chan * n_stations; }
};
/// Each batch has as many whole runs as fit into so many matrices, with all components; if a single run does
/// not fit, part of the components. A batch has at least one component in one run.
std::vector<MatrixBatch> matrix_batches(const TermTables& tables, std::size_t n_stations,
                                        std::size_t max_matrices);

/// Tiles of rows, and how many rows, the first ones, are in them. The others are of tiles that have too few.
struct RowOrder {
  std::vector<TermTile> tiles;
  std::size_t n_tiled = 0;
};
/// `rows` of a block, from `first` on, in an order in which neighbours share stations; `station` may be
/// empty. The order is the rows' own without stations, and there are no tiles. path_m may be empty.
RowOrder order_rows(View<const double, 2> uvw_m, View<const double, 1> path_m,
                    View<const std::uint32_t, 2> station, std::size_t first, std::size_t n, TermRow* rows);

}  // namespace apsyn::simulate
