// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/term_tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numbers>

#include "kernels/simulate/channel_runs.h"
#include "kernels/simulate/components.h"
#include "libcore/base/constants.h"

namespace apsyn::simulate {
namespace {

/// Deviations from steady steps, relative to the frequency: 1e-7 of a turn at 1e5 wavelengths.
constexpr double kSteady = 1e-12;

/// The length of runs for which the fewest operations are expected: a run takes some 55 to find a phase and
/// its step, and `per_channel` for each of its channels, used or not.
std::size_t best_length(const std::vector<double>& per_m, std::size_t longest, std::size_t per_channel) {
  std::size_t best = longest, least = SIZE_MAX;
  for (std::size_t length = longest; length >= 4; length /= 2) {
    const std::size_t cost = channel_runs(per_m, length, kSteady).size() * (55 + per_channel * length);
    if (cost < least) {
      least = cost;
      best = length;
    }
  }
  return best;
}

/// Fewer rows do not keep a block busy enough to pay for moving 32 stations' matrices.
constexpr std::size_t kLeastTileRows = 64;

}  // namespace

TermComponent term_component(const ComponentPlace& place) {
  TermComponent term{};
  term.is_extended = place.geometry.is_extended || !place.is_up;
  term.min_squared_m2 = place.is_up ? 0 : std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < 3; ++i) {
    term.path[i] = place.geometry.path[i];
    term.major_axis[i] = static_cast<float>(place.geometry.major_axis[i]);
    term.minor_axis[i] = static_cast<float>(place.geometry.minor_axis[i]);
  }
  return term;
}

TermTables make_term_tables(const SkyModel& sky, const SkyDirection& centre,
                            const std::vector<double>& channel_hz, bool through) {
  TermTables tables;
  tables.n_planes = through ? 4 : stokes_of(sky).size();
  tables.n_chan = channel_hz.size();
  std::vector<double> per_m;
  for (const double hz : channel_hz) per_m.push_back(hz / kSpeedOfLight_m_s);
  // Sums of a longer run of four planes do not fit into registers.
  const std::size_t length = tables.run_length =
      tables.n_planes == 1 ? best_length(per_m, 16, 6) : best_length(per_m, 8, through ? 52 : 12);
  for (const ChannelRun& run : channel_runs(per_m, length, kSteady)) {
    tables.runs.push_back({run.first_per_m + static_cast<double>(length / 2) * run.step_per_m, run.step_per_m,
                           static_cast<std::uint32_t>(run.first), static_cast<std::uint32_t>(run.n)});
    for (std::size_t i = 0; i < length; ++i) {
      const double at = per_m[run.first + std::min(i, run.n - 1)];
      tables.exponent.push_back(static_cast<float>(std::numbers::log2e * at * at));
    }
  }
  const std::size_t n_components = sky.components.size();
  tables.brightness.resize(through ? n_components * tables.n_chan * 4 : 0);
  tables.stokes.resize(through ? 0 : tables.runs.size() * n_components * tables.n_planes * length / 4);
  for (std::size_t c = 0; c < n_components; ++c) {
    tables.components.push_back(term_component({component_geometry(sky.components[c], centre)}));
    for (std::size_t r = 0; r < tables.runs.size(); ++r)
      for (std::size_t i = 0; i < tables.runs[r].n; ++i) {
        const std::size_t chan = tables.runs[r].first + i;
        const std::array<double, 4> stokes = flux_at(sky.components[c], channel_hz[chan]);
        for (std::size_t plane = 0; plane < tables.n_planes; ++plane) {
          const std::size_t at = ((r * n_components + c) * length + i) * tables.n_planes + plane;
          (through ? tables.brightness[(c * tables.n_chan + chan) * 4 + plane]
                   : tables.stokes[at / 4].of[at % 4]) = static_cast<float>(stokes[plane]);
        }
      }
  }
  return tables;
}

