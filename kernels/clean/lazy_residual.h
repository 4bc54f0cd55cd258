// SPDX-License-Identifier: GPL-3.0-or-later
// A residual image that subtracts components only where it must to tell its highest pixel (clean.h says how).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/clean/clean.h"
#include "kernels/clean/tile_ops.h"

namespace apsyn {

/// max|PSF| over every tile-sized range of offsets, on a coarse grid of range starts.
class PsfBounds {
 public:
  static constexpr std::size_t kTile = 64;  ///< pixels per side; 32 KB of residual stay in the first cache
  explicit PsfBounds(View<const double, 2> psf);
  /// Upper bound over the kTile x kTile offsets that begin at PSF pixel (x, y), which may be negative.
  double over_tile(std::ptrdiff_t x, std::ptrdiff_t y) const;

 private:
  static constexpr std::size_t kStep = 16;
  std::size_t nx_ = 0, ny_ = 0;  ///< of the PSF
  std::size_t n_column_ = 0;
  std::vector<double> bounds_;  ///< [start y / kStep][start x / kStep], starts counted from -kTile
};

class LazyResidual {
 public:
  /// The views must outlive this object.
  LazyResidual(View<double, 2> residual, View<const double, 2> psf, View<const std::uint8_t, 2> searchable,
               const CleanOptions& options);
  /// The first (row-major) of the highest searched pixels, signed value; empty when all are zero or none is
  /// searched.
  std::optional<CleanComponent> find_peak();
  void subtract(const CleanComponent& component);
  /// Brings every tile up to date.
  void flush();
  std::vector<CleanComponent> take_components() { return std::move(components_); }
  std::size_t n_components() const { return components_.size(); }

 private:
  struct Tile {
    std::size_t x = 0, y = 0, nx = 0, ny = 0;
    std::size_t n_applied = 0;  ///< components already subtracted
    double bound = 0;           ///< the peak when up to date, an upper bound otherwise
    std::size_t peak_x = 0, peak_y = 0;
    enum class Search { all, some, none } search = Search::all;
  };
  void build_tiles(View<const std::uint8_t, 2> searchable);
  bool up_to_date(const Tile& tile) const { return tile.n_applied == components_.size(); }
  /// Whether a's peak is picked rather than b's: higher, or as high and earlier in row-major order.
  static bool comes_before(const Tile& a, const Tile& b);
  void update(Tile& tile);
  void update(const std::vector<Tile*>& tiles);
  void apply(const Tile& tile, const CleanComponent& component);
  void measure(Tile& tile);

  View<double, 2> residual_;
  View<const double, 2> psf_;
  PsfBounds bounds_;
  NegativeComponents negative_;
  unsigned n_threads_;
  Buffer<double, 2> mask_;  ///< [y][x] all bits set where searched; empty when everything is
  std::vector<Tile> tiles_;
  std::vector<CleanComponent> components_;
};

}  // namespace apsyn
