// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/lazy_residual.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "libcore/core/parallel.h"

namespace apsyn {

PsfBounds::PsfBounds(View<const double, 2> psf) : nx_(psf.extent(1)), ny_(psf.extent(0)) {
  // Blocks of kStep pixels, then ranges of kTile + kStep - 1 pixels, that is of `reach` blocks.
  constexpr std::size_t reach = kTile / kStep + 1;
  const std::size_t n_row = (ny_ + kTile) / kStep + 1;
  n_column_ = (nx_ + kTile) / kStep + 1;
  std::vector<double> blocks(n_row * n_column_), rows(n_row * n_column_);
  for (std::size_t y = 0; y < ny_; ++y)
    for (std::size_t x = 0; x < nx_; ++x) {
      double& block = blocks[(y + kTile) / kStep * n_column_ + (x + kTile) / kStep];
      block = std::max(block, std::abs(psf(y, x)));
    }
  for (std::size_t i = 0; i < n_row; ++i)
    for (std::size_t j = 0; j < n_column_; ++j)
      for (std::size_t k = j; k < std::min(j + reach, n_column_); ++k)
        rows[i * n_column_ + j] = std::max(rows[i * n_column_ + j], blocks[i * n_column_ + k]);
  bounds_.assign(n_row * n_column_, 0);
  for (std::size_t i = 0; i < n_row; ++i)
    for (std::size_t k = i; k < std::min(i + reach, n_row); ++k)
      for (std::size_t j = 0; j < n_column_; ++j)
        bounds_[i * n_column_ + j] = std::max(bounds_[i * n_column_ + j], rows[k * n_column_ + j]);
}

double PsfBounds::over_tile(std::ptrdiff_t x, std::ptrdiff_t y) const {
  const auto tile = static_cast<std::ptrdiff_t>(kTile);
  if (x <= -tile || y <= -tile || x >= static_cast<std::ptrdiff_t>(nx_) ||
      y >= static_cast<std::ptrdiff_t>(ny_))
    return 0;
  return bounds_[static_cast<std::size_t>(y + tile) / kStep * n_column_ +
                 static_cast<std::size_t>(x + tile) / kStep];
}

LazyResidual::LazyResidual(View<double, 2> residual, View<const double, 2> psf,
                           View<const std::uint8_t, 2> searchable, const CleanOptions& options)
    : residual_(residual),
      psf_(psf),
      bounds_(psf),
      negative_(options.negative),
      n_threads_(options.n_threads) {
  build_tiles(searchable);
  parallel_for(n_threads_, tiles_.size(), [&](std::size_t i, unsigned) { measure(tiles_[i]); });
}

void LazyResidual::build_tiles(View<const std::uint8_t, 2> searchable) {
  const std::size_t ny = residual_.extent(0), nx = residual_.extent(1), side = PsfBounds::kTile;
  auto searched = [&](std::size_t y, std::size_t x) {
    return searchable(y, x) != 0 && std::isfinite(residual_(y, x));
  };
  bool any_left_out = false;
  for (std::size_t y = 0; y < ny; y += side)
    for (std::size_t x = 0; x < nx; x += side) {
      Tile tile;
      tile.x = x;
      tile.y = y;
      tile.nx = std::min(side, nx - x);
      tile.ny = std::min(side, ny - y);
      std::size_t n_searched = 0;
      for (std::size_t j = y; j < y + tile.ny; ++j)
        for (std::size_t i = x; i < x + tile.nx; ++i) n_searched += searched(j, i);
      if (n_searched == 0)
        tile.search = Tile::Search::none;
      else if (n_searched < tile.nx * tile.ny)
        tile.search = Tile::Search::some;
      any_left_out |= tile.search == Tile::Search::some;
      tiles_.push_back(tile);
    }
  if (!any_left_out) return;
  mask_.resize({ny, nx});
  const double set = std::bit_cast<double>(~std::uint64_t{0});
  for (std::size_t y = 0; y < ny; ++y)
    for (std::size_t x = 0; x < nx; ++x)
      if (searched(y, x)) mask_(y, x) = set;
}

void LazyResidual::measure(Tile& tile) {
  tile.bound = 0;
  if (tile.search == Tile::Search::none) return;
  const std::size_t stride = residual_.extent(1), first = tile.y * stride + tile.x;
  const double* mask = tile.search == Tile::Search::some ? mask_.data() + first : nullptr;
  const Block<const double> block{residual_.data() + first, stride, tile.nx, tile.ny};
  const bool positive = negative_ == NegativeComponents::skip;
  const BlockPeak peak = positive ? peak_positive(block, mask) : peak_absolute(block, mask);
  if (peak.value == 0) return;
  tile.bound = peak.value;
  tile.peak_y = tile.y + peak.row;
  const double* row = block.data + peak.row * stride;
  const double* mask_row = mask == nullptr ? nullptr : mask + peak.row * stride;
  for (std::size_t x = 0; x < tile.nx; ++x) {
    const bool searched = mask_row == nullptr || mask_row[x] != 0;  // all bits set is a NaN
    if (searched && (positive ? row[x] : std::abs(row[x])) == peak.value) {
      tile.peak_x = tile.x + x;
      return;
    }
  }
}

void LazyResidual::apply(const Tile& tile, const CleanComponent& component) {
  // PSF pixel that falls on the tile's first pixel, then the part of the tile that the PSF covers.
  const auto psf_y = static_cast<std::ptrdiff_t>(tile.y + psf_.extent(0) / 2 - component.y);
  const auto psf_x = static_cast<std::ptrdiff_t>(tile.x + psf_.extent(1) / 2 - component.x);
  const auto clip = [](std::ptrdiff_t start, std::size_t n_tile, std::size_t n_psf) {
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, -start);
    const std::ptrdiff_t last = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(n_tile),
                                                         static_cast<std::ptrdiff_t>(n_psf) - start);
    return std::pair{first, last};
  };
  const auto [y0, y1] = clip(psf_y, tile.ny, psf_.extent(0));
  const auto [x0, x1] = clip(psf_x, tile.nx, psf_.extent(1));
  if (y0 >= y1 || x0 >= x1) return;
  const std::size_t stride = residual_.extent(1), psf_stride = psf_.extent(1);
  const Block<double> block{residual_.data() + (tile.y + static_cast<std::size_t>(y0)) * stride + tile.x +
                                static_cast<std::size_t>(x0),
                            stride, static_cast<std::size_t>(x1 - x0), static_cast<std::size_t>(y1 - y0)};
  const double* psf =
      psf_.data() + static_cast<std::size_t>(psf_y + y0) * psf_stride + static_cast<std::size_t>(psf_x + x0);
  subtract_psf(block, psf, psf_stride, component.flux_jy);
}

