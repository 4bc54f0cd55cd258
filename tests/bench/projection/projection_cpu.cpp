// SPDX-License-Identifier: GPL-3.0-or-later
// A thread takes an interval, sorts its visibilities by cell and adds runs of the same cell to a patch of its
// own that stays in its cache. Patches are then added to the grid by threads that own rows of it, in the
// order of the intervals.
#include "tests/bench/projection/projection_cpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <stdexcept>

#include "libcore/core/parallel.h"
#include "tests/bench/projection/add_run.h"
#include "tests/bench/projection/weights.h"

namespace apsyn::projection {
namespace {

constexpr std::size_t intervals_at_once = 64, rows_at_once = 16;

struct Sample {
  std::int32_t v, u;  ///< first cell
  std::uint32_t table, offset, row, chan;
  bool same_cell(const Sample& other) const { return v == other.v && u == other.u; }
};

/// Sums of an interval, with room for the kernels of its outermost visibilities.
struct Patch {
  std::int64_t first_v = 0, first_u = 0;
  std::size_t n_v = 0, n_u = 0;
  std::vector<float> cells;  ///< [v][pol][u][re, im]
};

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

/// What a thread needs for one interval.
struct Scratch {
  std::vector<Sample> samples, sorted;
  std::vector<const float*> weights;
  std::vector<float> values;
  std::vector<std::uint32_t> counts;
  Buffer<std::complex<float>, 1> own_weights;  ///< AW-projection
  double kernels_s = 0, gridding_s = 0;
};

class CpuGridder final : public Gridder {
 public:
  CpuGridder(const Setup& setup, unsigned n_threads)
      : setup_(setup),
        n_threads_(n_threads),
        maker_(setup),
        scratch_(n_threads),
        patches_(intervals_at_once) {
    grid_.resize({setup.n_grid, n_pol, setup.n_grid});
    if (setup.has_aterms()) {
      for (Scratch& s : scratch_) s.own_weights.resize({maker_.n_weights()});
    } else {
      table_.resize({setup.n_w_planes, maker_.n_weights()});
      parallel_for(n_threads, setup.n_w_planes, [&](std::size_t plane, unsigned) {
        maker_.make(static_cast<double>(plane) * setup.w_step_lambda() - setup.max_w_lambda, 0, 0,
                    &table_(plane, 0));
      });
    }
  }

  void grid(const Visibilities& visibilities) override {
    const auto begin = std::chrono::steady_clock::now();
    for (Scratch& s : scratch_) s.kernels_s = s.gridding_s = 0;
    const std::size_t n_rows = visibilities.uvw_m.extent(0);
    const std::size_t n_intervals = (n_rows + setup_.interval - 1) / setup_.interval;
    for (std::size_t first = 0; first < n_intervals; first += intervals_at_once) {
      const std::size_t n = std::min(intervals_at_once, n_intervals - first);
      parallel_for(n_threads_, n, [&](std::size_t i, unsigned thread) {
        fill_patch(visibilities, first + i, scratch_[thread], patches_[i]);
      });
      parallel_for(n_threads_, (setup_.n_grid + rows_at_once - 1) / rows_at_once,
                   [&](std::size_t i, unsigned) {
                     add_patches({patches_.data(), n}, i * rows_at_once,
                                 std::min(setup_.n_grid, (i + 1) * rows_at_once));
                   });
    }
    const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    double kernels = 0, busy = 1e-30;
    for (const Scratch& s : scratch_) kernels += s.kernels_s, busy += s.kernels_s + s.gridding_s;
    seconds_ = {all * kernels / busy, all * (1 - kernels / busy)};
  }

  Seconds seconds() const override { return seconds_; }

  Buffer<std::complex<float>, 3> grid_copy() const override {
    Buffer<std::complex<float>, 3> copy(grid_.shape());
    std::copy(grid_.begin(), grid_.end(), copy.begin());
    return copy;
  }

 private:
  void find_samples(const Visibilities& visibilities, std::size_t interval,
                    std::vector<Sample>& samples) const {
    const std::size_t first = interval * setup_.interval,
                      last = std::min(visibilities.uvw_m.extent(0), first + setup_.interval);
    const double cells_per_lambda = static_cast<double>(setup_.n_grid) * setup_.cell_rad;
    samples.clear();
    for (std::size_t row = first; row < last; ++row)
      for (std::size_t chan = 0; chan < visibilities.wavenumber.size(); ++chan) {
        const double k = visibilities.wavenumber[chan];
        Sample sample{};
        const std::uint32_t su =
            split(visibilities.uvw_m(row, 0) * k * cells_per_lambda, setup_.size, sample.u);
        const std::uint32_t sv =
            split(visibilities.uvw_m(row, 1) * k * cells_per_lambda, setup_.size, sample.v);
        sample.offset = sv * oversampling + su;
        if (!setup_.has_aterms())
          sample.table = static_cast<std::uint32_t>(
              (visibilities.uvw_m(row, 2) * k + setup_.max_w_lambda) / setup_.w_step_lambda() + 0.5);
        sample.row = static_cast<std::uint32_t>(row);
        sample.chan = static_cast<std::uint32_t>(chan);
        samples.push_back(sample);
      }
  }

