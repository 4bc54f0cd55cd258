// SPDX-License-Identifier: GPL-3.0-or-later
// The pairs of antennas off the grid (fft/off_grid.h) on the CPU.
#pragma once

#include <complex>
#include <vector>

#include "kernels/epic/antenna_positions.h"
#include "kernels/epic/aperture.h"
#include "kernels/epic/fft/cpu/spectra.h"
#include "kernels/epic/fft/off_grid.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

class OffGridPairs {
 public:
  /// `plan` must outlive it. `n_turn`: number of partial sums of a channel, to which different threads add.
  OffGridPairs(const EpicPlan& plan, std::size_t n_turn);
  bool any() const { return order_.n_off > 0; }
  /// Begins an accumulation.
  void start(const EpicGeometry& geometry);
  /// Adds spectra of a channel, a few hundred at most, because products are summed in float32 and only these
  /// sums in float64.
  void add(const LaneSpectra& spectra, std::size_t channel, std::size_t turn);
  /// Adds the pairs to images that have been divided by W.
  void image(const EpicWeights& weights, const SkyPixels& pixels, const ApertureWeights& apertures,
             EpicImages& images);
  static std::uint64_t bytes(const EpicPlan& plan, std::size_t n_turn);

 private:
  static constexpr std::size_t kItemPixels = 64;  ///< of a work item
  struct Scratch {
    Buffer<float, 2> weights;  // [pixel][ant in order, padded][re, im]
    Buffer<float, 1> tiles;    // of PairProduct
    Buffer<float, 1> sums;     // [pixel][matrix][lane]
  };

  std::complex<double> sum(std::size_t channel, std::size_t off, std::size_t p, std::size_t ant,
                           std::size_t q) const;
  void make_matrices(std::size_t channel);
  void lay_out(std::size_t channel, std::size_t pass, Buffer<float, 1>& tiles) const;
  void image_channel(std::size_t channel, std::size_t first_pixel, const SkyPixels& pixels,
                     const ApertureWeights& apertures, Scratch& scratch, View<double, 2> sums) const;
  std::size_t n_matrix(std::size_t pass) const {
    return std::min<std::size_t>(2, plan_.n_plane() - 2 * pass);
  }

  const EpicPlan& plan_;
  OffGridOrder order_;
  std::size_t n_turn_, n_panel_;
  EpicGeometry geometry_;
  AntennaPositions positions_;               // in order
  Buffer<double, 3> sums_;                   // [channel][turn][off n_pol + pol][panel][re 16 | im 16]
  Buffer<std::complex<float>, 4> matrices_;  // [channel][off][ant in order][plane], as PairProducts
  Buffer<double, 3> powers_;                 // [channel][off][plane] of an antenna with itself
  std::vector<Scratch> scratch_;             // [thread]
};

}  // namespace apsyn