void LazyResidual::update(Tile& tile) {
  std::vector<CleanComponent> pending(components_.begin() + static_cast<std::ptrdiff_t>(tile.n_applied),
                                      components_.end());
  std::stable_sort(pending.begin(), pending.end(), [](const CleanComponent& a, const CleanComponent& b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  for (std::size_t i = 0; i < pending.size();) {
    CleanComponent merged = pending[i++];
    while (i < pending.size() && pending[i].x == merged.x && pending[i].y == merged.y)
      merged.flux_jy += pending[i++].flux_jy;
    apply(tile, merged);
  }
  tile.n_applied = components_.size();
  measure(tile);
}

void LazyResidual::update(const std::vector<Tile*>& tiles) {
  std::size_t n_subtractions = 0;
  for (const Tile* tile : tiles) n_subtractions += components_.size() - tile->n_applied;
  // Starting a thread can take as long as a hundred tiles.
  const unsigned n_threads = n_subtractions < 512 ? 1 : n_threads_;
  parallel_for(n_threads, tiles.size(), [&](std::size_t i, unsigned) { update(*tiles[i]); });
}

bool LazyResidual::comes_before(const Tile& a, const Tile& b) {
  if (a.bound != b.bound) return a.bound > b.bound;
  return a.peak_y != b.peak_y ? a.peak_y < b.peak_y : a.peak_x < b.peak_x;
}

std::optional<CleanComponent> LazyResidual::find_peak() {
  // The one with the highest bound first: it usually holds the peak and shows that most others need no
  // update. Those that then still reach it need one whatever comes, so they are updated together.
  for (std::size_t n_best = 1;; n_best = tiles_.size()) {
    const Tile* best = nullptr;
    std::vector<Tile*> stale;
    for (Tile& tile : tiles_) {
      if (tile.search == Tile::Search::none || tile.bound == 0) continue;
      if (!up_to_date(tile))
        stale.push_back(&tile);
      else if (best == nullptr || comes_before(tile, *best))
        best = &tile;
    }
    // Bounds are sums of many terms: allow for their rounding.
    if (best != nullptr)
      std::erase_if(stale, [&](const Tile* tile) { return tile->bound * (1 + 1e-9) < best->bound; });
    if (stale.empty()) {
      if (best == nullptr) return std::nullopt;
      return CleanComponent{best->peak_x, best->peak_y, residual_(best->peak_y, best->peak_x)};
    }
    if (n_best < stale.size())
      std::swap(stale[0], *std::max_element(stale.begin(), stale.end(), [](const Tile* a, const Tile* b) {
                  return a->bound < b->bound;
                }));
    stale.resize(std::min(n_best, stale.size()));
    update(stale);
  }
}

void LazyResidual::subtract(const CleanComponent& component) {
  components_.push_back(component);
  const double flux = std::abs(component.flux_jy);
  const std::size_t center_y = psf_.extent(0) / 2, center_x = psf_.extent(1) / 2;
  for (Tile& tile : tiles_) {
    const double bound =
        flux * bounds_.over_tile(static_cast<std::ptrdiff_t>(tile.x + center_x - component.x),
                                 static_cast<std::ptrdiff_t>(tile.y + center_y - component.y));
    // A tile beyond the PSF's reach stays up to date when it was.
    if (bound == 0 && tile.n_applied + 1 == components_.size())
      tile.n_applied = components_.size();
    else
      tile.bound += bound;
  }
}

void LazyResidual::flush() {
  std::vector<Tile*> stale;
  for (Tile& tile : tiles_)
    if (!up_to_date(tile)) stale.push_back(&tile);
  update(stale);
}

}  // namespace apsyn
