// SPDX-License-Identifier: GPL-3.0-or-later
// Imaging weights on a uv grid (Briggs 1995, chapter 3), cell for cell as WSClean has them, so that images
// compare.
//
// The grid is that of the image padded to ceil(1.2 N), rounded up to a multiple of 4, at the image's scale;
// only v >= 0 is kept, visibilities with v < 0 count at (-u, -v); a visibility belongs to the cell (floor(u
// width + n_x / 2), floor(v height)). With W = sum of the weights w in a cell:
//   natural  1
//   uniform  1 / W
//   Briggs   1 / (1 + W s^2), s^2 = (5 10^-R)^2 sum w / sum W^2
// Then, in this order: the rank filter sets weights above `level` times the mean of their non-zero neighbours
// in a box to that; the Gaussian taper multiplies by exp(-(u^2 + v^2) / (2 sigma^2)) with 1 / sigma = 2 pi
// beam / sqrt(8 ln 2); the Tukey tapers multiply by (1 - cos(pi x / inner)) / 2 at x = d - min_uv from 0 to
// inner and by (1 - cos(pi x / outer)) / 2 at x = max_uv - d, d the distance of the cell; cells outside
// [min_uv, max_uv] become 0. A visibility outside the grid has weight 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

enum class WeightMode { natural, uniform, briggs };

struct WeightSettings {
  WeightMode mode = WeightMode::natural;
  double robustness = 0;
  double rank_filter_level = 3;  ///< 0 = none
  std::size_t rank_filter_size = 16;
  double taper_gaussian_rad = 0;  ///< FWHM of the beam it makes of a point; 0 = none
  double min_uv_lambda = 0, max_uv_lambda = std::numeric_limits<double>::infinity();
  double inner_tukey_lambda = 0, outer_tukey_lambda = 0;  ///< widths; 0 = none
};

/// What of the visibilities the grid has no cell for, without those that --maxuv-l leaves out.
struct BeyondGrid {
  std::uint64_t n_visibilities = 0;  ///< with data
  std::uint64_t n_beyond = 0;        ///< of these
  double max_lambda = 0;             ///< largest finite |u| or |v| of these; 0 = none is finite

  void add(const BeyondGrid& other) {
    n_visibilities += other.n_visibilities;
    n_beyond += other.n_beyond;
    max_lambda = max_lambda < other.max_lambda ? other.max_lambda : max_lambda;
  }
};

class ImageWeights {
 public:
  ImageWeights(const WeightSettings& settings, std::size_t n_x, std::size_t n_y, double cell_rad);
  /// Counts a visibility at (u, v) wavelengths; before finish().
  void add(double u, double v, double weight);
  /// Weights of plane 0 of the block, on n_threads, which change no bit of the sums.
  void add(const ImagingBlock& block, unsigned n_threads = 1);
  /// Instead of add(): sums [v][u] of the whole data and what was counted, made elsewhere. No sums where
  /// weights do not depend on them.
  void take(Buffer<double, 2> sums, const BeyondGrid& beyond);
  /// What has been added, for adding what others have; before finish().
  struct Sums {
    View<double, 2> cells;  ///< [v][u]; none where weights do not depend on them
    double& all;
    BeyondGrid& beyond;
  };
  Sums sums();
  void finish(unsigned n_threads);
  /// The factor for a visibility's own weight; after finish().
  double at(double u, double v) const;
  /// The block's weights of all planes times the factors, [row][chan][plane], on n_threads.
  void apply(const ImagingBlock& block, unsigned n_threads, Buffer<float, 3>& weight) const;
  /// What of the added visibilities lies beyond the grid.
  const BeyondGrid& beyond() const { return beyond_; }
  WeightMode mode() const { return settings_.mode; }
  double max_uv_lambda() const { return settings_.max_uv_lambda; }
  View<const double, 2> grid() const { return grid_; }  ///< [v][u], u = 0 at column n_u / 2; after finish()
  std::size_t n_rows() const { return n_v_ / 2; }       ///< of the grid
  std::size_t n_columns() const { return n_u_; }
  std::uint64_t bytes() const { return n_rows() * n_columns() * sizeof(double); }
  /// What finish() needs at most, besides.
  std::uint64_t finish_bytes() const { return bytes(); }
  /// The same for an image, before there is a grid; of any size, since no memory limits what is asked for.
  static double bytes_for(std::size_t n_x, std::size_t n_y);

 private:
  /// Zeros, when they are first needed: a large grid takes long to clear, and take() replaces it.
  void make_grid(unsigned n_threads);
  bool cell(double u, double v, std::size_t& x, std::size_t& y) const;
  /// A visibility that has none.
  static void count_beyond(double u, double v, BeyondGrid& beyond);
  /// Calls use(row, column, weight) for visibilities of rows first .. end - 1 that have a cell, in their
  /// order, and counts all of them.
  template <class Use>
  void for_cells(const ImagingBlock& block, const std::vector<double>& wavelength_m, std::size_t first,
                 std::size_t end, BeyondGrid& beyond, Use use) const;
  void add_by_threads(const ImagingBlock& block, const std::vector<double>& wavelength_m, unsigned n_threads);
  /// Of channels: none of the others lies further out.
  struct Span {
    double least = 1, greatest = 1;
  };
  static Span span_of(const std::vector<double>& wavelength_m);
  /// Whether the grid has cells for a row in all channels.
  bool has_cells(const double* uvw_m, const Span& wavelength_m) const;
  bool tapers() const;
  void rank_filter(unsigned n_threads);
  void taper_and_limit(unsigned n_threads);

  WeightSettings settings_;
  std::size_t n_u_, n_v_;  ///< of the whole plane, n_v_ / 2 rows are kept
  double cell_rad_, sum_ = 0;
  bool ones_ = false;  ///< finished: 1 everywhere
  BeyondGrid beyond_;
  Buffer<double, 2> grid_;
};

}  // namespace apsyn