  /// Counting sort by cell within the bounding box of the first cells.
  void sort(Scratch& s, Patch& patch) const {
    const std::size_t size = setup_.size;
    std::int32_t low_u = INT32_MAX, low_v = INT32_MAX, high_u = INT32_MIN, high_v = INT32_MIN;
    for (const Sample& sample : s.samples) {
      low_u = std::min(low_u, sample.u), high_u = std::max(high_u, sample.u);
      low_v = std::min(low_v, sample.v), high_v = std::max(high_v, sample.v);
    }
    const auto width = static_cast<std::size_t>(high_u - low_u + 1);
    const auto height = static_cast<std::size_t>(high_v - low_v + 1);
    const auto cell = [&](const Sample& sample) {
      return static_cast<std::size_t>(sample.v - low_v) * width + static_cast<std::size_t>(sample.u - low_u);
    };
    if (std::max(width, height) + size > setup_.n_grid)
      throw std::length_error("projection: an interval's visibilities reach around the grid");
    s.counts.assign(width * height + 1, 0);
    for (const Sample& sample : s.samples) ++s.counts[cell(sample) + 1];
    for (std::size_t i = 1; i < s.counts.size(); ++i) s.counts[i] += s.counts[i - 1];
    s.sorted.resize(s.samples.size());
    for (const Sample& sample : s.samples) s.sorted[s.counts[cell(sample)]++] = sample;
    patch.first_u = low_u;
    patch.first_v = low_v;
    patch.n_u = (width - 1 + size + 7) / 8 * 8;
    patch.n_v = height - 1 + size;
  }

  void fill_patch(const Visibilities& visibilities, std::size_t interval, Scratch& s, Patch& patch) const {
    const auto begin = std::chrono::steady_clock::now();
    const std::complex<float>* table = table_.data();
    if (setup_.has_aterms()) {
      maker_.make(interval_w_lambda(setup_, visibilities, interval), visibilities.station(interval, 0),
                  visibilities.station(interval, 1), s.own_weights.data());
      table = s.own_weights.data();
    }
    const auto middle = std::chrono::steady_clock::now();
    find_samples(visibilities, interval, s.samples);
    sort(s, patch);
    const std::size_t n_cells = setup_.size * setup_.size;
    s.weights.clear();
    s.values.clear();
    for (const Sample& sample : s.sorted) {
      const std::size_t kernel = sample.table * n_offsets + sample.offset;
      s.weights.push_back(reinterpret_cast<const float*>(table + kernel * n_cells));
      for (std::size_t pol = 0; pol < n_pol; ++pol) {
        const float weight = visibilities.weight(sample.row, sample.chan, pol);
        const auto value = weight == 0 ? 0 : weight * visibilities.data(sample.row, sample.chan, pol);
        s.values.push_back(value.real());
        s.values.push_back(value.imag());
      }
    }
    patch.cells.assign(patch.n_v * n_pol * patch.n_u * 2, 0);
    for (std::size_t i = 0, n; i < s.sorted.size(); i += n) {
      for (n = 1; i + n < s.sorted.size() && s.sorted[i].same_cell(s.sorted[i + n]);) ++n;
      const auto v = static_cast<std::size_t>(s.sorted[i].v - patch.first_v);
      const auto u = static_cast<std::size_t>(s.sorted[i].u - patch.first_u);
      add_run({n, setup_.size, s.weights.data() + i, s.values.data() + i * 2 * n_pol,
               patch.cells.data() + (v * n_pol * patch.n_u + u) * 2, patch.n_u * 2});
    }
    s.kernels_s += std::chrono::duration<double>(middle - begin).count();
    s.gridding_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - middle).count();
  }

  void add_patches(std::span<const Patch> patches, std::size_t first_row, std::size_t last_row) {
    for (const Patch& patch : patches) {
      const std::size_t n = setup_.n_grid, start = wrap(patch.first_v, n);
      for (std::size_t row = first_row; row < last_row; ++row) {
        const std::size_t v = row >= start ? row - start : row + n - start;
        if (v >= patch.n_v) {  // on to the patch's first row
          if (start <= row || start >= last_row) break;
          row = start - 1;
          continue;
        }
        for (std::size_t pol = 0; pol < n_pol; ++pol) {
          const float* from = patch.cells.data() + (v * n_pol + pol) * patch.n_u * 2;
          auto* to = reinterpret_cast<float*>(&grid_(row, pol, 0));
          for (std::size_t done = 0; done < patch.n_u;) {  // up to the grid's edge, then from its other one
            const std::size_t u = wrap(patch.first_u + static_cast<std::int64_t>(done), setup_.n_grid);
            const std::size_t n_cells = std::min(patch.n_u - done, n - u);
            for (std::size_t i = 0; i < 2 * n_cells; ++i) to[2 * u + i] += from[2 * done + i];
            done += n_cells;
          }
        }
      }
    }
  }

  const Setup& setup_;
  unsigned n_threads_;
  WeightMaker maker_;
  std::vector<Scratch> scratch_;
  std::vector<Patch> patches_;
  Buffer<std::complex<float>, 2> table_;  ///< [plane][weights]
  Buffer<std::complex<float>, 3> grid_;   ///< [v][pol][u]
  Seconds seconds_;
};

}  // namespace

std::unique_ptr<Gridder> make_cpu_gridder(const Setup& setup, unsigned n_threads) {
  return std::make_unique<CpuGridder>(setup, n_threads);
}

}  // namespace apsyn::projection