std::vector<MatrixBatch> matrix_batches(const TermTables& tables, std::size_t n_stations,
                                        std::size_t max_matrices) {
  std::vector<MatrixBatch> batches;
  const std::size_t n_components = tables.components.size();
  if (n_components == 0 || n_stations == 0) return batches;
  for (std::size_t run = 0, n_runs = 0; run < tables.runs.size(); run += n_runs) {
    std::size_t n_chan = tables.runs[run].n;
    for (n_runs = 1; run + n_runs < tables.runs.size(); ++n_runs) {
      const std::size_t more = n_chan + tables.runs[run + n_runs].n;
      if (more * n_components * n_stations > max_matrices) break;
      n_chan = more;
    }
    const std::size_t at_once =
        std::clamp<std::size_t>(max_matrices / (n_chan * n_stations), 1, n_components);
    for (std::size_t first = 0; first < n_components; first += at_once)
      batches.push_back(
          {first, std::min(at_once, n_components - first), run, n_runs, tables.runs[run].first, n_chan});
  }
  return batches;
}

RowOrder order_rows(View<const double, 2> uvw_m, View<const double, 1> path_m,
                    View<const std::uint32_t, 2> station, std::size_t first, std::size_t n, TermRow* rows) {
  const auto row_of = [&](std::size_t i) {
    const std::size_t row = first + i;
    return TermRow{uvw_m(row, 0),
                   uvw_m(row, 1),
                   uvw_m(row, 2),
                   path_m.size() == 0 ? 0 : path_m(row),
                   station.size() == 0 ? 0 : station(row, 0),
                   station.size() == 0 ? 0 : station(row, 1),
                   static_cast<std::uint32_t>(row),
                   0};
  };
  RowOrder order;
  if (station.size() == 0) {
    for (std::size_t i = 0; i < n; ++i) rows[i] = row_of(i);
    return order;
  }
  std::size_t n_stations = 1;
  for (std::size_t i = 0; i < n; ++i)
    n_stations = std::max<std::size_t>(
        n_stations, std::size_t{1} + std::max(station(first + i, 0), station(first + i, 1)));
  const std::size_t n_sides = (n_stations + kTileStations - 1) / kTileStations;
  const auto tile_of = [&](std::size_t i) {
    return station(first + i, 0) / kTileStations * n_sides + station(first + i, 1) / kTileStations;
  };
  struct Places {
    std::size_t n = 0, n_tiled = 0;
    std::size_t next = 0, next_loose = 0;  ///< in `rows`
  };
  std::vector<Places> tiles(n_sides * n_sides);
  for (std::size_t i = 0; i < n; ++i) ++tiles[tile_of(i)].n;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    Places& tile = tiles[t];
    const std::size_t rest = tile.n % kTileRows;
    tile.n_tiled = rest < kLeastTileRows ? tile.n - rest : tile.n;
    tile.next = order.n_tiled;
    order.n_tiled += tile.n_tiled;
    for (std::size_t at = 0; at < tile.n_tiled; at += kTileRows)
      order.tiles.push_back({static_cast<std::uint32_t>(tile.next + at),
                             static_cast<std::uint32_t>(std::min<std::size_t>(kTileRows, tile.n_tiled - at)),
                             static_cast<std::uint32_t>(t / n_sides * kTileStations),
                             static_cast<std::uint32_t>(t % n_sides * kTileStations)});
  }
  std::size_t next_loose = order.n_tiled;
  for (Places& tile : tiles) {
    tile.next_loose = next_loose;
    next_loose += tile.n - tile.n_tiled;
  }
  for (std::size_t i = 0; i < n; ++i) {
    Places& tile = tiles[tile_of(i)];
    rows[tile.n_tiled > 0 ? tile.next++ : tile.next_loose++] = row_of(i);
    if (tile.n_tiled > 0) --tile.n_tiled;
  }
  return order;
}

}  // namespace apsyn::simulate
