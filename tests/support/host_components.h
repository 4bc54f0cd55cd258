// SPDX-License-Identifier: GPL-3.0-or-later
// What a GPU's threads sum, run through by the host in the order of the tables.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/simulate/component_terms.h"
#include "kernels/simulate/device_components.h"
#include "kernels/simulate/term_tables.h"

namespace apsyn::test {

class HostComponents final : public simulate::DeviceComponents {
 public:
  /// Matrices in batches of up to so many.
  HostComponents(const SkyModel& sky, const SkyDirection& centre, const std::vector<double>& channel_hz,
                 bool through, std::size_t max_matrices = std::size_t{1} << 20)
      : tables_(simulate::make_term_tables(sky, centre, channel_hz, through)), max_matrices_(max_matrices) {}

  std::size_t n_planes() const override { return tables_.n_planes; }

  void place(std::span<const simulate::ComponentPlace> places) override {
    if (places.size() != tables_.components.size()) throw std::invalid_argument("places of other components");
    for (std::size_t c = 0; c < places.size(); ++c)
      tables_.components[c] = simulate::term_component(places[c]);
  }

  void predict(View<const double, 2> uvw_m, View<const double, 1> path_m,
               View<std::complex<float>, 3> data) override {
    auto* const sums = reinterpret_cast<simulate::TermPhasor*>(data.data());
    with_lengths([&]<int kRun, int kPlanes>() {
      for (std::uint32_t run = 0; run < tables_.runs.size(); ++run)
        for (const simulate::TermRow& row : ordered(uvw_m, path_m, {}).rows)
          simulate::sum_terms<kRun, kPlanes>(table(), row, run, sums);
    });
  }

  /// `phased` is not looked at.
  void predict_through(View<const double, 2> uvw_m, View<const double, 1> path_m,
                       View<const std::uint32_t, 2> station, const simulate::StationMatrices& from,
                       View<std::complex<float>, 3> data) override {
    using namespace simulate;
    const auto [rows, order] = ordered(uvw_m, path_m, station);
    const std::size_t n_stations = from.n_stations;
    auto* const sums = reinterpret_cast<TermPhasor*>(data.data());
    for (const MatrixBatch& batch : matrix_batches(tables_, n_stations, max_matrices_)) {
      const std::size_t n = batch.size(n_stations);
      std::vector<TermMatrix> jones(n), seen(n);
      Buffer<std::complex<float>, 3> own({n_stations, batch.n_components, 4});
      for (std::size_t chan = 0; chan < batch.n_chan; ++chan) {
        own.fill({NAN, NAN});
        from.evaluate(batch.first_chan + chan, batch.first_component, own);
        for (std::size_t c = 0; c < batch.n_components; ++c)
          for (std::size_t at = 0; at < n_stations; ++at) {
            const std::size_t to = (c * batch.n_chan + chan) * n_stations + at;
            float stokes[4];
            for (std::size_t i = 0; i < 4; ++i) {
              jones[to].of[i] = {own(at, c, i).real(), own(at, c, i).imag()};
              stokes[i] =
                  tables_.brightness
                      [((batch.first_component + c) * tables_.n_chan + batch.first_chan + chan) * 4 + i];
            }
            seen[to] = brightened(jones[to], stokes);
          }
      }
      const TermMatrices matrices{seen.data(),
                                  jones.data(),
                                  static_cast<std::uint32_t>(batch.first_component),
                                  static_cast<std::uint32_t>(batch.n_components),
                                  static_cast<std::uint32_t>(batch.first_run),
                                  static_cast<std::uint32_t>(batch.n_runs),
                                  static_cast<std::uint32_t>(batch.first_chan),
                                  static_cast<std::uint32_t>(batch.n_chan),
                                  static_cast<std::uint32_t>(n_stations)};
      with_lengths([&]<int kRun, int kPlanes>() {
        for (std::uint32_t run = 0; run < tables_.runs.size(); ++run) {
          if (!has_run(matrices, run)) continue;
          for (const TermTile& tile : order.tiles) sum_tile<kRun>(matrices, tile, rows.data(), run, sums);
          for (std::size_t i = order.n_tiled; i < rows.size(); ++i)
            sum_terms_through<kRun>(table(), matrices, rows[i], run, sums);
        }
      });
    }
  }

 private:
  struct OrderedRows {
    std::vector<simulate::TermRow> rows;
    simulate::RowOrder order;
  };
  static OrderedRows ordered(View<const double, 2> uvw_m, View<const double, 1> path_m,
                             View<const std::uint32_t, 2> station) {
    OrderedRows made;
    made.rows.resize(uvw_m.extent(0));
    made.order = simulate::order_rows(uvw_m, path_m, station, 0, made.rows.size(), made.rows.data());
    return made;
  }

  /// Calls do_run<kRun, kPlanes>() with the lengths of the tables.
  template <class Do>
  void with_lengths(Do do_run) const {
    switch (10 * tables_.run_length + tables_.n_planes) {
      case 161:
        return do_run.template operator()<16, 1>();
      case 81:
        return do_run.template operator()<8, 1>();
      case 41:
        return do_run.template operator()<4, 1>();
      case 84:
        return do_run.template operator()<8, 4>();
      case 44:
        return do_run.template operator()<4, 4>();
      default:
        BOOST_FAIL("no kernel has runs of " << tables_.run_length << " and " << tables_.n_planes
                                            << " planes");
    }
  }

  simulate::TermTable table() const {
    return {tables_.components.data(),
            tables_.runs.data(),
            tables_.exponent.data(),
            tables_.stokes.data(),
            static_cast<std::uint32_t>(tables_.components.size()),
            static_cast<std::uint32_t>(tables_.runs.size()),
            static_cast<std::uint32_t>(tables_.n_chan)};
  }

  /// What a block of threads does for a tile, in one run.
  template <int kRun>
  void sum_tile(const simulate::TermMatrices& matrices, const simulate::TermTile& tile,
                const simulate::TermRow* rows, std::uint32_t run_index, simulate::TermPhasor* sums) const {
    using namespace simulate;
    using Stage = TileStage<kRun>;
    const TermRun run = table().runs[run_index];
    std::vector<TermProducts<kRun>> products(tile.n_rows);
    for (std::uint32_t i = 0; i < tile.n_rows; ++i) start_products(rows[tile.first_row + i], products[i]);
    for (std::uint32_t c = 0; c < matrices.n_components; c += Stage::kComponents) {
      Stage stage;
      std::vector<int> times(Stage::kSize, 0);
      std::fill(std::begin(stage.halves), std::end(stage.halves), TermHalf{{{NAN, NAN}, {NAN, NAN}}});
      for (std::uint32_t i = 0; i < Stage::kSize; ++i) {
        const StagedHalf staged = staged_half<kRun>(matrices, run, tile, c, i);
        ++times.at(staged.to);
        if (staged.from != nullptr) stage.halves[staged.to] = {{staged.from[0], staged.from[1]}};
      }
      BOOST_TEST_REQUIRE(std::count(times.begin(), times.end(), 1) == std::ptrdiff_t{Stage::kSize});
      for (std::uint32_t i = 0; i < tile.n_rows; ++i)
        add_stage(table(), matrices, run_index, run, tile, rows[tile.first_row + i], stage, c, products[i]);
    }
    for (std::uint32_t i = 0; i < tile.n_rows; ++i)
      store_products(table(), run, rows[tile.first_row + i], products[i], matrices.first_component > 0, sums);
  }

  simulate::TermTables tables_;
  std::size_t max_matrices_;
};

}  // namespace apsyn::test
