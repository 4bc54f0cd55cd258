// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/projection/interval_cpu.h"

#include <algorithm>
#include <stdexcept>

namespace apsyn::projection {
namespace {

std::size_t wrap(std::int64_t cell, std::size_t n_grid) {
  const auto n = static_cast<std::int64_t>(n_grid);
  return static_cast<std::size_t>(((cell + n / 2) % n + n) % n);
}

/// floor() as an integer, without the call that compilers make of it for the oldest processors.
std::int32_t floor_int(double x) {
  const auto towards_zero = static_cast<std::int32_t>(x);
  return towards_zero - (static_cast<double>(towards_zero) > x ? 1 : 0);
}

/// Position in eighths of a cell -> the first cell of the kernel, and the offset.
std::uint32_t split(double cells, std::size_t size, std::int32_t& first) {
  const std::int32_t eighths = floor_int(cells * oversampling + 0.5);
  first = (eighths >> 3) - static_cast<std::int32_t>(size / 2 - 1);
  return static_cast<std::uint32_t>(eighths & 7);
}

void find_samples(const Setup& setup, const Visibilities& visibilities, std::size_t interval,
                  std::vector<Sample>& samples) {
  const std::size_t first = interval * setup.interval,
                    last = std::min(visibilities.uvw_m.extent(0), first + setup.interval);
  const double cells_per_lambda = static_cast<double>(setup.n_grid) * setup.cell_rad;
  samples.clear();
  for (std::size_t row = first; row < last; ++row)
    for (std::size_t chan = 0; chan < visibilities.wavenumber.size(); ++chan) {
      const double k = visibilities.wavenumber[chan];
      Sample sample{};
      const std::uint32_t su = split(visibilities.uvw_m(row, 0) * k * cells_per_lambda, setup.size, sample.u);
      const std::uint32_t sv = split(visibilities.uvw_m(row, 1) * k * cells_per_lambda, setup.size, sample.v);
      sample.offset = sv * oversampling + su;
      if (!setup.has_aterms())
        sample.table = static_cast<std::uint32_t>(
            (visibilities.uvw_m(row, 2) * k + setup.max_w_lambda) / setup.w_step_lambda() + 0.5);
      sample.row = static_cast<std::uint32_t>(row);
      sample.chan = static_cast<std::uint32_t>(chan);
      samples.push_back(sample);
    }
}

/// Counting sort by cell within the bounding box of the first cells.
void sort(const Setup& setup, SortScratch& s, std::vector<Sample>& samples, Patch& patch) {
  const std::size_t size = setup.size;
  std::int32_t low_u = INT32_MAX, low_v = INT32_MAX, high_u = INT32_MIN, high_v = INT32_MIN;
  for (const Sample& sample : s.unsorted) {
    low_u = std::min(low_u, sample.u), high_u = std::max(high_u, sample.u);
    low_v = std::min(low_v, sample.v), high_v = std::max(high_v, sample.v);
  }
  const auto width = static_cast<std::size_t>(high_u - low_u + 1);
  const auto height = static_cast<std::size_t>(high_v - low_v + 1);
  const auto cell = [&](const Sample& sample) {
    return static_cast<std::size_t>(sample.v - low_v) * width + static_cast<std::size_t>(sample.u - low_u);
  };
  if (std::max(width, height) + size > setup.n_grid)
    throw std::length_error("projection: an interval's visibilities reach around the grid");
  s.counts.assign(width * height + 1, 0);
  for (const Sample& sample : s.unsorted) ++s.counts[cell(sample) + 1];
  for (std::size_t i = 1; i < s.counts.size(); ++i) s.counts[i] += s.counts[i - 1];
  samples.resize(s.unsorted.size());
  for (const Sample& sample : s.unsorted) samples[s.counts[cell(sample)]++] = sample;
  patch.first_u = low_u;
  patch.first_v = low_v;
  patch.n_u = (width - 1 + size + 7) / 8 * 8;
  patch.n_v = height - 1 + size;
}

/// Calls run(first cell of the patch, first of the grid, number) for the pieces of a patch's row: up to the
/// grid's edge, then from its other one.
template <class Run>
void for_pieces(const Patch& patch, std::size_t n_grid, Run run) {
  for (std::size_t done = 0; done < patch.n_u;) {
    const std::size_t u = wrap(patch.first_u + static_cast<std::int64_t>(done), n_grid);
    const std::size_t n = std::min(patch.n_u - done, n_grid - u);
    run(done, u, n);
    done += n;
  }
}

}  // namespace

void sort_interval(const Setup& setup, const Visibilities& visibilities, std::size_t interval,
                   SortScratch& scratch, std::vector<Sample>& samples, Patch& patch) {
  find_samples(setup, visibilities, interval, scratch.unsorted);
  sort(setup, scratch, samples, patch);
}

void add_patches(std::span<const Patch> patches, std::size_t first_row, std::size_t last_row,
                 View<std::complex<float>, 3> grid) {
  const std::size_t n = grid.extent(0);
  for (const Patch& patch : patches) {
    const std::size_t start = wrap(patch.first_v, n);
    for (std::size_t row = first_row; row < last_row; ++row) {
      const std::size_t v = row >= start ? row - start : row + n - start;
      if (v >= patch.n_v) {  // on to the patch's first row
        if (start <= row || start >= last_row) break;
        row = start - 1;
        continue;
      }
      for (std::size_t pol = 0; pol < n_pol; ++pol)
        for_pieces(patch, n, [&](std::size_t own, std::size_t u, std::size_t n_cells) {
          const float* from = patch.cells.data() + ((v * n_pol + pol) * patch.n_u + own) * 2;
          auto* to = reinterpret_cast<float*>(&grid(row, pol, u));
          for (std::size_t i = 0; i < 2 * n_cells; ++i) to[i] += from[i];
        });
    }
  }
}

void read_patch(View<const std::complex<float>, 3> grid, Patch& patch) {
  const std::size_t n = grid.extent(0);
  patch.cells.resize(patch.n_v * n_pol * patch.n_u * 2);
  for (std::size_t v = 0; v < patch.n_v; ++v) {
    const std::size_t row = wrap(patch.first_v + static_cast<std::int64_t>(v), n);
    for (std::size_t pol = 0; pol < n_pol; ++pol)
      for_pieces(patch, n, [&](std::size_t own, std::size_t u, std::size_t n_cells) {
        const auto* from = reinterpret_cast<const float*>(&grid(row, pol, u));
        std::copy_n(from, 2 * n_cells, patch.cells.data() + ((v * n_pol + pol) * patch.n_u + own) * 2);
      });
  }
}

}  // namespace apsyn::projection
