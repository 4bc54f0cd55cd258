// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/lazy_residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/clean/clark_loop.h"
#include "libcore/system/parallel.h"

namespace apsyn {

LazyResidual::LazyResidual(const PlaneSet& set, PsfSubtraction& subtraction, const PsfBounds& bounds,
                           unsigned n_threads)
    : set_(set),
      subtraction_(subtraction),
      bounds_(bounds),
      n_threads_(n_threads),
      start_(set.n_plane()),
      scratch_(std::max(1u, n_threads)) {
  for (std::size_t plane = 0; plane < set_.n_plane(); ++plane) {
    start_[plane].resize_for_overwrite(set_.residual[plane].shape());
    std::copy(set_.residual[plane].begin(), set_.residual[plane].end(), start_[plane].begin());
  }
  for (Buffer<float, 1>& values : scratch_) values.resize({PsfBounds::kTile});
  build_tiles();
  choose_high_pixels();
}

void LazyResidual::build_tiles() {
  const std::size_t ny = set_.ny(), nx = set_.nx(), side = PsfBounds::kTile;
  for (std::size_t y = 0; y < ny; y += side)
    for (std::size_t x = 0; x < nx; x += side) {
      Tile tile;
      tile.x = x;
      tile.y = y;
      tile.nx = std::min(side, nx - x);
      tile.ny = std::min(side, ny - y);
      bool all_one = true, all_zero = true;
      for (std::size_t j = y; j < y + tile.ny; ++j)
        for (std::size_t i = x; i < x + tile.nx; ++i) {
          all_one &= set_.search_weight(j, i) == 1;
          all_zero &= set_.search_weight(j, i) == 0;
        }
      tile.search = all_zero ? Tile::Search::none : all_one ? Tile::Search::all : Tile::Search::some;
      tiles_.push_back(tile);
    }
}

void LazyResidual::choose_high_pixels() {
  flush();
  const Heights heights = measure_heights(set_, kHeightLevels, n_threads_);
  // An infinite height is above it too, and stops the loop as divergence.
  float cutoff =
      heights.highest == 0 ? 0 : std::min(choose_cutoff(heights, 0), std::numeric_limits<float>::max());
  std::vector<PixelPlace> places;
  // For denormal heights the cutoff may be rounded to the highest itself; then no pixel is above it.
  if (cutoff < heights.highest)
    places = pixels_above(set_, cutoff, n_threads_);
  else
    cutoff = 0;
  high_.emplace(set_, places, n_threads_);
  for (Tile& tile : tiles_) {
    tile.high.clear();
    tile.bound = static_cast<double>(cutoff);
  }
  const std::size_t n_column = (set_.nx() + PsfBounds::kTile - 1) / PsfBounds::kTile;
  for (std::size_t i = 0; i < high_->size(); ++i) {
    const PixelPlace at = high_->place(i);
    tiles_[at.y / PsfBounds::kTile * n_column + at.x / PsfBounds::kTile].high.push_back(
        static_cast<std::uint32_t>(i));
  }
}

void LazyResidual::measure(Tile& tile, unsigned thread) {
  for (std::size_t plane = 0; plane < set_.n_plane(); ++plane)
    for (const std::uint32_t i : tile.high) set_.residual[plane](high_->place(i).y, high_->place(i).x) = 0;
  tile.bound = 0;
  const bool weighted = tile.search == Tile::Search::some;
  Buffer<float, 1>& values = scratch_[thread];
  std::vector<const float*> planes(set_.n_plane());
  for (std::size_t y = tile.y; y < tile.y + tile.ny && tile.search != Tile::Search::none; ++y) {
    const float* row = &set_.residual[0](y, tile.x);
    if (set_.n_plane() > 1) {
      for (std::size_t plane = 0; plane < planes.size(); ++plane)
        planes[plane] = &set_.residual[plane](y, tile.x);
      search_values({values.data(), tile.nx}, planes, set_.weight, set_.n_pol);
      row = values.data();
    }
    const float* weight = weighted ? &set_.search_weight(y, tile.x) : nullptr;
    tile.bound = std::max(tile.bound, static_cast<double>(highest_value({row, tile.nx}, weight, set_.sign)));
  }
  for (std::size_t plane = 0; plane < set_.n_plane(); ++plane)
    for (const std::uint32_t i : tile.high)
      set_.residual[plane](high_->place(i).y, high_->place(i).x) = high_->value(plane, i);
}

void LazyResidual::update(Tile& tile, unsigned thread) {
  const Rectangle where{tile.x, tile.y, tile.nx, tile.ny};
  const auto pending = std::span<const SetComponent>(components_).subspan(tile.n_applied);
  auto apply = [&](const SetComponent& component) {
    for (std::size_t plane = 0; plane < set_.n_plane(); ++plane)
      subtract_within(set_.residual[plane], where, set_.psf[plane], component.x, component.y,
                      component.flux_jy[plane]);
  };
  if (pending.size() <= 2)
    for (const SetComponent& component : pending) apply(component);
  else
    for (const SetComponent& component : merge_components(pending)) apply(component);
  tile.n_applied = components_.size();
  measure(tile, thread);
}

void LazyResidual::update(const std::vector<Tile*>& tiles) {
  std::size_t n_subtractions = 0;
  for (const Tile* tile : tiles) n_subtractions += components_.size() - tile->n_applied;
  constexpr double tile_pixels = double(PsfBounds::kTile) * double(PsfBounds::kTile);
  if (static_cast<double>(n_subtractions) * tile_pixels > subtraction_.break_even()) return flush_by_fft();
  // Waking a thread takes as long as a few tiles.
  const unsigned n_threads = n_subtractions * set_.n_plane() < 32 ? 1 : n_threads_;
  parallel_for(n_threads, tiles.size(), [&](std::size_t i, unsigned thread) { update(*tiles[i], thread); });
}

void LazyResidual::flush_by_fft() {
  std::vector<View<float, 2>> start(start_.begin(), start_.end());
  subtraction_.subtract(start, components_);
  parallel_for(n_threads_, set_.ny(), [&](std::size_t y, unsigned) {
    for (std::size_t plane = 0; plane < set_.n_plane(); ++plane)
      std::copy_n(&start_[plane](y, 0), set_.nx(), &set_.residual[plane](y, 0));
  });
  components_.clear();
  parallel_for(n_threads_, tiles_.size(), [&](std::size_t i, unsigned thread) {
    tiles_[i].n_applied = 0;
    measure(tiles_[i], thread);
  });
}

std::optional<SetPeak> LazyResidual::find_peak() {
  while (true) {
    const std::optional<SetPeak> peak = high_->find_peak();
    const double height = peak ? static_cast<double>(peak->height) : 0;
    std::vector<Tile*> stale;
    bool reached = false;  // by a pixel that is not among the high ones
    for (Tile& tile : tiles_) {
      // Allow for the rounding of pixels, float32, between which a tie is decided.
      if (tile.search == Tile::Search::none || tile.bound == 0 || tile.bound * (1 + 1e-5) < height) continue;
      if (up_to_date(tile))
        reached = true;
      else
        stale.push_back(&tile);
    }
    if (reached)
      choose_high_pixels();
    else if (!stale.empty())
      update(stale);
    else
      return peak;
  }
}

void LazyResidual::subtract(const SetComponent& component) {
  high_->subtract(component);
  components_.push_back(component);
  const double flux = greatest_height(set_, component);
  const std::size_t center_y = set_.psf[0].extent(0) / 2, center_x = set_.psf[0].extent(1) / 2;
  for (Tile& tile : tiles_) {
    const float bound = bounds_.over_tile(static_cast<std::ptrdiff_t>(tile.x + center_x - component.x),
                                          static_cast<std::ptrdiff_t>(tile.y + center_y - component.y));
    // A tile beyond the PSF's reach stays up to date when it was.
    if (bound == 0 && tile.n_applied + 1 == components_.size())
      tile.n_applied = components_.size();
    else
      tile.bound += flux * static_cast<double>(bound);
  }
}

void LazyResidual::flush() {
  std::vector<Tile*> stale;
  for (Tile& tile : tiles_)
    if (!up_to_date(tile)) stale.push_back(&tile);
  update(stale);
}

}  // namespace apsyn
