// SPDX-License-Identifier: GPL-3.0-or-later
// A residual that subtracts components only where it must to tell its highest pixel: Hogbom's choice of
// pixels at a fraction of his work.
//
// The image is divided into tiles; each keeps its highest search value from when it was last brought up to
// date, plus a bound of what the components that it has not yet subtracted can have added: the sum over them
// of |flux| max|PSF| over the offsets that lead from the component to the tile (psf_bounds.h). Only tiles
// whose bound reaches the highest value known are brought up to date, and components at the same pixel are
// merged first. Once bringing tiles up to date costs more than one FFT convolution, everything is subtracted
// by that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/clean/component_loop.h"
#include "kernels/clean/psf_bounds.h"
#include "kernels/clean/psf_subtraction.h"

namespace apsyn {

class LazyResidual final : public PeakSource {
 public:
  /// What `set` views must outlive this object.
  LazyResidual(const PlaneSet& set, PsfSubtraction& subtraction, const PsfBounds& bounds, unsigned n_threads);
  std::optional<SetPeak> find_peak() override;
  void subtract(const SetComponent& component) override;
  /// Brings every tile up to date.
  void flush();

 private:
  struct Tile {
    std::size_t x = 0, y = 0, nx = 0, ny = 0;
    std::size_t n_applied = 0;  ///< components already subtracted
    double bound = 0;           ///< the peak when up to date, an upper bound otherwise
    std::size_t peak_x = 0, peak_y = 0;
    enum class Search { all, some, none } search = Search::all;
  };
  void build_tiles();
  bool up_to_date(const Tile& tile) const { return tile.n_applied == components_.size(); }
  /// Whether a's peak is picked rather than b's: higher, or as high and earlier in row-major order.
  static bool comes_before(const Tile& a, const Tile& b);
  void update(Tile& tile, unsigned thread);
  void update(const std::vector<Tile*>& tiles);
  void flush_by_fft();
  void measure(Tile& tile, unsigned thread);

  PlaneSet set_;
  PsfSubtraction& subtraction_;
  const PsfBounds& bounds_;
  unsigned n_threads_;
  std::vector<Tile> tiles_;
  std::vector<SetComponent> components_;   ///< since the last flush by FFT
  std::vector<Buffer<float, 2>> start_;    ///< the planes at that time
  std::vector<Buffer<float, 1>> scratch_;  ///< [thread] search values of a tile's row
};

}  // namespace apsyn
