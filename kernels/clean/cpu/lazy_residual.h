// SPDX-License-Identifier: GPL-3.0-or-later
// A residual that subtracts components only where that is needed to find its highest pixel: the same pixels
// as Hogbom's algorithm at a fraction of the work.
//
// The high pixels are kept exact, component by component, as Clark's loop keeps them. All others are divided
// into tiles. The bound of a tile is the highest search value of its other pixels when it was last updated,
// plus the most that components not yet subtracted can have added: the sum over them of |flux| max|PSF| over
// the offsets that lead from the component to the tile (psf_bounds.h). Only a tile whose bound reaches the
// highest of the high pixels is updated; if one of its pixels really reaches it, the high pixels are chosen
// again. Components at the same pixel are merged first, and when updating tiles would cost more than one FFT
// convolution, everything is subtracted by FFT.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/clean/cpu/active_pixels.h"
#include "kernels/clean/cpu/psf_bounds.h"
#include "kernels/clean/cpu/psf_subtraction.h"

namespace apsyn {

class LazyResidual final : public PeakSource {
 public:
  /// What `set` views must outlive this object.
  LazyResidual(const PlaneSet& set, PsfSubtraction& subtraction, const PsfBounds& bounds, unsigned n_threads);
  std::optional<SetPeak> find_peak() override;
  void subtract(const SetComponent& component) override;
  /// Updates every tile.
  void flush();

 private:
  struct Tile {
    std::size_t x = 0, y = 0, nx = 0, ny = 0;
    std::size_t n_applied = 0;        ///< components already subtracted
    double bound = 0;                 ///< of its pixels that are not high
    std::vector<std::uint32_t> high;  ///< indices of those that are
    enum class Search { all, some, none } search = Search::all;
  };
  void build_tiles();
  void choose_high_pixels();
  bool up_to_date(const Tile& tile) const { return tile.n_applied == components_.size(); }
  void update(Tile& tile, unsigned thread);
  void update(const std::vector<Tile*>& tiles);
  void flush_by_fft();
  /// Finds the highest of the tile's pixels that are not high ones, and sets the values of the high ones.
  void measure(Tile& tile, unsigned thread);

  PlaneSet set_;
  PsfSubtraction& subtraction_;
  const PsfBounds& bounds_;
  unsigned n_threads_;
  std::vector<Tile> tiles_;
  std::optional<ActivePixels> high_;
  std::vector<SetComponent> components_;   ///< since the last flush by FFT
  std::vector<Buffer<float, 2>> start_;    ///< the planes at that time
  std::vector<Buffer<float, 1>> scratch_;  ///< [thread] search values of a tile's row
};

}  // namespace apsyn
