// SPDX-License-Identifier: GPL-3.0-or-later
// The places of a block's visibilities on the uv plane: of each channel of a row, or of the few nodes that
// stand for its channels (channel_nodes.h) where these are cheaper.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/idg/cpu/planes/spread_places.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/planes.h"
#include "kernels/idg/tracks/channel_nodes.h"

namespace apsyn {

PlaceFrame frame_of(const PlanesPlan& plan);

class BlockPlaces {
 public:
  BlockPlaces(const PlanesPlan& plan, const IdgSetup& setup);

  /// Looks through a block, which must stay as it is until the last make(). Returns its number of
  /// visibilities that have a weight. DataError for coordinates that are no number or beyond the plan.
  std::uint64_t start(const GridBlock& block);
  /// Makes the places of the next rows, about max_places. False where no rows are left.
  bool make(Places& places);

  static std::uint64_t bytes(std::size_t n_planes, unsigned n_threads);

 private:
  static constexpr std::size_t max_places = 1 << 16, rows_at_once = 64;
  static constexpr std::size_t max_nodes = max_band_columns;

  /// One thread's.
  struct Scratch {
    Buffer<double, 1> u, v, w, path;
    Buffer<float, 1> channel_values, node_values;  ///< [chan or node][re, im] of one plane
  };

  std::size_t nodes_for(const Band& band, double turn) const;
  std::size_t places_of(std::size_t row) const;
  void survey(std::size_t first_row, std::size_t end_row);
  void make_rows(std::size_t first_row, std::size_t end_row, Place* place, std::complex<float>* value,
                 Scratch& scratch) const;
  void put_values(std::size_t row, const Band& band, std::size_t plane, std::size_t n_nodes,
                  std::complex<float>* value, Scratch& scratch) const;

  PlaceFrame frame_;
  double max_w_lambda_;
  std::size_t n_data_planes_, n_planes_;
  unsigned n_threads_;
  std::array<double, 3> phase_;                   ///< turn of the image's corner for each wavelength
  std::array<double, max_nodes + 1> max_turn_{};  ///< [n] the largest turn that n nodes can represent
  const GridBlock* block_ = nullptr;
  std::vector<Band> bands_;        ///< of the block's channels, n_nodes unset
  std::vector<double> band_span_;  ///< [band] in wavenumber
  double max_wavenumber_ = 0;
  std::vector<ChannelTable<float>> tables_;               ///< [band][n_nodes]
  std::vector<float> turn_;                               ///< [row] per wavenumber; negative without data
  std::vector<std::uint32_t> n_places_, n_visibilities_;  ///< [row]
  std::vector<Scratch> scratch_;
  ChannelNodes<float> nodes_;
  std::size_t next_row_ = 0;
};

}  // namespace apsyn
